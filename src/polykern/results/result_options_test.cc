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

}  // namespace
}  // namespace polykern
