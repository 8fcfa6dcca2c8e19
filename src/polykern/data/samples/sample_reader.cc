#include "polykern/data/samples/sample_reader.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "polykern/core/error.h"
#include "polykern/core/text.h"
#include "polykern/data/csv.h"
#include "polykern/data/input_columns.h"

namespace polykern {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

constexpr int kDeepest = 32;  // lists in lists, and so on

/// A number, or Error.
double NumberIn(const Cell& cell, const std::string& column, char decimal) {
  double value = 0;
  if (ParseCell(cell.text, value, decimal) == CellKind::kNumber) return value;
  throw Error(Quoted(cell.text) + " in column " + Quoted(column) + " is not a number" +
              (HasDecimalComma(cell.text) && decimal == '.'
                   ? "; if its comma is the decimal one, add " + OptionName("decimal", ",")
                   : ""));
}

double NumberIn(const Json& value, const std::string& name) {
  if (value.is_number()) return value.get<double>();
  throw Error(Quoted(name) + " is not a number");
}

/// A name as JSON, for output and for finding the sample again.
std::string IdOf(const Json& value) {
  std::string id = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (id.size() <= SampleReader::kLongestId) return id;
  throw Error("its name is longer than " + std::to_string(SampleReader::kLongestId) + " bytes");
}

/// What is not JSON becomes a value that is not an object.
Json ParseJson(const std::string& text) {
  const auto not_too_deep = [](int depth, Json::parse_event_t, Json&) {
    if (depth > kDeepest) throw Error("lists are nested too deeply");
    return true;
  };
  return Json::parse(text, not_too_deep, false);
}

}  // namespace

double SampleColumns::PlaceOf(const std::string& column, const std::string& text) const {
  const std::vector<std::string>& known = texts.at(column);
  if (known.empty()) return static_cast<double>(HashedPlace(text));
  const auto found = std::ranges::find(known, text);
  if (found != known.end()) return static_cast<double>(found - known.begin());
  throw Error(Quoted(text) + " in column " + Quoted(column) +
              " is not one of the federation's texts; " + Suggest(text, known));
}

Seconds SampleColumns::TimeOf(std::string_view text) const {
  const auto read = ParseTime(text);
  if (read && (derived.calendar.empty() || IsDate(*read))) return *read;
  throw Error(Quoted(text) + " in column " + Quoted(time) +
              " is not a date; write it as 2026-11-16 08:30");
}

SampleReader::SampleReader(std::istream& input, std::string what, SampleColumns columns)
    : what_(std::move(what)), wanted_(std::move(columns)), lines_(input, what_) {
  if (wanted_.delimiter != wanted_.decimal) return;
  throw Error(what_ + ": a comma cannot divide cells and be the decimal comma; choose another " +
              OptionName("delimiter"));
}

void SampleReader::Want(SampleColumns columns) {
  wanted_ = std::move(columns);
  if (started_ && !json_) FindColumns();
}

bool SampleReader::Next(InputSample& sample) {
  if (!lines_.Next()) return false;
  if (!std::exchange(started_, true)) {
    json_ = lines_.text().find_first_not_of(" \t") == lines_.text().find('{');
    if (!json_) {
      TakeHeader();
      if (!lines_.Next()) return false;
    }
  }
  sample = {};
  sample.read = lines_.read();
  const std::string line = std::to_string(sample.read.line);
  sample.id = line;
  try {
    if (lines_.too_long()) {
      throw Error("longer than " + std::to_string(InputLines::kLongest) + " bytes");
    }
    if (json_) {
      TakeObject(sample);
    } else {
      TakeRow(sample);
    }
  } catch (const Error& error) {
    sample.problem = what_ + ", line " + line + ": " + error.marked();
  }
  return true;
}

std::optional<std::size_t> SampleReader::Find(const std::string& name) const {
  const auto found = places_.find(name);
  if (found == places_.end()) return {};
  return found->second;
}

void SampleReader::TakeHeader() {
  if (lines_.too_long())
    throw Error(what_ + ": its first line is too long; is it CSV or JSON lines?");
  const std::string& text = lines_.text();
  for (const char candidate : {'\t', ';'}) {
    if (text.find(',') == std::string::npos && text.find(candidate) != std::string::npos) {
      delimiter_ = candidate;
    }
  }
  if (wanted_.decimal == ',' && delimiter_ == ',') delimiter_ = ';';
  if (wanted_.delimiter != 0) delimiter_ = wanted_.delimiter;
  RowScanner scanner(text, delimiter_, what_);
  scanner.Next();
  for (const Cell& cell : scanner.cells()) {
    std::string name = cell.Unescape();
    if (!places_.emplace(name, names_.size()).second && !name.empty()) {
      throw Error(what_ + ": two columns are called " + Quoted(name) +
                  "; give every column its own name");
    }
    names_.push_back(std::move(name));
  }
  FindColumns();
}

void SampleReader::FindColumns() {
  const auto require = [&](const std::string& name) {
    const auto column = Find(name);
    if (!column) {
      throw Error(what_ + ": there is no column " + Quoted(name) + "; " + Suggest(name, names_));
    }
    return *column;
  };
  target_column_ = wanted_.labelled ? require(wanted_.target) : Find(wanted_.target);
  id_column_ = Find(wanted_.id);
  time_column_.reset();
  if (!wanted_.time.empty()) time_column_ = require(wanted_.time);
  columns_.clear();
  for (const std::string& name : wanted_.inputs) columns_.push_back(require(name));
  if (!wanted_.inputs.empty()) return;
  for (std::size_t c = 0; c < names_.size(); ++c) {
    if (c != target_column_ && c != id_column_ && c != time_column_) columns_.push_back(c);
  }
  if (columns_.size() != wanted_.dimension) {
    throw Error(what_ + ": has " + std::to_string(columns_.size()) + " input columns beside " +
                Quoted(wanted_.target) + ", but the federation works with " +
                std::to_string(wanted_.dimension));
  }
}

double SampleReader::InputIn(const std::string& column, const Cell& cell) const {
  double ignored = 0;
  if (wanted_.impute && ParseCell(cell.text, ignored) == CellKind::kMissing) return kMissing;
  const bool text = wanted_.texts.contains(column);
  return text ? wanted_.PlaceOf(column, cell.Unescape()) : NumberIn(cell, column, wanted_.decimal);
}

void SampleReader::TakeRow(InputSample& sample) const {
  RowScanner scanner(lines_.text(), delimiter_, what_);
  if (!scanner.Next() || scanner.cells().size() != names_.size()) {
    throw Error(std::to_string(names_.size()) + " cells expected, " +
                std::to_string(scanner.cells().size()) + " found");
  }
  const std::vector<Cell>& cells = scanner.cells();
  double ignored = 0;
  if (target_column_ && ParseCell(cells[*target_column_].text, ignored) != CellKind::kMissing) {
    sample.y = NumberIn(cells[*target_column_], wanted_.target, wanted_.decimal);
  }
  if (id_column_ && !cells[*id_column_].text.empty()) {
    sample.id = IdOf(cells[*id_column_].Unescape());
    sample.named = true;
  }
  const auto is_empty = [&](std::size_t c) { return cells[c].text.empty(); };
  if (sample.named && sample.y && std::ranges::all_of(columns_, is_empty)) return;
  for (const std::size_t c : columns_) sample.x.push_back(InputIn(names_[c], cells[c]));
  if (time_column_) sample.time = wanted_.TimeOf(cells[*time_column_].text);
}

void SampleReader::TakeObject(InputSample& sample) const {
  const Json object = ParseJson(lines_.text());
  if (!object.is_object()) throw Error("not a JSON object");
  const auto label = object.find(wanted_.target);
  if (label != object.end() && !label->is_null()) sample.y = NumberIn(*label, wanted_.target);
  if (const auto id = object.find(wanted_.id); id != object.end()) {
    sample.id = IdOf(*id);
    sample.named = true;
  }
  const auto is_absent = [&](const std::string& name) { return !object.contains(name); };
  const bool no_input =
      wanted_.inputs.empty() ? is_absent("x") : std::ranges::all_of(wanted_.inputs, is_absent);
  if (sample.named && sample.y && no_input) return;
  if (wanted_.inputs.empty()) {
    const auto x = object.find("x");
    if (x == object.end() || !x->is_array()) throw Error("there is no list \"x\"");
    for (const Json& value : *x) sample.x.push_back(NumberIn(value, "x"));
  }
  for (const std::string& name : wanted_.inputs) {
    const auto value = object.find(name);
    if (value == object.end() || value->is_null()) {
      if (!wanted_.impute) throw Error("there is no " + Quoted(name));
      sample.x.push_back(kMissing);
    } else if (wanted_.texts.contains(name)) {
      sample.x.push_back(
          wanted_.PlaceOf(name, value->is_string() ? value->get<std::string>() : value->dump()));
    } else {
      sample.x.push_back(NumberIn(*value, name));
    }
  }
  if (!wanted_.time.empty()) {
    const auto time = object.find(wanted_.time);
    if (time == object.end()) throw Error("there is no " + Quoted(wanted_.time));
    sample.time = wanted_.TimeOf(time->is_string() ? time->get<std::string>() : time->dump());
  }
  if (sample.x.size() != wanted_.dimension) {
    throw Error(std::to_string(sample.x.size()) + " inputs, but the federation works with " +
                std::to_string(wanted_.dimension));
  }
}

}  // namespace polykern
