#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "polykern/data/csv.h"
#include "polykern/data/time_text.h"

namespace polykern {

/// What happens to a row that lacks a value in a column that is read.
enum class MissingPolicy {
  kDrop,    ///< the row is left out and counted
  kError,   ///< Error with file, line and column
  kImpute,  ///< the value is NaN; the row is left out only if a key, a time or what must be is
            ///< missing
};

/// drop, error or impute. ParseMissing throws Error for any other name.
const char* MissingName(MissingPolicy policy);
MissingPolicy ParseMissing(const std::string& name);

/// The form of the files.
struct TableOptions {
  char delimiter = 0;                     ///< 0: guessed; ' ': runs of blanks and tabs
  char decimal = '.';                     ///< or ','
  HeaderLine header = HeaderLine::kAuto;  ///< is the first line one of column names
  MissingPolicy missing = MissingPolicy::kDrop;
  std::size_t rows_per_file = 0;  ///< only the first complete rows of each file; 0: all
  bool codes_per_file = false;    ///< categorical codes start again in every file
};

/// Which columns are read. A cell that is neither a number nor missing is an Error, except in
/// categorical and key columns. Other columns may hold anything.
struct ColumnChoice {
  std::vector<std::string> columns = {};  ///< these
  bool other_numbers = false;             ///< and all others whose first value is a number
  std::vector<std::string> exclude = {};  ///< but not these
  std::vector<std::string> categorical =
      {};                              ///< and these: texts, coded 0, 1, .. as they first appear
  std::vector<std::string> keys = {};  ///< and these: like categorical, but never per file
  /// The column of times, as ParseTime reads them; or several, as TimeOfParts does. They are
  /// columns of numbers only if they are named above.
  std::vector<std::string> time = {};
  std::vector<std::string> must_be = {};  ///< kImpute: a row without a value in these is left out
};

/// The columns that were read from one or several files, as doubles. A plain value.
struct Table {
  std::vector<std::string> columns;  ///< names, in the order of the file
  std::vector<double> values;        ///< rows x columns, row after row; codes where texts were read
  /// For each column the text of each code; empty for numbers and for codes per file.
  std::vector<std::vector<std::string>> labels;
  std::vector<Seconds> time;        ///< for each row; empty if no times were read
  std::vector<std::uint32_t> line;  ///< for each row, its line in its file
  std::vector<std::uint32_t> file;  ///< for each row, its place in `paths`
  std::vector<std::string> paths;   ///< the files
  std::vector<std::string> unused;  ///< columns that were not read
  std::size_t dropped_rows = 0;     ///< rows left out because a value is missing
  /// Where a column of the first file that is not read has a number with a decimal comma, with what
  /// to do; empty if there is none.
  std::string decimal_comma;

  std::size_t rows() const { return line.size(); }
  double At(std::size_t row, std::size_t column) const {
    return values[row * columns.size() + column];
  }
  /// The place of a column; throws Error that offers the nearest names.
  std::size_t Find(std::string_view column) const;
};

/// Reads the files one after the other; the first one says which columns there are. Throws Error
/// (file, line, column, what to do) as OpenCsv, RowScanner and ColumnChoice say, and when a file
/// has other columns than the first, a wanted column does not exist, or no complete row is left.
Table ReadTable(const std::vector<std::string>& paths, const ColumnChoice& choice,
                const TableOptions& options = {});

}  // namespace polykern
