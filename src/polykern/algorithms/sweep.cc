#include "polykern/algorithms/sweep.h"

#include <algorithm>

#include "polykern/algorithms/option_values.h"
#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/core/text.h"

namespace polykern {
namespace {

std::vector<std::string_view> SplitAtCommas(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

/// What is wrong with values of an option for one algorithm.
std::string NameComplaint(const OptionDeclaration& option, std::string_view name) {
  const auto known = AlgorithmNames();
  if (std::ranges::find(known, name) == known.end()) {
    const std::vector<std::string> names(known.begin(), known.end());
    return "there is no algorithm " + Quoted(name) + "; " + Suggest(name, names);
  }
  return UsesOption(name, option) ? "" : std::string(name) + " does not use it";
}

/// The number as it will be, so that 0.1 and 1e-1 are the same.
std::string Meaning(const OptionDeclaration& option, std::string_view text) {
  AlgorithmOptions options;
  SetOption(option, text, options);
  return OptionText(option, options);
}

}  // namespace

std::string Sweep::Parse(const OptionDeclaration& option, std::string_view text,
                         std::vector<Value>& values) {
  if (!IsNumber(option)) {
    values.push_back({"", std::string(text)});
    return OptionComplaint(option, text);
  }
  for (const std::string_view part : SplitAtCommas(text)) {
    const std::size_t equals = part.find('=');
    const bool named = equals != std::string_view::npos;
    const std::string_view name = named ? part.substr(0, equals) : "";
    const std::string_view number = named ? part.substr(equals + 1) : part;
    if (named) {
      if (std::string wrong = NameComplaint(option, name); !wrong.empty()) return wrong;
    }
    if (number.empty()) return "'" + std::string(text.substr(0, 60)) + "' lacks a value";
    if (std::string wrong = OptionComplaint(option, number); !wrong.empty()) return wrong;
    Value value = {std::string(name), Meaning(option, number)};
    const auto same = [&](const Value& other) {
      return other.algorithm == value.algorithm && other.text == value.text;
    };
    if (std::ranges::any_of(values, same)) {
      return "'" + std::string(text.substr(0, 60)) + "' has " + value.text + " twice";
    }
    values.push_back(std::move(value));
  }
  return "";
}

std::string SweepComplaint(const OptionDeclaration& option, std::string_view text) {
  std::vector<Sweep::Value> values;
  return Sweep::Parse(option, text, values);
}

void Sweep::Set(const OptionDeclaration& option, std::string_view text) {
  std::vector<Value> values;
  const std::string wrong = Parse(option, text, values);
  if (!wrong.empty()) throw Error(OptionName(option.key) + ": " + wrong);
  values_[std::string(option.key)] = std::move(values);
}

std::vector<std::string> Sweep::ValuesOf(std::string_view algorithm,
                                         const OptionDeclaration& option) const {
  const auto found = values_.find(option.key);
  if (found == values_.end()) return {};
  std::vector<std::string> own;
  std::vector<std::string> others;
  for (const Value& value : found->second) {
    if (value.algorithm == algorithm) own.push_back(value.text);
    if (value.algorithm.empty()) others.push_back(value.text);
  }
  if (!own.empty()) return own;
  // What it does not use is the same in all of its rows; a single value is shown as it was typed.
  if (!UsesOption(algorithm, option) && others.size() > 1) return {};
  return others;
}

bool Sweep::Has(std::string_view algorithm, std::string_view key) const {
  return !ValuesOf(algorithm, *FindOption(key)).empty();
}

std::vector<AlgorithmOptions> Sweep::Of(std::string_view algorithm,
                                        const AlgorithmOptions& base) const {
  std::vector<AlgorithmOptions> all = {base};
  for (const OptionDeclaration& option : kAlgorithmOptions) {
    const std::vector<std::string> texts = ValuesOf(algorithm, option);
    if (texts.empty()) continue;
    std::vector<AlgorithmOptions> more;
    for (const AlgorithmOptions& before : all) {
      for (const std::string& text : texts) SetOption(option, text, more.emplace_back(before));
    }
    all = std::move(more);
  }
  return all;
}

void Sweep::CheckAlgorithms(std::span<const std::string> names) const {
  for (const auto& [key, values] : values_) {
    for (const Value& value : values) {
      if (value.algorithm.empty() || std::ranges::find(names, value.algorithm) != names.end()) {
        continue;
      }
      throw Error(OptionName(key) + " has a value for " + value.algorithm +
                  ", which is not run: add it to " + OptionName("algorithm"));
    }
  }
}

}  // namespace polykern
