#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <type_traits>
#include <variant>

#include <nlohmann/json.hpp>

#include "polykern/algorithms/option_values.h"
#include "polykern/algorithms/registry.h"
#include "polykern/core/names.h"
#include "polykern/results/result.h"
#include "polykern/results/result_schema_internal.h"

namespace polykern {
namespace {

using Json = nlohmann::ordered_json;

/// The protocol's version that 0.1.0 spoke: its options have it in `since`.
constexpr std::uint32_t kFirstOptions = 2;

/// M and D: they stand beside the algorithm, not among its options.
bool StandsBeside(const OptionDeclaration& option) {
  return option.key == "kernels_per_upload" || option.key == "features";
}

std::string LabelOf(const OptionDeclaration& option) {
  std::string label(option.label.empty() ? option.key : option.label);
  std::ranges::replace(label, '_', ' ');
  return label;
}

/// The value of an option; null: none is set.
Json ValueJson(const OptionDeclaration& option, const AlgorithmOptions& options) {
  if (HasNamedZero(option, options)) return OptionText(option, options);
  return std::visit(
      [&]<typename T>(T AlgorithmOptions::*field) -> Json {
        const T& value = options.*field;
        if constexpr (std::is_enum_v<T>) {
          return NameOf(value);
        } else if constexpr (requires { value.has_value(); }) {
          return value ? Json(*value) : Json();
        } else {
          return value;
        }
      },
      option.field);
}

}  // namespace

Json OptionsJson(const Row& row, const ExperimentOptions& options, Layout layout) {
  Json json = Json::object();
  for (const OptionDeclaration& option : kAlgorithmOptions) {
    const bool absent = OptionText(option, row.options) == option.absent;
    if (StandsBeside(option)) continue;
    if (layout == Layout::kFrozen && option.since > kFirstOptions && absent) continue;
    json[std::string(option.key)] = ValueJson(option, row.options);
  }
  json["exploration"] = ExplorationOf(row.algorithm, row.options);
  json["weights"] = options.carry_weights ? "carried" : "reset";
  json["participation"] = options.participation;
  if (options.coverage) json["coverage"] = *options.coverage;
  json["seed"] = options.seed;
  return json;
}

std::vector<OptionLabel> OptionLabels() {
  std::vector<OptionLabel> labels = {{"weights", ""}};
  for (const OptionDeclaration& option : kAlgorithmOptions) {
    if (StandsBeside(option)) continue;
    labels.push_back({std::string(option.key), LabelOf(option)});
  }
  labels.push_back({"participation", "participation"});
  labels.push_back({"seed", "seed"});
  return labels;
}

std::vector<VaryingOption> VaryingOptions(const std::vector<RowResult>& rows) {
  std::vector<VaryingOption> varying;
  for (const OptionDeclaration& option : kAlgorithmOptions) {
    if (StandsBeside(option)) continue;
    VaryingOption one = {std::string(option.key), LabelOf(option), {}};
    std::set<std::string> different;
    for (const RowResult& result : rows) {
      const bool uses = UsesOption(result.row.algorithm, option);
      one.values.push_back(uses ? OptionText(option, result.row.options) : "");
      if (uses) different.insert(one.values.back());
    }
    if (different.size() > 1) varying.push_back(std::move(one));
  }
  return varying;
}

}  // namespace polykern
