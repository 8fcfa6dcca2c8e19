#include "polykern/results/result.h"

#include <algorithm>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "polykern/core/version.h"
#include "polykern/io/folder_testing.h"
#include "polykern/results/row_result_testing.h"

namespace polykern {
namespace {

using testing::HasSubstr;

TEST(Result, HoldsWhatTheRunGaveAndThinsLongCurves) {
  SourceOptions source_options;
  const Source source = FleetSource(source_options, 3, 2500);
  ExperimentOptions options;
  options.repetitions = 1;
  Row row;
  row.options.kernels_per_upload = 51;
  row.options.features = 2;
  const std::vector<RowResult> results = {MadeUpResult(*source.stream, row)};
  const auto json = nlohmann::json::parse(
      ResultJson(source, source_options, options, results, "polykern run --steps 2500"));
  EXPECT_EQ(json["polykern"], Version());
  EXPECT_EQ(json["command"], "polykern run --steps 2500");
  EXPECT_EQ(json["data"]["name"], "synthetic");
  const auto& run = json["runs"][0];
  EXPECT_EQ(run["mse"], results[0].mse.mean);
  EXPECT_EQ(run["regret_mean"], results[0].regret.mean);
  EXPECT_EQ(run["uplink_numbers"], 8);
  EXPECT_EQ(run["uplink_bytes"], 32);
  EXPECT_EQ(run["microseconds_per_sample"], 1e6 * 0.25 / 7500);
  EXPECT_EQ(run["fingerprint"], "0000000000000001");
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

TEST(Result, HoldsWhatClientsPreferAndHowTheirRegretDiffers) {
  SourceOptions source_options;
  const Source source = FleetSource(source_options, 450, 130);
  ExperimentOptions options;
  options.repetitions = 2;
  Row row;
  row.options.kernels_per_upload = 3;
  row.options.kernels = 6;
  row.options.features = 2;
  row.options.dictionary = "mixed";
  const std::vector<RowResult> results = {MadeUpResult(*source.stream, row, 2)};
  const auto json = nlohmann::json::parse(ResultJson(source, source_options, options, results, ""));
  const auto& run = json["runs"][0];

  std::vector<double> sorted = results[0].client_regret;
  ASSERT_EQ(sorted.size(), 450U);
  EXPECT_DOUBLE_EQ(SpreadOf(sorted).mean, results[0].regret.mean);
  std::ranges::sort(sorted);
  const auto quantiles = run["client_regret"].get<std::vector<double>>();
  ASSERT_EQ(quantiles.size(), 201U);
  EXPECT_EQ(quantiles.front(), sorted.front());
  EXPECT_EQ(quantiles[100], sorted[224]);  // of 450 the lower middle one
  EXPECT_EQ(quantiles.back(), sorted.back());
  EXPECT_TRUE(std::ranges::is_sorted(quantiles));

  const auto& weights = run["client_weights"];
  EXPECT_EQ(weights["kernels"][1], "matern32 0.0631");
  ASSERT_EQ(weights["clients"].size(), 100U);
  ASSERT_EQ(weights["last"].size(), 100U);
  std::size_t before = 0;
  for (std::size_t i = 0; i < 100; ++i) {
    const std::size_t site = source.stream->SiteOf(weights["clients"][i].get<std::size_t>());
    EXPECT_EQ(weights["sites"][i], site);
    EXPECT_GE(site, before);
    before = site;
    double sum = 0;
    for (const auto& weight : weights["last"][i]) sum += weight.get<double>();
    EXPECT_NEAR(sum, 1, 6 * 0.5e-4);  // each rounded to four digits
  }
  EXPECT_EQ(before, 3U);  // all four sites
  ASSERT_EQ(weights["steps"].size(), 60U);
  EXPECT_EQ(weights["steps"].back(), 130);
  EXPECT_EQ(weights["trace"].size(), 60U);
  EXPECT_EQ(weights["trace"][0].size(), 4U);
}

TEST(Result, NamesTheKernelsThatAnAlgorithmHasAndThenAClientsOwn) {
  SourceOptions source_options;
  const Source source = FleetSource(source_options, 3, 5);
  Row row;
  row.algorithm = "fed-poe";
  row.options.kernels = 6;  // as many as it has weights
  const std::vector<RowResult> results = {MadeUpResult(*source.stream, row)};
  const auto json = nlohmann::json::parse(ResultJson(source, source_options, {}, results, ""));
  EXPECT_EQ(json["runs"][0]["client_weights"]["kernels"],
            nlohmann::json({"gaussian 0.1", "gaussian 1", "gaussian 10", "local gaussian 0.1",
                            "local gaussian 1", "local gaussian 10"}));
}

TEST(Result, HasNullWhereThereIsNothingToSay) {
  SourceOptions source_options;
  const Source source = FleetSource(source_options, 3, 5);
  Row row;
  row.algorithm = "perfedavg";
  Repetition run_of_it = MadeUpRepetition(*source.stream, 1, 1);
  run_of_it.has_regret = false;
  run_of_it.bound = 0;
  run_of_it.weights = {};
  const std::vector<RowResult> results = {Summarize(row, {run_of_it}, 3)};
  const auto json = nlohmann::json::parse(ResultJson(source, source_options, {}, results, ""));
  const auto& run = json["runs"][0];
  for (const char* field : {"kernels_per_upload", "features", "regret_mean", "regret_std",
                            "regret_bound", "client_regret", "client_weights"}) {
    EXPECT_TRUE(run.at(field).is_null()) << field;
  }
  for (const auto& value : run["curves"]["regret"]) EXPECT_TRUE(value.is_null());
  EXPECT_EQ(run["options"]["meta_rate"], 0.001);
}

TEST(Result, CallsEveryLossByItsOwnName) {
  for (const Name<LossKind>& name : NamesOf(LossKind{})) {
    Row row;
    row.options.loss = name.value;
    EXPECT_THAT(RowSettings(row, {}), HasSubstr("\"loss\":\"" + std::string(name.text) + "\""));
  }
}

TEST(RunValues, AreThePlainValuesOfARunByTheirTypes) {
  SourceOptions source_options;
  const Source source = FleetSource(source_options, 3, 5);
  Row row;
  row.options.kernels = 2;
  row.options.kernels_per_upload = 2;
  std::map<std::string, decltype(RunValue::value)> values;
  for (const RunValue& one : RunValues(MadeUpResult(*source.stream, row), *source.stream, {})) {
    values[one.name] = one.value;
  }
  EXPECT_EQ(std::get<std::string>(values.at("algorithm")), "pof-mkl");
  EXPECT_EQ(std::get<std::uint64_t>(values.at("clients")), 3U);
  EXPECT_EQ(std::get<double>(values.at("regret_bound")), 3.5);
  EXPECT_EQ(std::get<bool>(values.at("losses_in_unit_range")), true);
  EXPECT_FALSE(values.contains("curves"));  // an object
  row.algorithm = "perfedavg";
  for (const RunValue& one : RunValues(Summarize(row, {{}}, 3), *source.stream, {})) {
    if (one.name == "regret_mean") {
      EXPECT_TRUE(std::holds_alternative<std::monostate>(one.value));
    }
  }
}

TEST(SampleSettings, ChangeWithAFilesContentAndNotWithItsFolder) {
  const TestFolder folder;
  std::string text = "a,b\n";
  for (int i = 0; i < 20; ++i) text += std::to_string(i) + "," + std::to_string(i * i) + "\n";
  SourceOptions options;
  options.data = {folder.Write("data.csv", text)};
  options.target = "b";
  options.clients = 2;
  const auto settings = [&] { return SampleSettings(OpenSource(options), options); };
  const std::string before = settings();
  EXPECT_THAT(before, HasSubstr("sha256"));
  EXPECT_EQ(settings(), before);
  options.data_dir = "elsewhere";
  EXPECT_EQ(settings(), before);
  options.seed = 1;
  EXPECT_NE(settings(), before);
  options.seed = 0;
  folder.Write("data.csv", text + "20,5\n");
  EXPECT_NE(settings(), before);
}

TEST(SampleSettings, AreNoneOfWhatCannotBeReadAgain) {
  const TestFolder folder;
  Source source;
  SourceOptions options;
  source.stream = OpenSource(options).stream;
  options.data = source.files = {folder.path()};  // neither is a pipe a regular file
  EXPECT_EQ(SampleSettings(source, options), "");
}

TEST(ReproductionJson, IsAListOfComparisons) {
  EXPECT_EQ(ReproductionJson({}), "[]");
  Comparison one;
  one.title = "vM-KOFL";
  const auto json = nlohmann::json::parse(ReproductionJson({one, one}));
  ASSERT_EQ(json.size(), 2U);
  EXPECT_EQ(json[1]["row"], "vM-KOFL");
}

TEST(ReadableJson, HasListsOfPlainValuesOnOneLine) {
  const nlohmann::ordered_json json = {{"a", {1, 2.5, nullptr}},
                                       {"b", {{1, 2}, {3, 4}}},
                                       {"c", nlohmann::ordered_json::array()},
                                       {"d", {"x [ y", "\"]\n  \\", "z"}},
                                       {"e", {{{"f", {true}}}}}};
  const std::string text = ReadableJson(json.dump(1));
  EXPECT_EQ(nlohmann::ordered_json::parse(text), json);
  EXPECT_EQ(text, R"({
 "a": [1, 2.5, null],
 "b": [
  [1, 2],
  [3, 4]
 ],
 "c": [],
 "d": ["x [ y", "\"]\n  \\", "z"],
 "e": [
  {
   "f": [true]
  }
 ]
})");
}

}  // namespace
}  // namespace polykern
