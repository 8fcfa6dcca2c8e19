#include <cmath>
#include <limits>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/io/folder_testing.h"
#include "polykern/results/result_schema_internal.h"
#include "polykern/results/row_result_testing.h"

namespace polykern {
namespace {

using OrderedJson = nlohmann::ordered_json;
using testing::ElementsAre;

TEST(DataFields, SayWhatWasReadAndHow) {
  const TestFolder folder;
  std::string text = "city,kind,size,price,note\n";
  for (int i = 0; i < 40; ++i) {
    const std::string row = std::to_string(i);
    text += std::string(i % 2 == 0 ? "Oslo" : "Rome") + ",k" + std::to_string(i % 3) + "," + row +
            "," + (i == 7 ? "" : row) + ",x" + row + "\n";
  }
  SourceOptions options;
  options.data = {folder.Write("prices.csv", text)};
  options.target = "price";
  options.site = "city";
  options.categorical = {"kind"};
  options.split = Split::kSite;
  options.clients = 4;
  options.steps = 5;
  options.ranges = {{"price", {0, 100}}};
  options.seed = 9;
  const Source source = OpenSource(options);
  const OrderedJson json = DataFields().Write({source, options});
  EXPECT_EQ(json["name"], source.name);
  EXPECT_EQ(json["files"], OrderedJson(options.data));
  EXPECT_EQ(json["folder"], options.data_dir);
  EXPECT_EQ(json["target"], "price");
  EXPECT_EQ(json["inputs"], (OrderedJson{"kind=k0", "kind=k1", "kind=k2", "size"}));
  EXPECT_EQ(json["unused_columns"], (OrderedJson{"note"}));
  EXPECT_EQ(json["site_column"], "city");
  EXPECT_EQ(json["categorical"], (OrderedJson{"kind"}));
  EXPECT_EQ(json["categories"], "onehot");
  EXPECT_EQ(json["ranges"], (OrderedJson{{"price", {0, 100}}}));
  EXPECT_EQ(json["rows"], 39);
  EXPECT_EQ(json["dropped_rows"], 1);
  EXPECT_EQ(json["dimension"], 4);
  EXPECT_EQ(json["clients"], 4);
  EXPECT_EQ(json["steps"], 5);
  EXPECT_EQ(json["sites"], (OrderedJson{"Oslo", "Rome"}));
  EXPECT_EQ(json["split"], "site");
  EXPECT_EQ(json["missing"], "drop");
  EXPECT_EQ(json["seed"], 9);
  EXPECT_FALSE(json.contains("noise"));  // the fleet's alone
}

TEST(DataFields, SayWhatWasGivenOfTheFormOfFiles) {
  const TestFolder folder;
  SourceOptions options;
  options.data = {folder.Write("some.csv", "when;a;y\n1;1,5;2\n2;2,5;3\n")};
  options.target = "y";
  const auto write = [&] { return DataFields().Write({OpenSource(options), options}); };
  options.decimal = ',';
  OrderedJson json = write();
  EXPECT_EQ(json["decimal"], ",");
  for (const char* name : {"delimiter", "time", "categories"}) EXPECT_FALSE(json.contains(name));
  options.delimiter = ';';
  options.time = {"when"};
  json = write();
  EXPECT_EQ(json["delimiter"], ";");
  EXPECT_EQ(json["time"], (OrderedJson{"when"}));
}

TEST(DataFields, OfTheFleetHaveItsNoiseAndDrift) {
  SourceOptions options;
  options.drift = 1.5;
  const Source source = FleetSource(options, 3, 4);
  const OrderedJson json = DataFields().Write({source, options});
  EXPECT_EQ(json["noise"], 0.05);
  EXPECT_EQ(json["drift"], 1.5);
  EXPECT_EQ(json["folder"], "");
}

TEST(RunFields, OfARunThatDivergedSayWhereCountedFromOne) {
  SourceOptions options;
  const Source source = FleetSource(options, 3, 4);
  Repetition run = MadeUpRepetition(*source.stream, 2, 1);
  run.finished = false;
  run.step_mse = {0.5, 8};
  run.step_regret = {0.25, 0.75};
  run.regret.clear();
  run.weights = {};
  run.mse = std::numeric_limits<double>::infinity();
  run.divergence = {1, 2, "too large"};
  const RowResult result = Summarize({}, {run}, 3);
  OrderedJson json = RunFields().Write({result, *source.stream, {}});
  EXPECT_EQ(json["diverged"],
            (OrderedJson{{"repetition", 2}, {"step", 3}, {"reason", "too large"}}));
  EXPECT_EQ(json["repetitions"], 0);
  EXPECT_EQ(json["regret_mean"], 0.75);  // what it had
  EXPECT_EQ(json["curves"]["step"], (OrderedJson{1, 2}));
  EXPECT_TRUE(json["client_regret"].is_null());
  EXPECT_TRUE(json["client_weights"].is_null());
  json = OrderedJson::parse(json.dump());  // numbers that are not finite become null
  EXPECT_TRUE(json["mse"].is_null());
  EXPECT_NO_THROW(CheckObject(json, RunFields().type(), "run", "file"));
}

TEST(RunFields, HaveNoErrorInWindowsWithoutParticipants) {
  SourceOptions options;
  const Source source = FleetSource(options, 2, 1500);
  Repetition run = MadeUpRepetition(*source.stream, 2, 1);
  run.step_mse[0] = run.step_mse[1] = run.step_mse[2] = std::nan("");
  RowResult result = Summarize({}, {run}, 2);
  result.weight_plan = WeightPlan(*source.stream);
  const OrderedJson json = RunFields().Write({result, *source.stream, {}})["curves"];
  ASSERT_EQ(json["step"].size(), 750U);  // windows of two
  EXPECT_TRUE(json["mse"][0].is_null());
  EXPECT_EQ(json["mse"][1], run.step_mse[3]);
  EXPECT_EQ(json["regret"][1], run.step_regret[3]);
}

TEST(RunFields, ShowFewClientsRegretOneByOne) {
  SourceOptions options;
  const Source source = FleetSource(options, 3, 4);
  Repetition run = MadeUpRepetition(*source.stream, 2, 1);
  run.regret = {3, -1, 2};
  RowResult result = Summarize({}, {run}, 3);
  result.weight_plan = WeightPlan(*source.stream);
  const OrderedJson json = RunFields().Write({result, *source.stream, {}});
  EXPECT_EQ(json["client_regret"], (OrderedJson{-1, 2, 3}));
}

TEST(RunFields, MeasureTheErrorAgainstTheNaiveOnes) {
  SourceOptions options;
  const Source source = FleetSource(options, 3, 4);
  RowResult result = MadeUpResult(*source.stream, {});
  result.mse.mean = 0.25;
  result.client_mse = {0.25, 1, std::nan("")};
  result.naive = {0.75, 0.5, 2, {0.5, 0.5, std::nan("")}};
  OrderedJson json = RunFields().Write({result, *source.stream, {}});
  EXPECT_EQ(json["rmse"], 0.5);
  EXPECT_EQ(json["r2"], 0.875);
  EXPECT_EQ(json["skill"], 0.5);
  EXPECT_EQ(json["last_label_mse"], 0.5);
  EXPECT_EQ(json["running_mean_mse"], 0.75);
  const OrderedJson& clients = json["client_scores"];
  EXPECT_EQ(clients["clients"], (OrderedJson{0, 1, 2}));
  EXPECT_EQ(clients["names"], (OrderedJson{"0", "1", "2"}));
  EXPECT_EQ(clients["mse"], (OrderedJson{0.25, 1, nullptr}));
  EXPECT_EQ(clients["skill"], (OrderedJson{0.5, -1, nullptr}));
  EXPECT_EQ(clients["sites"], (OrderedJson{0, 1, 2}));
  EXPECT_NO_THROW(CheckObject(json, RunFields().type(), "run", "file"));
}

TEST(RunFields, SayHowIntervalsFaredOverTimeAndFromClientToClient) {
  SourceOptions options;
  const Source source = FleetSource(options, 3, 4);
  RowResult result = MadeUpResult(*source.stream, {});
  OrderedJson json = RunFields().Write({result, *source.stream, {}});
  EXPECT_FALSE(json["curves"].contains("coverage"));
  EXPECT_FALSE(json["client_scores"].contains("coverage"));
  EXPECT_TRUE(json["client_coverage"].is_null());
  EXPECT_TRUE(json["epsilon_spent"].is_null());
  result.epsilon_spent = 0.75;
  EXPECT_EQ((RunFields().Write({result, *source.stream, {}})["epsilon_spent"]), 0.75);
  result.step_coverage = {std::nan(""), 1, 0.5, 0.75};
  result.client_coverage = {1, std::nan(""), 0.5};
  json = RunFields().Write({result, *source.stream, {}});
  EXPECT_EQ(json["curves"]["coverage"], (OrderedJson{nullptr, 1, 0.5, 0.75}));
  EXPECT_EQ(json["client_scores"]["coverage"], (OrderedJson{1, nullptr, 0.5}));
  EXPECT_EQ(json["client_coverage"], (OrderedJson{0.5, 1}));
  EXPECT_NO_THROW(CheckObject(json, RunFields().type(), "run", "file"));
}

TEST(RunFields, OfAnOlderRunHaveNoNaiveErrors) {
  SourceOptions options;
  const Source source = FleetSource(options, 3, 4);
  RowResult result = MadeUpResult(*source.stream, {});
  OrderedJson json = RunFields().Write({result, *source.stream, {}});
  const std::vector<const char*> fields = {
      "rmse", "r2", "skill", "last_label_mse", "running_mean_mse", "client_scores"};
  for (const char* field : fields) json.erase(field);
  EXPECT_NO_THROW(CheckObject(json, RunFields().type(), "run", "file"));
  for (const char* field : fields) EXPECT_TRUE(json[field].is_null()) << field;
}

TEST(ReproductionFields, HaveTheCostThatTheirTableShows) {
  Comparison c;
  c.table = "table1";
  c.title = "OFSKL";
  c.kernels = 1;
  c.data = "naval";
  c.published = {77.77, 0};
  c.measured = {76.5, 3};
  c.published_cost = 0.07;
  c.cost = 0.004;
  OrderedJson json = ReproductionFields().Write(c);
  EXPECT_EQ(json["row"], "OFSKL");
  EXPECT_EQ(json["kernels_per_upload"], 1);
  EXPECT_EQ(json["weights"], "reset");
  EXPECT_TRUE(json["published_std"].is_null());  // not in Table 3
  EXPECT_EQ(json["published_seconds"], 0.07);
  EXPECT_EQ(json["seconds"], 0.004);
  EXPECT_FALSE(json.contains("steps_x_mse"));
  c.table = "table4";
  c.carried = true;
  c.kernels = 0;
  c.published.deviation = 0.5;
  json = ReproductionFields().Write(c);
  EXPECT_TRUE(json["kernels_per_upload"].is_null());
  EXPECT_EQ(json["weights"], "carried");
  EXPECT_EQ(json["published_std"], 0.5);
  EXPECT_EQ(json["steps_x_mse"], 0.004);
  EXPECT_FALSE(json.contains("seconds"));
}

}  // namespace
}  // namespace polykern
