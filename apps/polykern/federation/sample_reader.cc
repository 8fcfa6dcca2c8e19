#include "federation/sample_reader.h"

#include <algorithm>
#include <ios>
#include <utility>

#include <nlohmann/json.hpp>

#include "polykern/core/text.h"
#include "polykern/data/csv.h"

namespace polykern {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kNone = static_cast<std::size_t>(-1);
constexpr int kEnd = std::istream::traits_type::eof();
constexpr int kDeepest = 32;                             // lists in lists, and so on
constexpr std::uint64_t kFirstSum = 0xcbf29ce484222325;  // FNV-1a
constexpr std::uint64_t kSumFactor = 0x100000001b3;

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

/// A name as JSON, for output and for finding the sample again.
std::string IdOf(const Json& value) {
  std::string id = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (id.size() <= SampleReader::kLongestId) return id;
  throw Error("its name is longer than " + std::to_string(SampleReader::kLongestId) + " bytes");
}

/// Anything that is no JSON becomes a value that is no object.
Json ParseJson(const std::string& text) {
  const auto not_too_deep = [](int depth, Json::parse_event_t, Json&) {
    if (depth > kDeepest) throw Error("lists within lists, too deep");
    return true;
  };
  return Json::parse(text, not_too_deep, false);
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
      id_(options.id),
      read_{.sum = kFirstSum} {
  for (const ColumnRange& column : federation.columns) inputs_.push_back(column.name);
}

bool SampleReader::BeginsWith(const InputPosition& before) {
  const auto beginning = input_.rdbuf()->pubseekoff(0, std::ios::cur, std::ios::in);
  while (read_.bytes < before.bytes && ReadByte() != kEnd) {
  }
  const bool same = read_.bytes == before.bytes && read_.sum == before.sum;
  read_ = {.sum = kFirstSum};
  input_.rdbuf()->pubseekpos(beginning, std::ios::in);
  return same;
}

/// The next byte, counted and summed; kEnd at the end of the input.
int SampleReader::ReadByte() {
  int c = kEnd;
  try {
    c = input_.rdbuf()->sbumpc();
  } catch (const std::ios_base::failure& error) {
    throw BrokenInput(what_ + ", line " + std::to_string(read_.line + 1) + ": cannot be read (" +
                      error.code().message() + ")");
  }
  if (c == kEnd) return c;
  ++read_.bytes;
  read_.sum = (read_.sum ^ static_cast<std::uint64_t>(c)) * kSumFactor;
  return c;
}

/// The next line without its end, or as much of it as may be; false at the end of the input.
bool SampleReader::ReadBytes() {
  text_.clear();
  too_long_ = false;
  for (bool any = false;; any = true) {
    const int c = ReadByte();
    if (c == kEnd) return any;
    if (c == '\n') return true;
    if (text_.size() < kLongestLine) {
      text_.push_back(static_cast<char>(c));
    } else {
      too_long_ = true;
    }
  }
}

bool SampleReader::ReadLine() {
  while (ReadBytes()) {
    ++read_.line;
    if (text_.ends_with('\r')) text_.pop_back();
    if (read_.line == 1 && text_.starts_with("\xef\xbb\xbf")) text_.erase(0, 3);
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
  sample.read = read_;
  sample.id = std::to_string(read_.line);
  try {
    if (too_long_) throw Error("longer than " + std::to_string(kLongestLine) + " bytes");
    if (json_) {
      TakeObject(sample);
    } else {
      TakeRow(sample);
    }
  } catch (const Error& error) {
    sample.problem = what_ + ", line " + std::to_string(read_.line) + ": " + error.marked();
  }
  return true;
}

std::size_t SampleReader::Find(const std::string& name) const {
  const auto found = std::ranges::find(names_, name);
  return found == names_.end() ? kNone : static_cast<std::size_t>(found - names_.begin());
}

void SampleReader::TakeHeader() {
  if (too_long_) throw Error(what_ + ": its first line is too long; is it CSV or JSON lines?");
  for (const char candidate : {'\t', ';'}) {
    if (text_.find(',') == std::string::npos && text_.find(candidate) != std::string::npos) {
      delimiter_ = candidate;
    }
  }
  RowScanner scanner(text_, delimiter_, what_);
  scanner.Next();
  for (const Cell& cell : scanner.cells()) {
    std::string name = cell.Unescape();
    if (!name.empty() && Find(name) != kNone) {
      throw Error(what_ + ": two columns are called " + Quoted(name) +
                  "; give every column its own name");
    }
    names_.push_back(std::move(name));
  }
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
  double ignored = 0;
  if (ParseCell(cells[target_column_].text, ignored) != CellKind::kMissing) {
    sample.y = NumberIn(cells[target_column_], target_);
  }
  if (id_column_ && !cells[*id_column_].text.empty()) {
    sample.id = IdOf(cells[*id_column_].Unescape());
    sample.named = true;
  }
  const auto is_empty = [&](std::size_t c) { return cells[c].text.empty(); };
  if (sample.named && sample.y && std::ranges::all_of(columns_, is_empty)) return;
  for (const std::size_t c : columns_) sample.x.push_back(NumberIn(cells[c], names_[c]));
}

void SampleReader::TakeObject(InputSample& sample) const {
  const Json object = ParseJson(text_);
  if (!object.is_object()) throw Error("not a JSON object");
  const auto label = object.find(target_);
  if (label != object.end() && !label->is_null()) sample.y = NumberIn(*label, target_);
  if (const auto id = object.find(id_); id != object.end()) {
    sample.id = IdOf(*id);
    sample.named = true;
  }
  const auto is_absent = [&](const std::string& name) { return !object.contains(name); };
  const bool no_input = inputs_.empty() ? is_absent("x") : std::ranges::all_of(inputs_, is_absent);
  if (sample.named && sample.y && no_input) return;
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
}

}  // namespace polykern
