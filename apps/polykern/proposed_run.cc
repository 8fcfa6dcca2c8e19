#include "proposed_run.h"

#include <array>
#include <cstdio>
#include <utility>
#include <vector>

#include "polykern/core/text.h"

namespace polykern {
namespace {

/// An option with its values.
using Given = std::pair<std::string, std::vector<std::string>>;

constexpr std::size_t kMostRanges = 20;
constexpr std::size_t kWidth = 96;

std::vector<std::string> Ranges(const SourceOptions& options, bool all) {
  const bool few = options.ranges.size() <= kMostRanges;
  std::vector<std::string> ranges;
  for (const auto& [column, range] : options.ranges) {
    if (!all && !few && column != options.target) continue;
    ranges.push_back(column + "=" + ExactText(range.low) + ":" + ExactText(range.high));
  }
  return ranges;
}

std::vector<Given> GivenOf(const SourceOptions& options, bool all_ranges) {
  std::vector<Given> given;
  const auto add = [&](const char* name, const std::vector<std::string>& values) {
    if (!values.empty()) given.emplace_back(name, values);
  };
  const auto one = [&](const char* name, const std::string& value) {
    if (!value.empty()) given.emplace_back(name, std::vector<std::string>{value});
  };
  add("data", options.data);
  if (options.delimiter != 0) one("delimiter", {options.delimiter});
  if (options.decimal != '.') one("decimal", {options.decimal});
  one("target", options.target);
  one("site", options.site);
  one("client", options.client);
  add("time", options.time);
  std::vector<std::string> lags;
  for (const std::size_t lag : options.derived.lags) lags.push_back(std::to_string(lag));
  add("lags", lags);
  std::vector<std::string> calendar;
  for (const Calendar name : options.derived.calendar) calendar.emplace_back(CalendarName(name));
  add("calendar", calendar);
  add("inputs", options.features);
  add("categorical", options.categorical);
  if (options.categories != Categories::kOneHot)
    one("categories", CategoriesName(options.categories));
  add("exclude", options.exclude);
  if (options.missing != MissingPolicy::kDrop) one("missing", MissingName(options.missing));
  if (options.scaling == Scaling::kRange) one("scaling", "range");
  add("range", Ranges(options, all_ranges));
  return given;
}

/// "--range a=0:1,b=0:2": as often as the lines need.
std::vector<std::string> OptionWords(const Given& given) {
  std::vector<std::string> words;
  std::vector<std::string> some;
  std::size_t width = 0;
  const auto finish = [&] {
    words.push_back("--" + given.first + " " + ShellWord(Joined(some, ",")));
    some.clear();
    width = given.first.size() + 8;
  };
  width = given.first.size() + 8;
  for (const std::string& value : given.second) {
    if (!some.empty() && width + value.size() + 1 > kWidth) finish();
    some.push_back(value);
    width += value.size() + 1;
  }
  finish();
  return words;
}

/// A text of TOML.
std::string TomlText(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20 || byte == 0x7F) {
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\u%04X", static_cast<unsigned>(byte));
      quoted += escape.data();
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

}  // namespace

std::string OneLine(const SourceOptions& options) {
  std::string text = "polykern run";
  for (const Given& given : GivenOf(options, false)) {
    text += " --" + given.first + " " + ShellWord(Joined(given.second, ","));
  }
  return text;
}

std::string ShortLines(const SourceOptions& options) {
  std::string text = "polykern run";
  std::size_t width = text.size();
  for (const Given& given : GivenOf(options, false)) {
    for (const std::string& word : OptionWords(given)) {
      if (width + 1 + word.size() > kWidth) {
        text += " \\\n ";
        width = 1;
      }
      text += " " + word;
      width += 1 + word.size();
    }
  }
  return text;
}

std::string AsToml(const SourceOptions& options) {
  std::string text = "[run]\n";
  for (const auto& [name, values] : GivenOf(options, true)) {
    if (values.size() == 1) {
      text += name + " = " + TomlText(values.front()) + "\n";
      continue;
    }
    text += name + " = [\n";
    for (const std::string& value : values) text += "  " + TomlText(value) + ",\n";
    text += "]\n";
  }
  return text;
}

}  // namespace polykern
