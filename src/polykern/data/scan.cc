#include "polykern/data/scan.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "polykern/core/error.h"
#include "polykern/data/csv.h"
#include "polykern/data/time_text.h"

namespace polykern {
namespace {

/// The column with what only the scan needs.
struct Counter {
  ColumnSummary summary;
  std::unordered_set<std::string> seen;
  std::unordered_set<double> numbers;
};

void Count(const Cell& cell, const CsvFile& file, std::size_t line, bool first_file,
           Counter& counter) {
  ColumnSummary& column = counter.summary;
  double value = 0;
  const CellKind kind = ParseCell(cell.text, value, file.decimal);
  if (kind == CellKind::kMissing) {
    ++column.missing;
    return;
  }
  const bool first = column.numbers + column.texts == 0;
  const auto time = ParseTime(cell.text);
  if (time && IsDate(*time)) ++column.dates;
  if (first) column.default_input = first_file && kind == CellKind::kNumber;
  if (kind == CellKind::kNumber) {
    if (column.numbers++ == 0) column.range = {value, value};
    column.range.low = std::min(column.range.low, value);
    column.range.high = std::max(column.range.high, value);
    column.whole = column.whole && value == std::floor(value);
    if (counter.numbers.size() < ColumnSummary::kMostValues) counter.numbers.insert(value);
    column.different = counter.numbers.size();
    return;
  }
  if (column.texts++ == 0) column.first_text_at = file.path + ", line " + std::to_string(line);
  if (HasDecimalComma(cell.text)) ++column.decimal_commas;
  if (column.more_values) return;
  std::string text = cell.Unescape();
  if (counter.seen.contains(text)) return;
  if (column.values.size() == ColumnSummary::kMostValues) {
    column.more_values = true;
  } else {
    column.values.push_back(text);
    counter.seen.insert(std::move(text));
  }
}

ColumnKind KindOf(const ColumnSummary& column) {
  if (column.numbers + column.texts == 0) return ColumnKind::kEmpty;
  if (column.numbers > 0 && column.texts > 0) return ColumnKind::kMixed;
  const bool constant =
      column.numbers > 0 ? column.range.low == column.range.high : column.values.size() == 1;
  if (constant) return ColumnKind::kConstant;
  return column.numbers > 0 ? ColumnKind::kNumber : ColumnKind::kText;
}

/// Looks with what is decimal being known.
Scan ScanAs(const std::vector<std::string>& paths, char delimiter, char decimal) {
  Scan scan;
  scan.decimal = decimal;
  scan.paths = paths;
  std::vector<Counter> counters;
  for (const std::string& path : paths) {
    const CsvFile file = OpenCsv(path, delimiter, HeaderLine::kAuto, decimal);
    const bool first_file = counters.empty();
    if (first_file) {
      scan.delimiter = file.delimiter;
      scan.has_header = file.has_header;
      for (const std::string& name : file.names) counters.emplace_back().summary.name = name;
    }
    const auto name_of = [](const Counter& counter) { return counter.summary.name; };
    if (!std::ranges::equal(file.names, counters, {}, {}, name_of)) {
      throw Error(path + ": its columns differ from those of " + paths.front() +
                  "; scan files with different columns one by one");
    }
    for (RowScanner rows = file.Rows(); rows.Next(); ++scan.rows) {
      for (std::size_t c = 0; c < counters.size(); ++c) {
        Count(rows.cells()[c], file, rows.line(), first_file, counters[c]);
      }
    }
  }
  for (Counter& counter : counters) {
    counter.summary.kind = KindOf(counter.summary);
    scan.columns.push_back(std::move(counter.summary));
  }
  return scan;
}

}  // namespace

Scan ScanFiles(const std::vector<std::string>& paths, char delimiter, char decimal) {
  if (paths.empty()) throw Error("no file is given; name at least one CSV file");
  Scan scan = ScanAs(paths, delimiter, decimal == 0 ? '.' : decimal);
  if (decimal != 0 || scan.delimiter == ',') return scan;
  // Numbers with points as well are texts to a user who expects commas; so all must have them.
  const auto has_commas = [](const ColumnSummary& column) {
    return column.decimal_commas > 0 && column.decimal_commas == column.texts;
  };
  if (!std::ranges::any_of(scan.columns, has_commas)) return scan;
  return ScanAs(paths, delimiter, ',');
}

}  // namespace polykern
