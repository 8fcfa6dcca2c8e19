#include "polykern/data/notices.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <unordered_set>

#include "polykern/core/error.h"
#include "polykern/core/text.h"

namespace polykern {
namespace {

constexpr std::size_t kFewestValues = 10;  ///< to tell an outlier or a numbering
constexpr double kFar = 1e4;

/// The row of the outlier, or the number of rows.
std::size_t FindOutlier(const Table& table, std::size_t column) {
  std::vector<double> sizes;
  std::size_t most = table.rows();
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const double size = std::abs(table.At(row, column));
    if (!(size > 0)) continue;  // also not NaN: missing
    sizes.push_back(size);
    if (most == table.rows() || size > std::abs(table.At(most, column))) most = row;
  }
  if (sizes.size() < kFewestValues) return table.rows();
  const double largest = std::abs(table.At(most, column));
  const auto ordinary = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() * 9 / 10 - 1);
  std::ranges::nth_element(sizes, ordinary);
  return largest / kFar > *ordinary ? most : table.rows();
}

bool IsConstant(const Table& table, std::size_t column) {
  const double first = table.At(0, column);
  for (std::size_t row = 1; row < table.rows(); ++row) {
    if (table.At(row, column) != first) return false;
  }
  return !std::isnan(first);
}

bool NumbersRows(const Table& table, std::size_t column) {
  if (table.rows() < kFewestValues || !IsIdName(table.columns[column])) return false;
  std::unordered_set<double> seen;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const double value = table.At(row, column);
    if (value != std::floor(value) || !seen.insert(value).second) return false;
  }
  return true;
}

/// "column "a"" or "columns "a", "b", "c" and 4 more".
std::string Listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMostShown = 3;
  std::string text = names.size() == 1 ? "column " : "columns ";
  text += Joined(std::span(names).first(std::min(kMostShown, names.size())), ", ", Quoted);
  if (names.size() > kMostShown) {
    text += " and " + std::to_string(names.size() - kMostShown) + " more";
  }
  return text;
}

}  // namespace

bool IsIdName(const std::string& name) {
  const std::string lower = Lowered(name);
  for (const std::string_view word :
       {"id", "ids", "index", "idx", "row", "rows", "rowid", "rownum", "no", "no.", "nr", "number",
        "rownumber", "row number", "row_number", "record", "unnamed: 0"}) {
    if (lower == word) return true;
  }
  return lower.ends_with("_id") || lower.ends_with(" id") || lower.ends_with(".id") ||
         name.ends_with("Id") || name.ends_with("ID");
}

std::vector<std::string> NoticeColumns(const Table& table, std::span<const std::size_t> columns,
                                       std::span<const std::string> ranged) {
  std::vector<std::string> notices;
  std::vector<std::string> constant;
  std::vector<std::string> numbering;
  for (const std::size_t column : columns) {
    const std::string& name = table.columns[column];
    if (IsConstant(table, column)) {
      constant.push_back(name);
      continue;
    }
    if (!table.labels[column].empty()) continue;  // texts
    if (NumbersRows(table, column)) numbering.push_back(name);
    if (std::ranges::find(ranged, name) != ranged.end()) continue;
    const std::size_t row = FindOutlier(table, column);
    if (row == table.rows()) continue;
    notices.push_back(table.paths[table.file[row]] + ", line " + std::to_string(table.line[row]) +
                      ", column " + Quoted(name) + ": " + ExactText(table.At(row, column)) +
                      " is far from the other values and sets the scale; correct it, or declare " +
                      "the range with " + OptionName("range"));
  }
  if (!numbering.empty()) {
    notices.push_back(Listed(numbering) + (numbering.size() == 1 ? " numbers" : " number") +
                      " the rows and is an input; leave it out with " +
                      OptionName("exclude", numbering.front()));
  }
  if (!constant.empty()) {
    notices.push_back(Listed(constant) + (constant.size() == 1 ? " has" : " have") +
                      " the same value in every row and tell" + (constant.size() == 1 ? "s" : "") +
                      " nothing; leave it out with " + OptionName("exclude", constant.front()));
  }
  return notices;
}

std::string NoticeClients(const RowOrder& order, const std::string& column) {
  if (order.clients() < 2 || order.rows.size() != order.clients()) return "";
  return "column " + Quoted(column) +
         " has a different value in every row, so every client has one " +
         "row and learns nothing; name another column";
}

}  // namespace polykern
