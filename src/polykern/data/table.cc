#include "polykern/data/table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <unordered_map>

#include "polykern/core/error.h"
#include "polykern/core/text.h"

namespace polykern {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

/// A column that is read.
struct Reader {
  std::size_t index = 0;  ///< in the file
  bool text = false;      ///< coded, not parsed
  bool key = false;       ///< one code for all files
  bool must_be = false;   ///< a row without it is of no use
  std::size_t missing = 0;
  std::unordered_map<std::string, std::size_t> codes;
};

std::size_t IndexOf(const std::vector<std::string>& names, std::string_view wanted) {
  const auto it = std::ranges::find(names, wanted);
  return it == names.end() ? kNone : static_cast<std::size_t>(it - names.begin());
}

std::size_t Locate(const std::vector<std::string>& names, const std::string& wanted,
                   const std::string& path) {
  const std::size_t index = IndexOf(names, wanted);
  if (index == kNone) {
    throw Error(path + ": there is no column " + Quoted(wanted) + "; " + Suggest(wanted, names));
  }
  return index;
}

std::string Place(const CsvFile& file, std::size_t line, std::size_t column) {
  return file.path + ", line " + std::to_string(line) + ", column " + Quoted(file.names[column]) +
         ": ";
}

/// For each column, the kind of its first value; kMissing if it has none. Says in `comma` where the
/// first one has a decimal comma that is not expected.
std::vector<CellKind> FirstKinds(const CsvFile& file, std::string& comma) {
  std::vector<CellKind> kinds(file.names.size(), CellKind::kMissing);
  std::size_t open = kinds.size();
  RowScanner rows = file.Rows();
  while (open > 0 && rows.Next()) {
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      if (kinds[i] != CellKind::kMissing) continue;
      double ignored = 0;
      const std::string_view text = rows.cells()[i].text;
      kinds[i] = ParseCell(text, ignored, file.decimal);
      if (comma.empty() && kinds[i] == CellKind::kText && HasDecimalComma(text)) {
        comma = Place(file, rows.line(), i) + Quoted(text) +
                " has a decimal comma, and the column " + "is not read; add " +
                OptionName("decimal", ",");
      }
      if (kinds[i] != CellKind::kMissing) --open;
    }
  }
  return kinds;
}

std::vector<std::size_t> FindTimes(const CsvFile& file, const ColumnChoice& choice) {
  constexpr std::size_t kParts = 6;
  std::vector<std::size_t> columns;
  for (const std::string& name : choice.time) {
    columns.push_back(Locate(file.names, name, file.path));
  }
  if (columns.size() == 2 || columns.size() > kParts) {
    throw Error(OptionName("time") + " names " + std::to_string(columns.size()) +
                " columns; give one, or the columns of year, month, day and as many of hour, " +
                "minute and second as there are");
  }
  return columns;
}

std::vector<Reader> ChooseColumns(const CsvFile& file, const ColumnChoice& choice,
                                  std::string& comma) {
  enum class Role { kUnused, kNumber, kCategorical, kKey };
  std::vector<Role> roles(file.names.size(), Role::kUnused);
  const auto assign = [&](const std::vector<std::string>& names, Role role) {
    for (const std::string& name : names) roles[Locate(file.names, name, file.path)] = role;
  };
  if (choice.other_numbers) {
    const std::vector<CellKind> kinds = FirstKinds(file, comma);
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      if (kinds[i] == CellKind::kNumber) roles[i] = Role::kNumber;
    }
  }
  assign(choice.exclude, Role::kUnused);
  assign(choice.time, Role::kUnused);
  assign(choice.columns, Role::kNumber);
  assign(choice.categorical, Role::kCategorical);
  assign(choice.keys, Role::kKey);
  std::vector<Reader> readers;
  for (std::size_t i = 0; i < roles.size(); ++i) {
    if (roles[i] == Role::kUnused) continue;
    Reader reader;
    reader.index = i;
    reader.text = roles[i] != Role::kNumber;
    reader.key = roles[i] == Role::kKey;
    reader.must_be =
        reader.key || std::ranges::find(choice.must_be, file.names[i]) != choice.must_be.end();
    readers.push_back(std::move(reader));
  }
  if (readers.empty()) {
    throw Error(file.path + ": no column is left to read; choose columns that hold numbers");
  }
  return readers;
}

void CheckSameColumns(const CsvFile& file, const CsvFile& first) {
  const std::string where = file.path + ": its columns differ from those of " + first.path;
  if (file.names.size() != first.names.size()) {
    throw Error(where + " (" + std::to_string(file.names.size()) + " columns, not " +
                std::to_string(first.names.size()) + "); give both files the same columns");
  }
  for (std::size_t i = 0; i < file.names.size(); ++i) {
    if (file.names[i] == first.names[i]) continue;
    throw Error(where + " (column " + std::to_string(i + 1) + " is " + Quoted(file.names[i]) +
                ", not " + Quoted(first.names[i]) + "); give both files the same columns");
  }
}

[[noreturn]] void ThrowNotANumber(const CsvFile& file, std::size_t line, std::size_t column,
                                  std::string_view text) {
  throw Error(
      Place(file, line, column) + Quoted(text) + " is not a number; " +
      (HasDecimalComma(text) && file.decimal == '.'
           ? "if its comma is the decimal one, add " + OptionName("decimal", ",")
           : std::string("correct it, name the column as categorical, or leave the column out")));
}

/// The time of a row; false if it is missing.
bool ReadTime(const CsvFile& file, const RowScanner& rows, std::span<const std::size_t> columns,
              Seconds& time) {
  std::vector<double> parts;
  for (const std::size_t column : columns) {
    const std::string_view text = rows.cells()[column].text;
    if (ParseCell(text, parts.emplace_back(), file.decimal) == CellKind::kMissing) return false;
  }
  const auto found =
      columns.size() == 1 ? ParseTime(rows.cells()[columns.front()].text) : TimeOfParts(parts);
  if (!found) {
    throw Error(Place(file, rows.line(), columns.front()) +
                Quoted(rows.cells()[columns.front()].text) +
                (columns.size() == 1
                     ? " is not a time; write it as 2026-11-16 08:30, or as a number"
                     : " and the columns with it are not a date and a clock; correct them"));
  }
  time = *found;
  return true;
}

/// Turns the cells of a row into `out`; false if a value is missing.
bool ReadRow(const CsvFile& file, const RowScanner& rows, MissingPolicy policy,
             std::vector<Reader>& readers, double* out) {
  bool complete = true;
  for (std::size_t i = 0; i < readers.size(); ++i) {
    Reader& reader = readers[i];
    const std::string_view text = rows.cells()[reader.index].text;
    out[i] = 0;
    const CellKind kind = ParseCell(text, out[i], file.decimal);
    if (kind == CellKind::kMissing) {
      if (policy == MissingPolicy::kError) {
        throw Error(Place(file, rows.line(), reader.index) + "the value is missing (" +
                    Quoted(text) + "); fill it in, or let such rows be dropped (" +
                    OptionName("missing", "drop") + ")");
      }
      ++reader.missing;
      out[i] = std::numeric_limits<double>::quiet_NaN();
      complete = complete && policy == MissingPolicy::kImpute && !reader.must_be;
    } else if (kind == CellKind::kText && !reader.text) {
      ThrowNotANumber(file, rows.line(), reader.index, text);
    }
  }
  if (!complete) return false;
  for (std::size_t i = 0; i < readers.size(); ++i) {  // only rows that stay give new codes
    if (!readers[i].text || std::isnan(out[i])) continue;
    auto& codes = readers[i].codes;
    const std::size_t next = codes.size();
    const std::string label = rows.cells()[readers[i].index].Unescape();
    out[i] = static_cast<double>(codes.emplace(label, next).first->second);
  }
  return true;
}

void AppendFile(const CsvFile& file, const TableOptions& options, std::vector<Reader>& readers,
                std::span<const std::size_t> times, Table& table) {
  const std::size_t width = readers.size();
  const std::size_t limit = options.rows_per_file == 0 ? kNone : options.rows_per_file;
  const auto lines = static_cast<std::size_t>(std::ranges::count(file.text, '\n')) + 1;
  table.values.reserve(table.values.size() + std::min(lines, limit) * width);
  for (Reader& reader : readers) {
    reader.missing = 0;
    if (options.codes_per_file && !reader.key) reader.codes.clear();
  }
  const auto place = static_cast<std::uint32_t>(table.paths.size());
  std::vector<double> row(width);
  std::size_t kept = 0;
  std::size_t seen = 0;
  for (RowScanner rows = file.Rows(); kept < limit && rows.Next(); ++seen) {
    Seconds time = 0;
    if (!ReadRow(file, rows, options.missing, readers, row.data())) continue;
    if (!times.empty()) {
      if (!ReadTime(file, rows, times, time)) continue;
      table.time.push_back(time);
    }
    table.values.insert(table.values.end(), row.begin(), row.end());
    table.line.push_back(static_cast<std::uint32_t>(rows.line()));
    table.file.push_back(place);
    ++kept;
  }
  if (kept == 0) {
    const Reader& worst = *std::ranges::max_element(readers, {}, &Reader::missing);
    throw Error(file.path + ": no row is complete (column " + Quoted(file.names[worst.index]) +
                " lacks " + std::to_string(worst.missing) + " of " + std::to_string(seen) +
                " values); leave out the columns with missing values");
  }
  table.dropped_rows += seen - kept;
  table.paths.push_back(file.path);
}

}  // namespace

std::size_t Table::Find(std::string_view column) const {
  return Locate(columns, std::string(column), paths.empty() ? "table" : paths.front());
}

const char* MissingName(MissingPolicy policy) {
  return policy == MissingPolicy::kDrop    ? "drop"
         : policy == MissingPolicy::kError ? "error"
                                           : "impute";
}

MissingPolicy ParseMissing(const std::string& name) {
  for (const MissingPolicy policy :
       {MissingPolicy::kDrop, MissingPolicy::kError, MissingPolicy::kImpute}) {
    if (name == MissingName(policy)) return policy;
  }
  throw Error("missing cannot be '" + name + "'; there are: drop, error, impute");
}

Table ReadTable(const std::vector<std::string>& paths, const ColumnChoice& choice,
                const TableOptions& options) {
  if (paths.empty()) throw Error("no file is given; name at least one CSV file");
  Table table;
  CsvFile first = OpenCsv(paths.front(), options.delimiter, options.header, options.decimal);
  std::vector<Reader> readers = ChooseColumns(first, choice, table.decimal_comma);
  const std::vector<std::size_t> times = FindTimes(first, choice);
  AppendFile(first, options, readers, times, table);
  first.text = {};  // large, and only its names are needed from here
  for (std::size_t i = 1; i < paths.size(); ++i) {
    const CsvFile file = OpenCsv(paths[i], options.delimiter, options.header, options.decimal);
    CheckSameColumns(file, first);
    AppendFile(file, options, readers, times, table);
  }
  std::vector<bool> used(first.names.size());
  for (const std::size_t time : times) used[time] = true;
  for (const Reader& reader : readers) {
    used[reader.index] = true;
    table.columns.push_back(first.names[reader.index]);
    std::vector<std::string>& labels = table.labels.emplace_back();
    if (options.codes_per_file && !reader.key) continue;
    labels.resize(reader.codes.size());
    for (const auto& [label, code] : reader.codes) labels[code] = label;
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) table.unused.push_back(first.names[i]);
  }
  return table;
}

}  // namespace polykern
