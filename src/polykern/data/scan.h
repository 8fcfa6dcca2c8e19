#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "polykern/data/scaling.h"

namespace polykern {

enum class ColumnKind {
  kNumber,
  kText,
  kMixed,     ///< numbers and texts
  kConstant,  ///< one value in every row that has one
  kEmpty,     ///< no value at all
};

/// What one column of the files holds.
struct ColumnSummary {
  std::string name = {};
  ColumnKind kind = ColumnKind::kEmpty;
  std::size_t numbers = 0;  ///< cells
  std::size_t texts = 0;
  std::size_t missing = 0;
  Range range = {0, 0};  ///< of the numbers
  std::vector<std::string> values =
      {};                          ///< the different texts as they appear, at most kMostValues
  bool more_values = false;        ///< there are others besides
  bool whole = true;               ///< all numbers are whole
  std::size_t different = 0;       ///< numbers, up to kMostValues
  std::size_t dates = 0;           ///< cells that ParseTime takes for a date
  std::size_t decimal_commas = 0;  ///< texts that are numbers if the comma is the decimal one
  std::string first_text_at = {};  ///< "FILE, line 7": where to look in a mixed column
  /// Whether `run` would take it for an input by default: its first value in the first
  /// file is a number.
  bool default_input = false;

  static constexpr std::size_t kMostValues = 1000;
};

/// What files of one table hold.
struct Scan {
  std::vector<std::string> paths;
  char delimiter = ',';  ///< of the first file; ' ' stands for runs of blanks and tabs
  char decimal = '.';    ///< or ','
  bool has_header = false;
  std::size_t rows = 0;
  std::vector<ColumnSummary> columns;
};

/// Looks at every cell. `delimiter` and `decimal`: 0 for a guess. Throws Error as OpenCsv and
/// RowScanner do, and if the files do not have the same columns.
Scan ScanFiles(const std::vector<std::string>& paths, char delimiter = 0, char decimal = 0);

}  // namespace polykern
