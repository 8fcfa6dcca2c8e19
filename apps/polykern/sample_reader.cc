#include "sample_reader.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "polykern/core/error.h"
#include "polykern/data/csv.h"
#include "polykern/data/text.h"

namespace polykern {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// A number, or Error.
double NumberIn(const Cell& cell, const std::string& column) {
  double value = 0;
  if (ParseCell(cell.text, value) == CellKind::kNumber) return value;
  throw Error(Quoted(cell.text) + " in column " + Quoted(column) + " is not a number");
}

double NumberIn(const Json& value, const std::string& name) {
  if (value.is_number()) return value.get<double>();
  throw Error(Quoted(name) + " is not a number");
}

}  // namespace

SampleReader::SampleReader(std::istream& input, std::string what,
                           const FederationConfiguration& federation, const ReaderOptions& options)
    : input_(input),
      what_(std::move(what)),
      dimension_(federation.problem.dimension),
      target_(!options.target.empty()           ? options.target
              : !federation.target.name.empty() ? federation.target.name
                                                : "y"),
      id_(options.id) {
  for (const ColumnRange& column : federation.columns) inputs_.push_back(column.name);
}

bool SampleReader::ReadLine() {
  while (std::getline(input_, text_)) {
    ++line_;
    if (text_.ends_with('\r')) text_.pop_back();
    if (line_ == 1 && text_.starts_with("\xef\xbb\xbf")) text_.erase(0, 3);
    if (text_.find_first_not_of(" \t") != std::string::npos) return true;
  }
  return false;
}

bool SampleReader::Next(InputSample& sample) {
  if (!ReadLine()) return false;
  if (!std::exchange(started_, true)) {
    json_ = text_.find_first_not_of(" \t") == text_.find('{');
    if (!json_) {
      TakeHeader();
      if (!ReadLine()) return false;
    }
  }
  sample = {};
  sample.line = line_;
  sample.id = std::to_string(line_);
  try {
    if (json_) {
      TakeObject(sample);
    } else {
      TakeRow(sample);
    }
  } catch (const Error& error) {
    sample.problem = what_ + ", line " + std::to_string(line_) + ": " + error.what();
  }
  return true;
}

std::size_t SampleReader::Find(const std::string& name) const {
  const auto found = std::ranges::find(names_, name);
  return found == names_.end() ? kNone : static_cast<std::size_t>(found - names_.begin());
}

void SampleReader::TakeHeader() {
  for (const char candidate : {'\t', ';'}) {
    if (text_.find(',') == std::string::npos && text_.find(candidate) != std::string::npos) {
      delimiter_ = candidate;
    }
  }
  RowScanner scanner(text_, delimiter_, what_);
  scanner.Next();
  for (const Cell& cell : scanner.cells()) names_.push_back(cell.Unescape());
  const auto require = [&](const std::string& name) {
    const std::size_t column = Find(name);
    if (column == kNone) {
      throw Error(what_ + ": there is no column " + Quoted(name) + "; " + Suggest(name, names_));
    }
    return column;
  };
  target_column_ = require(target_);
  if (Find(id_) != kNone) id_column_ = Find(id_);
  for (const std::string& name : inputs_) columns_.push_back(require(name));
  if (!inputs_.empty()) return;
  for (std::size_t c = 0; c < names_.size(); ++c) {
    if (c != target_column_ && c != id_column_) columns_.push_back(c);
  }
  if (columns_.size() != dimension_) {
    throw Error(what_ + ": has " + std::to_string(columns_.size()) + " input columns beside " +
                Quoted(target_) + ", but the federation works with " + std::to_string(dimension_));
  }
}

void SampleReader::TakeRow(InputSample& sample) const {
  RowScanner scanner(text_, delimiter_, what_);
  if (!scanner.Next() || scanner.cells().size() != names_.size()) {
    throw Error(std::to_string(names_.size()) + " cells expected, " +
                std::to_string(scanner.cells().size()) + " found");
  }
  const std::vector<Cell>& cells = scanner.cells();
  for (const std::size_t c : columns_) sample.x.push_back(NumberIn(cells[c], names_[c]));
  double ignored = 0;
  if (ParseCell(cells[target_column_].text, ignored) != CellKind::kMissing) {
    sample.y = NumberIn(cells[target_column_], target_);
  }
  if (id_column_)
    sample.id =
        Json(cells[*id_column_].Unescape()).dump(-1, ' ', false, Json::error_handler_t::replace);
}

void SampleReader::TakeObject(InputSample& sample) const {
  const Json object = Json::parse(text_, nullptr, false);
  if (!object.is_object()) throw Error("not a JSON object");
  if (inputs_.empty()) {
    const auto x = object.find("x");
    if (x == object.end() || !x->is_array()) throw Error("there is no list \"x\"");
    for (const Json& value : *x) sample.x.push_back(NumberIn(value, "x"));
  }
  for (const std::string& name : inputs_) {
    const auto value = object.find(name);
    if (value == object.end()) throw Error("there is no " + Quoted(name));
    sample.x.push_back(NumberIn(*value, name));
  }
  if (sample.x.size() != dimension_) {
    throw Error(std::to_string(sample.x.size()) + " inputs, but the federation works with " +
                std::to_string(dimension_));
  }
  const auto label = object.find(target_);
  if (label != object.end() && !label->is_null()) sample.y = NumberIn(*label, target_);
  const auto id = object.find(id_);
  if (id != object.end()) sample.id = id->dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace polykern
