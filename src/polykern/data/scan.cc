#include "polykern/data/scan.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "polykern/core/error.h"
#include "polykern/core/text.h"
#include "polykern/data/csv.h"

namespace polykern {
namespace {

/// A text column with more different values is a label, not an input.
constexpr std::size_t kMostCategories = 50;
/// A column that lacks more than this share of its values would cost too many rows.
constexpr double kMostMissing = 0.2;
/// With more inputs the command line would be longer than useful; `run` finds ranges itself.
constexpr std::size_t kMostRanges = 20;

std::string Lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

/// The column with what only the scan needs.
struct Counter {
  ColumnSummary summary;
  std::unordered_set<std::string> seen;
};

void Count(const Cell& cell, const CsvFile& file, std::size_t line, bool first_file,
           Counter& counter) {
  ColumnSummary& column = counter.summary;
  double value = 0;
  const CellKind kind = ParseCell(cell.text, value);
  if (kind == CellKind::kMissing) {
    ++column.missing;
    return;
  }
  const bool first = column.numbers + column.texts == 0;
  if (first) column.default_input = first_file && kind == CellKind::kNumber;
  if (kind == CellKind::kNumber) {
    if (column.numbers++ == 0) column.range = {value, value};
    column.range.low = std::min(column.range.low, value);
    column.range.high = std::max(column.range.high, value);
    return;
  }
  if (column.texts++ == 0) column.first_text_at = file.path + ", line " + std::to_string(line);
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

/// Too many rows would be lost for it.
bool IsSparse(const ColumnSummary& column, std::size_t rows) {
  return static_cast<double>(column.missing) > kMostMissing * static_cast<double>(rows);
}

const ColumnSummary& Named(const Scan& scan, const std::string& name) {
  const auto found = std::ranges::find(scan.columns, name, &ColumnSummary::name);
  if (found != scan.columns.end()) return *found;
  std::vector<std::string> names;
  for (const ColumnSummary& column : scan.columns) names.push_back(column.name);
  throw Error(scan.paths.front() + ": there is no column " + Quoted(name) + "; " +
              Suggest(name, names));
}

std::string GuessTarget(const Scan& scan, const std::string& site) {
  const auto may_be = [&](const ColumnSummary& column) {
    return column.kind == ColumnKind::kNumber && column.name != site &&
           !IsSparse(column, scan.rows);
  };
  std::string last;
  for (const ColumnSummary& column : scan.columns) {
    if (!may_be(column)) continue;
    const std::string name = Lower(column.name);
    if (name == "y" || name == "target" || name == "label" || name == "output") return column.name;
    last = column.name;
  }
  if (last.empty()) {
    throw Error(scan.paths.front() +
                ": no column can be the target: none of numbers that vary "
                "has values in most rows; correct the columns marked mixed, or add one");
  }
  return last;
}

std::string GuessSite(const Scan& scan) {
  constexpr std::string_view kWords[] = {"site",  "station", "city",   "town",     "place",
                                         "plant", "ship",    "device", "building", "region",
                                         "zone",  "area",    "where",  "location", "sensor"};
  for (const ColumnSummary& column : scan.columns) {
    const bool few = column.kind == ColumnKind::kText && !column.more_values &&
                     column.values.size() * 10 <= scan.rows && !IsSparse(column, scan.rows);
    const std::string name = Lower(column.name);
    const auto inside = [&](std::string_view word) { return name.find(word) != std::string::npos; };
    if (few && std::ranges::any_of(kWords, inside)) return column.name;
  }
  return "";
}

}  // namespace

Scan ScanFiles(const std::vector<std::string>& paths) {
  if (paths.empty()) throw Error("no file is given; name at least one CSV file");
  Scan scan;
  scan.paths = paths;
  std::vector<Counter> counters;
  for (const std::string& path : paths) {
    const CsvFile file = OpenCsv(path, 0, HeaderLine::kAuto);
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

SourceOptions SuggestOptions(const Scan& scan, const std::string& target, const std::string& site) {
  SourceOptions options;
  options.data.clear();
  for (const std::string& path : scan.paths) {  // a bare word would be taken for a recipe's name
    const bool bare = path.find_first_of("./\\") == std::string::npos;
    options.data.push_back(bare ? "./" + path : path);
  }
  if (!site.empty()) {
    options.site = Named(scan, site).name;
  } else if (scan.paths.size() == 1) {  // otherwise every file is a site
    options.site = GuessSite(scan);
  }
  if (options.site == target) options.site.clear();
  options.target = target.empty() ? GuessTarget(scan, options.site) : Named(scan, target).name;
  std::vector<DeclaredRange> ranges;
  std::vector<std::string> constants;  // harmless, so not worth a long command line
  for (const ColumnSummary& column : scan.columns) {
    if (column.name == options.site) continue;
    const bool number = column.kind == ColumnKind::kNumber;
    const bool full = !IsSparse(column, scan.rows);
    if (column.name == options.target || (number && column.default_input && full)) {
      if (number) ranges.push_back({column.name, column.range});
    } else if (column.kind == ColumnKind::kConstant && column.default_input && full) {
      constants.push_back(column.name);
    } else if (column.default_input) {
      options.exclude.push_back(column.name);
    } else if (column.kind == ColumnKind::kText && full && !column.more_values &&
               column.values.size() <= kMostCategories) {
      options.categorical.push_back(column.name);
    }
  }
  const bool all = ranges.size() <= kMostRanges;
  if (all) {
    options.scaling = Scaling::kRange;
    options.exclude.insert(options.exclude.end(), constants.begin(), constants.end());
  }
  for (const DeclaredRange& range : ranges) {
    const bool nameable = range.column.find(',') == std::string::npos;  // --range divides at commas
    if (nameable && (all || range.column == options.target)) options.ranges.push_back(range);
  }
  return options;
}

}  // namespace polykern
