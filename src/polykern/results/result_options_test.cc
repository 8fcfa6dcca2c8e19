#include <algorithm>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/option_values.h"
#include "polykern/algorithms/registry.h"
#include "polykern/results/result.h"
#include "polykern/results/result_schema_internal.h"

namespace polykern {
namespace {

using OrderedJson = nlohmann::ordered_json;

TEST(OptionsJson, HasEveryOptionButWhatStandsBesideTheAlgorithm) {
  const OrderedJson json = OptionsJson({}, {}, Layout::kToday);
  for (const OptionDeclaration& option : kAlgorithmOptions) {
    const std::string key(option.key);
    EXPECT_EQ(json.contains(key), key != "kernels_per_upload" && key != "features") << key;
  }
  for (const char* key : {"weights", "participation", "seed"}) EXPECT_TRUE(json.contains(key));
}

TEST(OptionsJson, WritesNamesNumbersAndNullForWhatIsNotSet) {
  Row row;
  row.options.loss = LossKind::kHuber;
  row.options.learning_rate = 0.125;
  ExperimentOptions options;
  options.carry_weights = true;
  options.participation = 0.5;
  options.seed = 7;
  const OrderedJson json = OptionsJson(row, options, Layout::kToday);
  EXPECT_EQ(json["loss"], "huber");
  EXPECT_EQ(json["learning_rate"], 0.125);
  EXPECT_TRUE(json["weight_rate"].is_null());
  EXPECT_EQ(json["orthogonal"], false);
  EXPECT_EQ(json["weights"], "carried");
  EXPECT_EQ(json["participation"], 0.5);
  EXPECT_EQ(json["seed"], 7);
  EXPECT_EQ(json["exploration"], ExplorationOf(row.algorithm, row.options));
}

TEST(OptionsJson, IsFrozenForOptionsThatCameLater) {
  // Whatever the options are today: in the frozen layout those that came after 0.1.0 show only
  // where they differ from their absent value.
  const OrderedJson today = OptionsJson({}, {}, Layout::kToday);
  const OrderedJson frozen = OptionsJson({}, {}, Layout::kFrozen);
  for (const auto& [key, value] : frozen.items()) EXPECT_EQ(today[key], value) << key;
  for (const OptionDeclaration& option : kAlgorithmOptions) {
    const std::string key(option.key);
    if (frozen.contains(key) || !today.contains(key)) continue;
    EXPECT_GT(option.since, 2U) << key;
    EXPECT_EQ(OptionText(option, {}), option.absent) << key;
  }
}

TEST(OptionLabels, AreEachOfAnOptionAndTellTheFirstApartAlone) {
  const OrderedJson json = OptionsJson({}, {}, Layout::kToday);
  std::set<std::string> keys;
  for (const OptionLabel& one : OptionLabels()) {
    EXPECT_TRUE(json.contains(one.key)) << one.key;
    EXPECT_TRUE(keys.insert(one.key).second) << one.key << " twice";
    EXPECT_EQ(one.label.find('_'), std::string::npos) << one.label;
  }
  EXPECT_EQ(keys.size(), json.size());
  EXPECT_EQ(OptionLabels().front().key, "weights");
  EXPECT_EQ(OptionLabels().front().label, "");  // "carried" says it
}

TEST(VaryingOptions, AreThoseInWhichRowsDifferThatUseThem) {
  std::vector<RowResult> rows(4);
  rows[0].row.algorithm = "pof-newton";
  rows[1].row.algorithm = "pof-newton";
  rows[1].row.options.forgetting = kAutoForgetting;
  rows[2].row.algorithm = "pof-mkl";
  rows[2].row.options.forgetting = 0.5;  // which it does not use
  rows[3].row.algorithm = "ofskl";
  rows[3].row.options.learning_rate = 0.25;
  rows[3].row.options.features = 7;  // a column of its own has it
  rows[3].row.options.refresh = 0.5;
  const auto varying = VaryingOptions(rows);
  ASSERT_EQ(varying.size(), 2U);
  EXPECT_EQ(varying[0].key, "learning_rate");
  EXPECT_EQ(varying[0].label, "learning rate");
  EXPECT_EQ(varying[0].values, (std::vector<std::string>{"", "", "", "0.25"}));
  EXPECT_EQ(varying[1].key, "forgetting");
  EXPECT_EQ(varying[1].values, (std::vector<std::string>{"1", "auto", "", ""}));
  rows.resize(1);
  EXPECT_TRUE(VaryingOptions(rows).empty());
}

}  // namespace
}  // namespace polykern
