#include "polykern/net/made_inputs.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "polykern/core/error.h"
#include "polykern/core/text.h"

namespace polykern {
namespace {

constexpr std::size_t kLongestLag = 100'000;
constexpr std::size_t kFarthest = 1000;  // ahead: so many samples are in an agent's state
constexpr std::array<std::string_view, 3> kCalendars = {"hour", "weekday", "month"};

[[noreturn]] void Refuse(const std::string& what) {
  throw Error("the federation's configuration has " + what);
}

/// Those of a column of texts.
std::vector<ColumnRange> InputsOf(const TextColumn& column) {
  std::vector<ColumnRange> inputs;
  for (const std::string& text : column.texts) inputs.push_back({column.name + "=" + text, -1, 1});
  for (std::size_t i = inputs.size(); i < column.inputs(); ++i) {
    inputs.push_back({column.name + "#" + std::to_string(i), -1, 1});
  }
  return inputs;
}

void CheckLags(const FederationConfiguration& c) {
  const std::size_t ahead = c.problem.ahead;
  if (ahead == 0 || ahead > kFarthest) {
    Refuse("the ahead " + std::to_string(ahead) + ", which is not between 1 and " +
           std::to_string(kFarthest));
  }
  for (const std::size_t lag : c.lags) {
    if (lag == 0 || lag >= ahead) continue;
    Refuse("the lag " + std::to_string(lag) + ", which is not known " + std::to_string(ahead) +
           " steps ahead; choose at least " + std::to_string(ahead));
  }
  for (const std::size_t lag : c.lags) {
    if (lag > 0 && lag <= kLongestLag && std::ranges::count(c.lags, lag) == 1) continue;
    const std::string all =
        Joined(c.lags, ",", [](std::size_t one) { return std::to_string(one); });
    Refuse("the lags '" + all.substr(0, 60) + "', which are not different numbers from 1 to " +
           std::to_string(kLongestLag));
  }
}

void CheckCalendar(const FederationConfiguration& c) {
  for (const std::string& name : c.calendar) {
    if (std::ranges::count(kCalendars, name) == 0) {
      Refuse("the calendar '" + name.substr(0, 60) +
             "', which is not known here; is the other side a newer version of polykern?");
    }
    if (std::ranges::count(c.calendar, name) > 1) Refuse("a calendar that names something twice");
  }
  if (!c.calendar.empty() && c.time.empty()) Refuse("a calendar without a column of times");
}

/// All names of columns are those that AddMadeColumns gives.
void CheckNames(const FederationConfiguration& c) {
  FederationConfiguration made = c;
  TakeMadeColumnsOut(made);
  AddMadeColumns(made);
  if (!std::ranges::equal(made.columns, c.columns, {}, &ColumnRange::name, &ColumnRange::name)) {
    Refuse("other columns than its categories and missing values make");
  }
}

}  // namespace

TextColumn ParseTextColumn(const std::string& text) {
  const std::size_t equals = text.find('=');
  TextColumn column{text.substr(0, equals), {}};
  for (std::size_t begin = equals; begin < text.size();) {
    const std::size_t end = std::min(text.find(':', begin + 1), text.size());
    column.texts.push_back(text.substr(begin + 1, end - begin - 1));
    begin = end;
  }
  const auto wrong = [&](const std::string& one) {
    return one.empty() || one.find(',') != std::string::npos ||
           std::ranges::count(column.texts, one) > 1;
  };
  if (wrong(column.name) || std::ranges::any_of(column.texts, wrong) ||
      (equals != std::string::npos && column.texts.empty())) {
    throw Error(OptionName("categories") + " has " + Quoted(text) +
                ", which is not of the form COLUMN=TEXT:TEXT:.. with different texts, or COLUMN");
  }
  if (column.texts.size() > kMostTexts) {
    throw Error(OptionName("categories") + " has more than " + std::to_string(kMostTexts) +
                " texts of " + Quoted(column.name) +
                "; name the column alone, and its texts share as many inputs by their hash");
  }
  return column;
}

// What a configuration says of its samples.

std::vector<TextColumn> FederationConfiguration::text_columns() const {
  std::vector<TextColumn> texts;
  for (const std::string& text : categories) texts.push_back(ParseTextColumn(text));
  return texts;
}

std::size_t FederationConfiguration::own_inputs() const {
  return columns.empty() ? problem.dimension : own_columns().size();
}

std::vector<std::string> FederationConfiguration::own_columns() const {
  FederationConfiguration own = *this;
  TakeMadeColumnsOut(own);
  std::vector<std::string> names;
  for (const ColumnRange& column : own.columns) names.push_back(column.name);
  return names;
}

void AddMadeColumns(FederationConfiguration& federation) {
  if (!federation.makes_inputs()) return;
  const std::vector<TextColumn> texts = federation.text_columns();
  std::vector<ColumnRange> columns;
  std::vector<ColumnRange> marks;
  for (const ColumnRange& column : federation.columns) {
    const auto text = std::ranges::find(texts, column.name, &TextColumn::name);
    const std::vector<ColumnRange> inputs =
        text == texts.end() ? std::vector{column} : InputsOf(*text);
    columns.insert(columns.end(), inputs.begin(), inputs.end());
    if (federation.imputes()) marks.push_back({column.name + ".missing", -1, 1});
  }
  columns.insert(columns.end(), marks.begin(), marks.end());
  const ColumnRange& label = federation.target;
  for (const std::size_t lag : federation.lags) {
    columns.push_back({label.name + ".lag" + std::to_string(lag), label.low, label.high});
  }
  for (const std::string& name : federation.calendar) {
    columns.push_back({name + ".sin", -1, 1});
    columns.push_back({name + ".cos", -1, 1});
  }
  federation.columns = std::move(columns);
  federation.problem.dimension = federation.columns.size();
}

void TakeMadeColumnsOut(FederationConfiguration& federation) {
  if (!federation.makes_inputs()) return;
  const std::vector<TextColumn> texts = federation.text_columns();
  std::size_t more = 0;  // inputs than columns, because of texts
  for (const TextColumn& text : texts) more += text.inputs() - 1;
  const std::size_t least = federation.derived_inputs() + more;
  const std::size_t all = federation.columns.size();
  if (all <= least || (federation.imputes() && (all - least) % 2 != 0)) {
    Refuse("too few columns for its lags, calendar, categories and missing values");
  }
  const std::size_t own = (all - least) / (federation.imputes() ? 2 : 1);
  federation.columns.resize(own + more);
  for (const TextColumn& text : texts) {
    const auto first =
        std::ranges::find(federation.columns, InputsOf(text).front().name, &ColumnRange::name);
    const auto left = static_cast<std::size_t>(federation.columns.end() - first);
    if (left < text.inputs()) Refuse("no columns for the texts of " + Quoted(text.name));
    *first = {text.name, 0, 1};
    federation.columns.erase(first + 1, first + static_cast<std::ptrdiff_t>(text.inputs()));
  }
  federation.problem.dimension = federation.columns.size();
}

void CheckMadeInputs(const FederationConfiguration& c) {
  CheckLags(c);
  CheckCalendar(c);
  if (!c.missing.empty() && !c.imputes()) {
    Refuse("the missing values '" + c.missing.substr(0, 60) +
           "', which is not known here; is the other side a newer version of polykern?");
  }
  const std::vector<TextColumn> texts = c.text_columns();
  for (const TextColumn& text : texts) {
    if (std::ranges::count(texts, text.name, &TextColumn::name) > 1) {
      Refuse("categories that name " + Quoted(text.name) + " twice");
    }
  }
  if (!c.makes_inputs()) return;
  if (c.columns.size() <= c.derived_inputs() || c.scaling != "range" || !c.ScalesLabels()) {
    Refuse(
        "lags, a calendar, categories or missing values, which need columns with names and ranges, "
        "and a range of the labels");
  }
  if (!c.missing.empty() || !texts.empty()) CheckNames(c);
}

}  // namespace polykern
