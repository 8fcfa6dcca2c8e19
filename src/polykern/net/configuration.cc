#include "polykern/net/configuration.h"

#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <optional>

#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/core/random.h"

namespace polykern {
namespace {

constexpr std::size_t kMostDimension = 1'000'000;

// Texts of the types that options have, and back. Numbers keep every bit.

template <typename T>
concept Number = (std::integral<T> || std::floating_point<T>)&&!std::same_as<T, bool>;

template <Number T>
std::string ToText(T value) {
  std::array<char, 32> digits{};
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
}
template <Number T>
bool FromText(const std::string& text, T& value) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return false;
  if constexpr (std::floating_point<T>) return std::isfinite(value);
  return true;
}

std::string ToText(const std::string& value) {
  return value;
}
bool FromText(const std::string& text, std::string& value) {
  value = text;
  return true;
}

/// Something with a few values, each with its name.
template <typename T>
using Names = std::array<std::pair<T, std::string_view>, 3>;
template <typename T>
constexpr Names<T> kNames{};
template <>
constexpr Names<bool> kNames<bool> = {{{false, "no"}, {true, "yes"}, {true, "yes"}}};
template <>
constexpr Names<Schedule> kNames<Schedule> = {{{Schedule::kConstant, "constant"},
                                               {Schedule::kAnytime, "anytime"},
                                               {Schedule::kAnytime, "anytime"}}};
template <>
constexpr Names<LossKind> kNames<LossKind> = {{{LossKind::kSquared, "squared"},
                                               {LossKind::kHuber, "huber"},
                                               {LossKind::kLogistic, "logistic"}}};
template <>
constexpr Names<Weighting> kNames<Weighting> = {{{Weighting::kHedge, "hedge"},
                                                 {Weighting::kAdaHedge, "adahedge"},
                                                 {Weighting::kAggregating, "aggregating"}}};

template <typename T>
concept Named = std::same_as<T, bool> || std::is_enum_v<T>;

template <Named T>
std::string ToText(T value) {
  for (const auto& [candidate, name] : kNames<T>) {
    if (candidate == value) return std::string(name);
  }
  return {};
}
template <Named T>
bool FromText(const std::string& text, T& value) {
  for (const auto& [candidate, name] : kNames<T>) {
    if (name == text) {
      value = candidate;
      return true;
    }
  }
  return false;
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

/// Every field once, with its name: `visit(name, field)`.
template <typename Configuration, typename Visit>
void VisitFields(Configuration& c, Visit&& visit) {
  auto& o = c.options;
  visit("algorithm", c.algorithm);
  visit("dictionary", o.dictionary);
  visit("kernels", o.kernels);
  visit("kernels_per_upload", o.kernels_per_upload);
  visit("features", o.features);
  visit("budget", o.budget);
  visit("orthogonal", o.orthogonal);
  visit("shared_draws", o.shared_draws);
  visit("exploration", o.exploration);
  visit("learning_rate", o.learning_rate);
  visit("weight_rate", o.weight_rate);
  visit("schedule", o.schedule);
  visit("regularization", o.regularization);
  visit("loss", o.loss.kind);
  visit("huber_delta", o.loss.delta);
  visit("single_bandwidth", o.single_bandwidth);
  visit("hessian_free", o.hessian_free);
  visit("inner_rate", o.inner_rate);
  visit("meta_rate", o.meta_rate);
  visit("projection_radius", o.projection_radius);
  visit("weighting", o.weighting);
  visit("ridge", o.ridge);
  visit("forgetting", o.forgetting);
  visit("refresh", o.refresh);
  visit("server_memory", o.server_memory);
  visit("local_experts", o.local_experts);
  visit("local_kernels", o.local_kernels);
  visit("local_memory", o.local_memory);
  visit("dimension", c.problem.dimension);
  visit("horizon", c.problem.horizon);
  visit("seed", c.problem.seed);
  visit("scaling", c.scaling);
  visit("norm", c.norm);
  visit("target", c.target);
}

std::string ColumnKey(std::size_t i) {
  return "column." + std::to_string(i);
}

/// Fills fields from texts, and counts those it has used.
class Reader {
 public:
  explicit Reader(const ConfigurationTexts& texts) : texts_(texts) {}

  template <typename T>
  void operator()(const std::string& name, T& value) {
    const auto found = texts_.find(name);
    if (found == texts_.end()) throw Error("the federation's configuration lacks " + name);
    Read(found->second, name, value);
  }
  template <typename T>
  void operator()(const std::string& name, std::optional<T>& value) {
    const auto found = texts_.find(name);
    if (found != texts_.end()) Read(found->second, name, value.emplace());
  }

  void Finish() const {
    if (used_.size() == texts_.size()) return;
    for (const auto& [name, value] : texts_) {
      if (!used_.contains(name)) {
        throw Error("the federation's configuration has " + name +
                    ", which is not known here; is the other side a newer version of polykern?");
      }
    }
  }

 private:
  template <typename T>
  void Read(const std::string& text, const std::string& name, T& value) {
    if (!FromText(text, value)) {
      throw Error("the federation's configuration has the " + name + " '" + text.substr(0, 60) +
                  "', which cannot be read");
    }
    used_.emplace(name, "");
  }

  const ConfigurationTexts& texts_;
  ConfigurationTexts used_;
};

}  // namespace

ConfigurationTexts ToTexts(const FederationConfiguration& configuration) {
  ConfigurationTexts texts;
  VisitFields(configuration, [&]<typename T>(const char* name, const T& value) {
    if constexpr (requires { value.has_value(); }) {
      if (value) texts.emplace(name, ToText(*value));
    } else {
      texts.emplace(name, ToText(value));
    }
  });
  for (std::size_t i = 0; i < configuration.columns.size(); ++i) {
    texts.emplace(ColumnKey(i), ToText(configuration.columns[i]));
  }
  return texts;
}

FederationConfiguration FromTexts(const ConfigurationTexts& texts) {
  FederationConfiguration configuration;
  Reader reader(texts);
  VisitFields(configuration, reader);
  while (texts.contains(ColumnKey(configuration.columns.size()))) {
    const std::string key = ColumnKey(configuration.columns.size());
    reader(key, configuration.columns.emplace_back());
  }
  reader.Finish();
  const std::string& scaling = configuration.scaling;
  if (scaling != "none" && scaling != "norm" && scaling != "range") {
    throw Error("the federation's configuration has the scaling '" + scaling.substr(0, 60) +
                "', which is not known here; is the other side a newer version of polykern?");
  }
  if (configuration.norm <= 0) {
    throw Error("the federation's configuration has a norm that is not above 0");
  }
  const std::size_t columns = configuration.columns.size();
  if (columns == 0 && scaling == "range") {
    throw Error("the federation's configuration scales by ranges, but has no columns");
  }
  if (columns != 0 && columns != configuration.problem.dimension) {
    throw Error("the federation's configuration has " + std::to_string(columns) +
                " columns, but the dimension " + std::to_string(configuration.problem.dimension));
  }
  return configuration;
}

std::string Differences(const ConfigurationTexts& old, const ConfigurationTexts& now) {
  std::string text;
  const auto add = [&](const std::string& key, const std::string& from, const std::string& to) {
    text += (text.empty() ? "" : ", ") + key + ": " + from + " -> " + to;
  };
  for (const auto& [key, value] : old) {
    const auto found = now.find(key);
    if (found == now.end()) add(key, value, "(not set)");
    if (found != now.end() && found->second != value) add(key, value, found->second);
  }
  for (const auto& [key, value] : now) {
    if (!old.contains(key)) add(key, "(not set)", value);
  }
  return text;
}

std::unique_ptr<Algorithm> MakeAlgorithm(const FederationConfiguration& configuration) {
  Problem problem = configuration.problem;
  if (problem.dimension == 0 || problem.dimension > kMostDimension || problem.horizon == 0) {
    throw Error("a federation needs between 1 and " + std::to_string(kMostDimension) +
                " inputs and a horizon of at least 1");
  }
  problem.seed = RepetitionSeed(problem.seed);
  return MakeAlgorithm(configuration.algorithm, configuration.options, problem);
}

}  // namespace polykern
