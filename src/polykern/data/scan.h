#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "polykern/data/scaling.h"
#include "polykern/data/source.h"

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
  std::string first_text_at = {};  ///< "FILE, line 7": where to look in a mixed column
  /// Whether `run` would take it for an input if nobody says anything: its first value in the first
  /// file is a number.
  bool default_input = false;

  static constexpr std::size_t kMostValues = 1000;
};

/// What files of one table hold.
struct Scan {
  std::vector<std::string> paths;
  char delimiter = ',';  ///< of the first file; ' ' stands for runs of blanks and tabs
  bool has_header = false;
  std::size_t rows = 0;
  std::vector<ColumnSummary> columns;
};

/// Looks at every cell. Throws Error as OpenCsv and RowScanner do, and if the files do not have the
/// same columns.
Scan ScanFiles(const std::vector<std::string>& paths);

/// Options with which these files can be learnt from: the target (`target`, or a column called y,
/// target, label or output, or the last one of numbers), the site (`site`, or a text column whose
/// name says so), other columns of few texts as inputs, useless columns left out, and the ranges.
/// Throws Error if no column can be the target, or a named one does not exist.
SourceOptions SuggestOptions(const Scan& scan, const std::string& target, const std::string& site);

}  // namespace polykern
