#include "polykern/data/suggest.h"

#include <algorithm>
#include <string_view>

#include "polykern/core/error.h"
#include "polykern/core/text.h"
#include "polykern/data/notices.h"

namespace polykern {
namespace {

/// A text column with more different values is a label, not an input.
constexpr std::size_t kMostCategories = 50;
/// A column that lacks more than this share of its values would cost too many rows.
constexpr double kMostMissing = 0.2;
/// If more than this share of the rows lacks an input, inputs are imputed.
constexpr double kMostDropped = 0.05;
/// A client has at least so many rows.
constexpr std::size_t kFewestRows = 10;

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

bool Among(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// Whether the name has one of the words in it.
template <std::size_t kSize>
bool HasWord(const std::string& name, const std::string_view (&words)[kSize]) {
  return std::ranges::any_of(
      words, [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

/// The values of a column that could name clients; 0 if it could not.
std::size_t ClientValues(const ColumnSummary& column, std::size_t rows) {
  constexpr std::string_view kWords[] = {
      "site",   "station", "city",  "town",  "place",    "plant",   "ship",   "device", "building",
      "region", "zone",    "where", "area",  "location", "sensor",  "client", "meter",  "household",
      "farm",   "turbine", "shop",  "store", "machine",  "vehicle", "branch"};
  const std::string name = Lowered(column.name);
  const bool text = column.kind == ColumnKind::kText;
  const bool number = column.kind == ColumnKind::kNumber && column.whole;
  const std::size_t values = text ? column.values.size() : column.different;
  const bool named =
      text ? HasWord(name, kWords)
           : IsIdName(column.name) || std::ranges::find(kWords, name) != std::end(kWords);
  const bool few = !column.more_values && values * kFewestRows <= rows &&
                   values < ColumnSummary::kMostValues && !IsSparse(column, rows);
  return (text || number) && named && few ? values : 0;
}

/// A column of whole numbers that only number the rows.
bool IsNumbering(const ColumnSummary& column, std::size_t rows) {
  const std::size_t all = std::min(rows, ColumnSummary::kMostValues);
  return column.kind == ColumnKind::kNumber && column.whole && rows >= kFewestRows &&
         column.different == all && IsIdName(column.name);
}

std::string GuessClient(const Scan& scan, const std::vector<std::string>& taken) {
  const std::size_t least = scan.paths.size() + 1;  // than files, if there are several
  for (const ColumnSummary& column : scan.columns) {
    if (Among(taken, column.name)) continue;
    if (ClientValues(column, scan.rows) >= least) return column.name;
  }
  return "";
}

std::string GuessTarget(const Scan& scan, const std::vector<std::string>& taken) {
  constexpr std::string_view kNames[] = {"y", "target", "label", "output", "targetvar"};
  constexpr std::string_view kLike[] = {"power", "load", "demand", "consumption", "energy"};
  std::string like;
  std::string last;
  for (const ColumnSummary& column : scan.columns) {
    if (column.kind != ColumnKind::kNumber || Among(taken, column.name) ||
        IsSparse(column, scan.rows)) {
      continue;
    }
    const std::string name = Lowered(column.name);
    if (std::ranges::find(kNames, name) != std::end(kNames)) return column.name;
    if (IsNumbering(column, scan.rows)) continue;
    if (like.empty() && HasWord(name, kLike)) like = column.name;
    last = column.name;
  }
  if (!like.empty()) return like;
  if (last.empty()) {
    throw Error(
        scan.paths.front() +
        ": no column can be the target: no numeric column "
        "that varies has values in most rows; correct the columns marked mixed, or add one");
  }
  return last;
}

/// One column of dates, or those of a date in parts; empty: none.
std::vector<std::string> GuessTime(const Scan& scan) {
  constexpr std::string_view kTimes[] = {"time", "date"};
  std::string found;
  for (const ColumnSummary& column : scan.columns) {
    const std::size_t cells = column.numbers + column.texts;
    const bool named = HasWord(Lowered(column.name), kTimes);
    if (cells == 0 || column.dates != cells || column.missing * 5 > scan.rows) continue;
    if (column.numbers > 0 && !named) continue;  // numbers may be large for other reasons
    if (named) return {column.name};
    if (found.empty()) found = column.name;
  }
  if (!found.empty()) return {found};
  std::vector<std::string> parts;
  for (const std::string_view part : {"year", "month", "day", "hour", "minute", "second"}) {
    const auto is = [&](const ColumnSummary& column) {
      return Lowered(column.name) == part && column.numbers > 0 && column.texts == 0 &&
             column.whole;
    };
    const auto column = std::ranges::find_if(scan.columns, is);
    if (column == scan.columns.end()) break;
    parts.push_back(column->name);
  }
  return parts.size() < 3 ? std::vector<std::string>() : parts;
}

/// The user says that there is no such column.
bool SaysNone(const Scan& scan, const std::string& name) {
  return name == kNoColumn &&
         std::ranges::find(scan.columns, name, &ColumnSummary::name) == scan.columns.end();
}

/// The columns that the user has named, whatever for.
std::vector<std::string> NamedColumns(const SourceOptions& options) {
  std::vector<std::string> names;
  for (const std::string& name : {options.target, options.site, options.client}) {
    if (!name.empty()) names.push_back(name);
  }
  for (const auto* list :
       {&options.time, &options.features, &options.exclude, &options.categorical}) {
    names.insert(names.end(), list->begin(), list->end());
  }
  return names;
}

/// Every named column must exist, and be named for one thing; site and client may be the same, and
/// a site that is the target is not a site.
void CheckKnown(const Scan& scan, SourceOptions known) {
  if (SaysNone(scan, known.client)) known.client.clear();
  if (known.time.size() == 1 && SaysNone(scan, known.time.front())) known.time.clear();
  for (const DeclaredRange& range : known.ranges) Named(scan, range.column);
  std::vector<std::string> names = NamedColumns(known);
  for (const std::string& name : names) Named(scan, name);
  if (!known.site.empty() && (known.site == known.client || known.site == known.target)) {
    names.erase(std::ranges::find(names, known.site));
  }
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice == names.end()) return;
  throw Error(Quoted(*twice) + " is named for two roles; a column can have only one");
}

/// What becomes of the columns that are neither target, client nor time.
void SortInputs(const Scan& scan, const SourceOptions& known, SourceOptions& options) {
  const auto add_range = [&](const ColumnSummary& column) {
    if (std::ranges::find(known.ranges, column.name, &DeclaredRange::column) ==
        known.ranges.end()) {
      options.ranges.push_back({column.name, column.range});
    }
  };
  std::size_t incomplete = 0;
  for (const ColumnSummary& column : scan.columns) {
    if (column.name == options.site || column.name == options.client ||
        Among(options.time, column.name) || Among(known.exclude, column.name)) {
      continue;
    }
    const bool named = Among(known.features, column.name);
    const bool others = !known.features.empty() && !named;  // the inputs are known
    if (Among(known.categorical, column.name) || (others && column.name != options.target)) {
      continue;
    }
    const bool number = column.kind == ColumnKind::kNumber;
    const bool full = !IsSparse(column, scan.rows);
    const bool target = column.name == options.target;
    const bool names = !target && (IsNumbering(column, scan.rows) ||
                                   (number && ClientValues(column, scan.rows) > 1));
    const bool text = column.kind == ColumnKind::kText && full && !column.more_values &&
                      column.values.size() <= kMostCategories;
    if (target || named || (number && column.default_input && full && !names)) {
      if (number) add_range(column);
      if (!target) incomplete += column.missing;
    } else if (column.default_input) {
      options.exclude.push_back(column.name);
    } else if (text && column.dates == 0 && ClientValues(column, scan.rows) < 2) {
      options.categorical.push_back(column.name);
      incomplete += column.missing;
    }
  }
  if (static_cast<double>(incomplete) > kMostDropped * static_cast<double>(scan.rows)) {
    options.missing = MissingPolicy::kImpute;
  }
}

}  // namespace

SourceOptions SuggestOptions(const Scan& scan, const SourceOptions& known) {
  CheckKnown(scan, known);
  SourceOptions options = known;
  options.data.clear();
  for (const std::string& path : scan.paths) {  // a bare word would be taken for a recipe's name
    const bool bare = path.find_first_of("./\\") == std::string::npos;
    options.data.push_back(bare ? "./" + path : path);
  }
  options.decimal = scan.decimal;
  const bool no_client = SaysNone(scan, known.client);
  const bool no_time = known.time.size() == 1 && SaysNone(scan, known.time.front());
  if (no_client) options.client.clear();
  if (no_time) options.time.clear();
  if (options.site == options.target) options.site.clear();
  std::vector<std::string> taken = NamedColumns(options);
  if (options.time.empty() && !no_time) {
    options.time = GuessTime(scan);
    if (std::ranges::any_of(options.time, [&](const auto& name) { return Among(taken, name); })) {
      options.time.clear();
    }
  }
  taken.insert(taken.end(), options.time.begin(), options.time.end());
  if (options.client.empty() && options.site.empty() && !no_client) {
    options.client = GuessClient(scan, taken);
  }
  taken.push_back(options.client);
  if (options.target.empty()) options.target = GuessTarget(scan, taken);
  SortInputs(scan, known, options);
  options.scaling = Scaling::kRange;
  std::erase_if(options.ranges, [](const DeclaredRange& range) {  // lists are divided at commas
    return range.column.find(',') != std::string::npos;
  });
  return options;
}

}  // namespace polykern
