#include "polykern/algorithms/option_values.h"

#include <algorithm>
#include <concepts>
#include <type_traits>
#include <utility>

#include "polykern/core/error.h"
#include "polykern/core/kernels.h"
#include "polykern/core/names.h"
#include "polykern/core/text.h"

namespace polykern {
namespace {

template <typename T>
concept Number = std::same_as<T, std::size_t> || std::same_as<T, double>;

std::string ToText(const std::string& value) {
  return value;
}
template <Number T>
std::string ToText(T value) {
  return ExactText(value);
}
std::string ToText(bool value) {
  return value ? "yes" : "no";
}
template <typename T>
requires std::is_enum_v<T> std::string ToText(T value) {
  return std::string(NameOf(value));
}
template <typename T>
std::string ToText(const std::optional<T>& value) {
  return value ? ToText(*value) : "";
}

/// Each fills `value`, or says what the text should have been.
std::string FromText(std::string_view text, std::string& value) {
  value = text;
  return "";
}
template <Number T>
std::string FromText(std::string_view text, T& value) {
  return ReadExact(text, value) ? "" : "is not a number";
}
std::string FromText(std::string_view text, bool& value) {
  value = text == "yes";
  return value || text == "no" ? "" : "is neither yes nor no";
}
template <typename T>
requires std::is_enum_v<T> std::string FromText(std::string_view text, T& value) {
  const std::optional<T> known = ValueOf<T>(text);
  if (known) value = *known;
  return known ? "" : "is not known; there are: " + AllNames<T>();
}
template <typename T>
std::string FromText(std::string_view text, std::optional<T>& value) {
  value.reset();
  return text.empty() ? "" : FromText(text, value.emplace());
}

/// The text as a value of the option; see FromText.
template <typename T>
std::string ReadOption(const OptionDeclaration& option, std::string_view text, T& value) {
  if constexpr (std::same_as<T, double>) {
    if (!option.zero.empty()) {
      value = 0;
      if (text == option.zero) return "";
      const bool good = FromText(text, value).empty() && value != 0;
      return good ? "" : "is neither " + std::string(option.zero) + " nor a number above 0";
    }
  }
  return FromText(text, value);
}

void Require(bool holds, std::string_view key, const AlgorithmOptions& options,
             const std::string& rule) {
  if (holds) return;
  throw Error(OptionName(key) + " is " + OptionText(*FindOption(key), options) + "; " + rule);
}

std::string Describe(const Uplink& uplink) {
  return std::string(uplink.algorithm) + " sends " + std::to_string(uplink.kernels) + " kernels" +
         (uplink.losses > 0 ? " and " + std::to_string(uplink.losses) + " losses" : "");
}

}  // namespace

bool IsNumber(const OptionDeclaration& option) {
  return std::visit(
      []<typename T>(T AlgorithmOptions::*) {
        return Number<T> || std::same_as<T, std::optional<std::size_t>> ||
               std::same_as<T, std::optional<double>>;
      },
      option.field);
}

bool HasNamedZero(const OptionDeclaration& option, const AlgorithmOptions& options) {
  const auto* field = std::get_if<double AlgorithmOptions::*>(&option.field);
  return !option.zero.empty() && field != nullptr && options.*(*field) == 0;
}

std::string OptionText(const OptionDeclaration& option, const AlgorithmOptions& options) {
  if (HasNamedZero(option, options)) return std::string(option.zero);
  return std::visit([&](auto field) { return ToText(options.*field); }, option.field);
}

std::vector<std::string> OptionChoices(const OptionDeclaration& option) {
  std::vector<std::string> choices;
  std::visit(
      [&]<typename T>(T AlgorithmOptions::*) {
        if constexpr (std::is_enum_v<T>) {
          for (const Name<T>& name : NamesOf(T{})) choices.emplace_back(name.text);
        }
      },
      option.field);
  return choices;
}

std::string OptionComplaint(const OptionDeclaration& option, std::string_view text) {
  const std::string wrong = std::visit(
      [&]<typename T>(T AlgorithmOptions::*) -> std::string {
        T value{};
        std::string complaint = ReadOption(option, text, value);
        if constexpr (std::same_as<T, std::size_t> || std::same_as<T, std::optional<std::size_t>>) {
          const std::optional<std::size_t> number = value;
          const double least = std::max(0.0, option.range.low);
          if (!complaint.empty() || (number && static_cast<double>(*number) < least)) {
            complaint = "is not a whole number of at least " + ToText(least);
          }
        }
        return complaint;
      },
      option.field);
  if (wrong.empty()) return "";
  const bool list = IsNumber(option) && text.find(',') != std::string_view::npos;
  return "'" + std::string(text.substr(0, 60)) + "' " + wrong + (list ? ", but a list" : "");
}

void SetOption(const OptionDeclaration& option, std::string_view text, AlgorithmOptions& options) {
  const bool good = std::visit(
      [&](auto field) {
        auto value = options.*field;
        if (!ReadOption(option, text, value).empty()) return false;
        options.*field = std::move(value);
        return true;
      },
      option.field);
  if (!good) throw Error(OptionName(option.key) + ": " + OptionComplaint(option, text));
}

void CheckRange(const OptionDeclaration& option, const AlgorithmOptions& options) {
  const auto check = [&](auto value) {
    if constexpr (Number<decltype(value)>) {
      if (option.range.Holds(static_cast<double>(value)) || HasNamedZero(option, options)) return;
      throw Error(OptionName(option.key) + " is " + ToText(value) + "; " + option.range.Rule() +
                  (option.zero.empty() ? "" : ", or be " + std::string(option.zero)));
    }
  };
  std::visit(
      [&](auto field) {
        const auto& value = options.*field;
        if constexpr (requires { value.has_value(); }) {
          if (value) check(*value);
        } else {
          check(value);
        }
      },
      option.field);
}

AlgorithmOptions AbsentOptions() {
  AlgorithmOptions options;
  for (const OptionDeclaration& option : kAlgorithmOptions) {
    SetOption(option, option.absent, options);
  }
  return options;
}

void CheckOptions(const AlgorithmOptions& options, const Uplink& uplink) {
  for (const OptionDeclaration& option : kAlgorithmOptions) CheckRange(option, options);
  for (const Kernel& kernel : MakeDictionary(options.dictionary, options.kernels)) {
    Require(!options.orthogonal || IsIsotropic(kernel.kind), "dictionary", options,
            "it cannot have orthogonal features: leave out " + OptionName("orthogonal"));
    Require(!options.shared_draws || kernel.kind == KernelKind::kGaussian, "dictionary", options,
            "only gaussian kernels can share a draw: leave out " + OptionName("shared_draws"));
  }
  Require(!options.orthogonal || !options.shared_draws, "orthogonal", options,
          "it cannot be combined with " + OptionName("shared_draws") + ": choose one");
  Require(options.kernels_per_upload.value_or(1) <= options.kernels, "kernels_per_upload", options,
          "the dictionary has only " + std::to_string(options.kernels) + " kernels");
  const std::size_t allowed = AllowedFeatures(options, uplink);
  Require(allowed > 0, "budget", options,
          Describe(uplink) + ", with one feature " +
              std::to_string(2 * uplink.kernels + uplink.losses) +
              " numbers: raise it, or choose others with " + OptionName("kernels_per_upload") +
              " or " + OptionName("algorithm"));
  Require(options.features.value_or(1) <= allowed, "features", options,
          Describe(uplink) + ", so the budget of " + std::to_string(options.budget) +
              " numbers allows " + std::to_string(allowed) + ": lower it or raise " +
              OptionName("budget"));
}

}  // namespace polykern
