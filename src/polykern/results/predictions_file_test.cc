#include "polykern/results/predictions_file.h"

#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "polykern/core/error.h"
#include "polykern/data/table_stream.h"
#include "polykern/io/files.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

/// Two clients and steps, labels of 10 to 30; the second client misses the first step.
TableStream FewLabels() {
  auto data = std::make_shared<Dataset>();
  data->dimension = 1;
  data->x = {0, 0, 0};
  data->y = {0, 0.5, 1};
  data->scale.kind = Scaling::kRange;
  data->scale.target = {10, 30};
  TableStream stream(data, {0, TableStream::kAbsent, 1, 2}, {0, 0}, {"all"});
  stream.SetClientNames({"ann", "bob, jr."});
  return stream;
}

RowResult Predicted(const std::string& algorithm) {
  RowResult row;
  row.row.algorithm = algorithm;
  row.predictions = {0.25, std::nan(""), 0.5, 1.25};
  return row;
}

TEST(PredictionsFile, HasALineForEachPredictionInTheTargetsOwnUnit) {
  const TestFolder folder;
  const std::string path = folder.path() + "/p.csv";
  PredictionsFile(path).Write(FewLabels(), {Predicted("local")});
  EXPECT_EQ(ReadWholeFile(path),
            "time,client,label,prediction\n"
            "1,ann,10,15\n"
            "2,ann,20,20\n"
            "2,\"bob, jr.\",30,35\n");
}

TEST(PredictionsFile, HasIntervalsOnceThereAreSome) {
  const TestFolder folder;
  const std::string path = folder.path() + "/p.csv";
  RowResult row = Predicted("local");
  const double none = std::nan("");
  row.ends = {none, none, none, none, 0.25, 0.75, none, none};
  PredictionsFile(path).Write(FewLabels(), {row});
  EXPECT_EQ(ReadWholeFile(path),
            "time,client,label,prediction,low,high\n"
            "1,ann,10,15,,\n"
            "2,ann,20,20,15,25\n"
            "2,\"bob, jr.\",30,35,,\n");
}

TEST(PredictionsFile, KeepsEveryBitOfAPredictionAndNoNoiseOfALabel) {
  EXPECT_EQ(PredictionText({"1", "ann", 0.1 + 0.2, 0.1 + 0.2, 1.0 / 3}, true),
            "1,ann,0.3,0.30000000000000004,0.3333333333333333,\n");
  EXPECT_EQ(PredictionText({.time = "1", .client = "ann", .prediction = 2}, false), "1,ann,,2\n");
}

TEST(PredictionsFile, SaysWhoseTheyAreOfSeveralRows) {
  const TestFolder folder;
  const std::string path = folder.path() + "/p.csv";
  RowResult row = Predicted("pof-mkl");
  row.kernels = 25;
  row.row.options.loss = LossKind::kLogistic;  // f is the log-odds: 0 says one half
  row.predictions = {0, std::nan(""), std::nan(""), std::nan("")};
  PredictionsFile(path).Write(FewLabels(), {Predicted("local"), row});
  const std::string text = ReadWholeFile(path);
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "algorithm,kernels_per_upload,loss,time,client,label,prediction");
  EXPECT_NE(text.find("\nlocal,,squared,1,ann,10,15\n"), std::string::npos);
  EXPECT_NE(text.find("\npof-mkl,25,logistic,1,ann,10,20\n"), std::string::npos);
}

TEST(PredictionsFile, LeavesTheOldOneAloneUntilItIsWhole) {
  const TestFolder folder;
  const std::string path = folder.Write("p.csv", "old");
  { const PredictionsFile never_written(path); }
  EXPECT_EQ(ReadWholeFile(path), "old");
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
  EXPECT_THROW(PredictionsFile(folder.path() + "/no/such/folder.csv"), Error);
}

}  // namespace
}  // namespace polykern
