#include "polykern/sim/result.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "polykern/core/error.h"

namespace polykern {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::ThrowsMessage;

class ResultFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "polykern-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
};

TEST(Result, HoldsWhatTheRunGaveAndThinsLongCurves) {
  SourceOptions source_options;
  source_options.clients = 3;
  source_options.steps = 2500;
  const Source source = OpenSource(source_options);
  ExperimentOptions options;
  options.repetitions = 1;
  Row row;
  row.options.kernels_per_upload = 51;
  row.options.features = 2;
  Progress progress;
  const auto results = RunExperiment(*source.stream, {row}, options, progress);
  const auto json = nlohmann::json::parse(
      ResultJson(source, source_options, options, results, "polykern run --steps 2500"));
  EXPECT_EQ(json["polykern"], Version());
  EXPECT_EQ(json["command"], "polykern run --steps 2500");
  EXPECT_EQ(json["data"]["name"], "synthetic");
  const auto& run = json["runs"][0];
  EXPECT_EQ(run["mse"], results[0].mse.mean);
  EXPECT_EQ(run["regret_mean"], results[0].regret.mean);
  EXPECT_EQ(run["uplink_numbers"], 51 * 4);
  EXPECT_EQ(run["options"]["exploration"], 1);
  EXPECT_TRUE(run["options"]["learning_rate"].is_null());
  const auto& curves = run["curves"];
  EXPECT_EQ(curves["step"].size(), 834U);  // windows of three steps
  EXPECT_EQ(curves["step"].back(), 2500);
  EXPECT_EQ(curves["regret"].back(), results[0].step_regret.back());
  double sum = 0;  // windows weigh as many steps as they hold
  for (std::size_t i = 0; i < curves["mse"].size(); ++i) {
    sum += curves["mse"][i].get<double>() * (i + 1 < curves["mse"].size() ? 3 : 1);
  }
  EXPECT_NEAR(sum / 2500, results[0].mse.mean, 1e-12);
}

TEST(Result, HasNullWhereThereIsNothingToSay) {
  SourceOptions source_options;
  source_options.clients = 3;
  source_options.steps = 5;
  const Source source = OpenSource(source_options);
  Row row;
  row.algorithm = "perfedavg";
  Progress progress;
  const auto results = RunExperiment(*source.stream, {row}, {}, progress);
  const auto json = nlohmann::json::parse(ResultJson(source, source_options, {}, results, ""));
  const auto& run = json["runs"][0];
  for (const char* field :
       {"kernels_per_upload", "features", "regret_mean", "regret_std", "regret_bound"}) {
    EXPECT_TRUE(run.at(field).is_null()) << field;
  }
  for (const auto& value : run["curves"]["regret"]) EXPECT_TRUE(value.is_null());
  EXPECT_EQ(run["options"]["meta_rate"], 0.001);
}

TEST_F(ResultFile, ReplacesAFileWholeAndLeavesNothingElse) {
  WriteFileAtomically(folder_ / "new" / "deeper", "a.json", "one");
  WriteFileAtomically(folder_ / "new" / "deeper", "a.json", "two");
  std::ifstream file(folder_ / "new" / "deeper" / "a.json");
  std::string text;
  file >> text;
  EXPECT_EQ(text, "two");
  const auto count = std::distance(fs::directory_iterator(folder_ / "new" / "deeper"), {});
  EXPECT_EQ(count, 1);
}

TEST_F(ResultFile, SaysWhyAFolderCannotBeUsed) {
  std::ofstream(folder_ / "file") << "x";
  const auto on_a_file = [&] { CheckWritable((folder_ / "file").string()); };
  EXPECT_THAT(on_a_file, ThrowsMessage<Error>(HasSubstr("--out")));
  const auto below_a_file = [&] { CheckWritable((folder_ / "file" / "sub").string()); };
  EXPECT_THAT(below_a_file, ThrowsMessage<Error>(HasSubstr("file/sub")));
}

}  // namespace
}  // namespace polykern
