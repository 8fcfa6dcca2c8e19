#include "polykern/net/configuration_texts.h"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <optional>
#include <utility>

#include "polykern/algorithms/option_values.h"
#include "polykern/core/error.h"
#include "polykern/core/text.h"
#include "polykern/net/made_inputs.h"

namespace polykern {
namespace {

template <typename T>
concept Number = std::integral<T> || std::floating_point<T>;

template <Number T>
std::string ToText(T value) {
  return ExactText(value);
}
template <Number T>
bool FromText(const std::string& text, T& value) {
  return ReadExact(text, value) && std::isfinite(static_cast<double>(value));
}

std::string ToText(const std::string& value) {
  return value;
}
bool FromText(const std::string& text, std::string& value) {
  value = text;
  return true;
}

/// "1,24".
template <typename T>
std::string ToText(const std::vector<T>& values) {
  return Joined(values, ",", [](const T& value) { return ToText(value); });
}
template <typename T>
bool FromText(const std::string& text, std::vector<T>& values) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (!FromText(text.substr(begin, end - begin), values.emplace_back())) return false;
    begin = end + 1;
  }
  return text.empty() || text.back() != ',';
}

/// "LOW:HIGH NAME".
std::string ToText(const ColumnRange& column) {
  return ToText(column.low) + ":" + ToText(column.high) + " " + column.name;
}
bool FromText(const std::string& text, ColumnRange& column) {
  const std::size_t colon = text.find(':');
  const std::size_t blank = text.find(' ');
  if (colon == std::string::npos || blank == std::string::npos || blank < colon) return false;
  column.name = text.substr(blank + 1);
  return FromText(text.substr(0, colon), column.low) &&
         FromText(text.substr(colon + 1, blank - colon - 1), column.high) &&
         column.low < column.high && std::isfinite(column.high - column.low);
}

/// What a federation is besides its algorithm's options: every field once, with its name and what
/// its absence means. Null: it is never absent.
template <typename Configuration, typename Visit>
void VisitFields(Configuration& c, Visit&& visit) {
  visit("algorithm", c.algorithm, nullptr);
  visit("dimension", c.problem.dimension, nullptr);
  visit("horizon", c.problem.horizon, nullptr);
  visit("seed", c.problem.seed, nullptr);
  visit("scaling", c.scaling, "none");
  visit("norm", c.norm, "1");
  visit("target", c.target, "0:1 ");
  visit("labels", c.labels, "");
  visit("learn_ranges", c.learn_ranges, "0");
  visit("lags", c.lags, "");
  visit("calendar", c.calendar, "");
  visit("time", c.time, "");
  visit("categories", c.categories, "");
  visit("missing", c.missing, "");
  visit("ahead", c.problem.ahead, "1");
  visit("federation_id", c.federation_id, "");
  visit("epoch", c.epoch, "0");
  visit("epoch_begin", c.epoch_begin, "0");
  visit("clients", c.clients, "");
  visit("from", c.from, "");
  visit("total_epsilon", c.total_epsilon, "0");
}

std::string ColumnKey(std::size_t i) {
  return "column." + std::to_string(i);
}

std::string Has(const std::string& name, const std::string& text) {
  return "the federation's configuration has the " + name + " '" + text.substr(0, 60) + "', which ";
}

[[noreturn]] void NotKnown(const std::string& name, const std::string& text) {
  throw Error(Has(name, text) +
              "is not known here; is the other side a newer version of polykern?");
}

[[noreturn]] void CannotRead(const std::string& name, const std::string& text) {
  const OptionDeclaration* option = FindOption(name);
  if (option != nullptr && !OptionChoices(*option).empty()) NotKnown(name, text);
  throw Error(Has(name, text) + "cannot be read");
}

/// Takes texts out, one by one.
class Reader {
 public:
  explicit Reader(ConfigurationTexts texts) : texts_(std::move(texts)) {}

  std::optional<std::string> Take(const std::string& name) {
    const auto node = texts_.extract(name);
    return node.empty() ? std::nullopt : std::optional(node.mapped());
  }

  template <typename T>
  void operator()(const std::string& name, T& value, const char* absent) {
    const std::optional<std::string> text = Take(name);
    if (!text && absent == nullptr) throw Error("the federation's configuration lacks " + name);
    if (!FromText(text.value_or(absent == nullptr ? "" : absent), value)) CannotRead(name, *text);
  }

  void Finish() const {
    if (texts_.empty()) return;
    throw Error("the federation's configuration has " + texts_.begin()->first +
                ", which is not known here; is the other side a newer version of polykern?");
  }

 private:
  ConfigurationTexts texts_;
};

void ReadOptions(Reader& reader, AlgorithmOptions& options) {
  options = AbsentOptions();
  for (const OptionDeclaration& option : kAlgorithmOptions) {
    const std::string key(option.key);
    const std::optional<std::string> text = reader.Take(key);
    if (!text) continue;
    try {
      SetOption(option, *text, options);
      CheckRange(option, options);
    } catch (const Error&) {
      CannotRead(key, *text);
    }
  }
}

/// Stores of polykern before 0.2 have `local_experts` instead of `experts`.
ConfigurationTexts WithExperts(ConfigurationTexts texts) {
  const auto found = texts.find("local_experts");
  if (found == texts.end() || texts.contains("experts")) return texts;
  if (found->second != "yes" && found->second != "no") return texts;
  texts.emplace("experts", found->second == "yes" ? "federated,local" : "federated");
  texts.erase("local_experts");
  return texts;
}

}  // namespace

ConfigurationTexts ToTexts(const FederationConfiguration& configuration) {
  ConfigurationTexts texts;
  VisitFields(configuration, [&](const char* name, const auto& value, const char* absent) {
    const std::string text = ToText(value);
    if (absent == nullptr || text != absent) texts.emplace(name, text);
  });
  for (const OptionDeclaration& option : kAlgorithmOptions) {
    const std::string text = OptionText(option, configuration.options);
    if (UsesOption(configuration.algorithm, option) && text != option.absent) {
      texts.emplace(option.key, text);
    }
  }
  for (std::size_t i = 0; i < configuration.columns.size(); ++i) {
    texts.emplace(ColumnKey(i), ToText(configuration.columns[i]));
  }
  return texts;
}

FederationConfiguration FromTexts(const ConfigurationTexts& texts) {
  FederationConfiguration configuration;
  Reader reader(WithExperts(texts));
  VisitFields(configuration, reader);
  ReadOptions(reader, configuration.options);
  for (;;) {
    const std::string key = ColumnKey(configuration.columns.size());
    const std::optional<std::string> text = reader.Take(key);
    if (!text) break;
    if (!FromText(*text, configuration.columns.emplace_back())) CannotRead(key, *text);
  }
  reader.Finish();
  const std::string& scaling = configuration.scaling;
  if (scaling != "none" && scaling != "norm" && scaling != "range") NotKnown("scaling", scaling);
  const std::string& labels = configuration.labels;
  if (!labels.empty() && labels != "none" && labels != "range") NotKnown("labels", labels);
  if (configuration.norm <= 0) {
    throw Error("the federation's configuration has a norm that is not above 0");
  }
  const std::size_t columns = configuration.columns.size();
  if (columns == 0 && scaling == "range") {
    throw Error("the federation's configuration scales by ranges, but has no columns");
  }
  if (configuration.learn_ranges > 0 && (scaling != "range" || !configuration.ScalesLabels())) {
    throw Error("the federation's configuration learns ranges, but does not scale by them");
  }
  if (columns != 0 && columns != configuration.problem.dimension) {
    throw Error("the federation's configuration has " + std::to_string(columns) +
                " columns, but the dimension " + std::to_string(configuration.problem.dimension));
  }
  CheckMadeInputs(configuration);
  return configuration;
}

ConfigurationTexts Canonical(const ConfigurationTexts& texts) {
  try {
    return ToTexts(FromTexts(texts));
  } catch (const Error&) {
    return texts;
  }
}

std::string Shown(const std::string& value) {
  constexpr std::size_t kMostShown = 200;
  return value.size() <= kMostShown ? value : "(" + std::to_string(value.size()) + " letters)";
}

std::string Differences(const ConfigurationTexts& before, const ConfigurationTexts& after) {
  const ConfigurationTexts old = Canonical(before);
  const ConfigurationTexts now = Canonical(after);
  const auto shown = [](const ConfigurationTexts& texts, const std::string& key) {
    if (const auto found = texts.find(key); found != texts.end()) return found->second;
    const OptionDeclaration* option = FindOption(key);
    return option == nullptr || option->absent.empty() ? "(not set)" : std::string(option->absent);
  };
  ConfigurationTexts keys = old;
  keys.insert(now.begin(), now.end());
  std::string text;
  for (const auto& [key, value] : keys) {
    const std::string from = shown(old, key);
    const std::string to = shown(now, key);
    if (from != to)
      text += (text.empty() ? "" : ", ") + key + ": " + Shown(from) + " -> " + Shown(to);
  }
  return text;
}

}  // namespace polykern
