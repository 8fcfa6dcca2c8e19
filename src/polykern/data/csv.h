#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace polykern {

/// Is the first line of a file a line of column names?
enum class HeaderLine {
  kAuto,  ///< yes, if it has a word in it and no number
  kYes,
  kNo,  ///< the columns are then called c1, c2, ..
};

/// One cell of a row, without the blanks and the quotes around it. Points into the file's text.
struct Cell {
  std::string_view text;
  bool escaped = false;  ///< was quoted and holds doubled quotes: see Unescape

  /// The text with doubled quotes made single.
  std::string Unescape() const;
};

/// What a cell holds.
enum class CellKind {
  kNumber,
  kMissing,  ///< empty, NA, N/A, NaN, null, ?, inf, -inf, in capital or small letters
  kText,
};

/// Sorts a cell's text into its kind; a number goes to `value`. With `decimal` ',' 3,5 is a number,
/// and 3.5 is none.
CellKind ParseCell(std::string_view text, double& value, char decimal = '.');

/// Whether a text is a number only if its comma is the decimal one: 3,5 or -0,25.
bool HasDecimalComma(std::string_view text);

/// Walks over the rows of a text. A row may span lines inside quotes; blank lines are skipped.
/// Keeps views of `text` and `path`, which must outlive it. Use it from one thread.
class RowScanner {
 public:
  /// `line` is the number of the text's first line; `delimiter` ' ' stands for runs of blanks and
  /// tabs; rows must have `expected` cells unless it is 0.
  RowScanner(std::string_view text, char delimiter, std::string_view path, std::size_t line = 1,
             std::size_t expected = 0);

  /// Goes to the next row; false at the end. Throws Error (file, line) for a quote that is not
  /// closed, for text behind a closing quote, and for a row of the wrong length.
  bool Next();

  const std::vector<Cell>& cells() const { return cells_; }
  /// The line on which the row starts, from 1.
  std::size_t line() const { return line_; }
  /// Where the text behind the row begins, and the number of that line.
  std::size_t rest() const { return position_; }
  std::size_t rest_line() const { return next_line_; }

 private:
  void ScanRow();
  const char* ScanQuoted(const char* from, Cell& cell);

  std::string_view text_;
  std::string_view path_;
  char delimiter_;
  std::size_t expected_;
  std::size_t position_ = 0;
  std::size_t line_;
  std::size_t next_line_;
  std::array<bool, 256> blank_{};  ///< dropped around cells
  std::array<bool, 256> stop_{};   ///< ends a cell
  std::vector<Cell> cells_;
};

/// A comma-separated file, whole in memory, with its form found out. Packed by gzip it is unpacked,
/// whatever it is called. Line ends may be LF or CRLF,
/// the last one may be missing, and a UTF-8 byte order mark is skipped. Owns its text.
struct CsvFile {
  std::string path;
  std::string text;
  char delimiter = ',';  ///< ' ' stands for runs of blanks and tabs
  char decimal = '.';    ///< or ','
  bool has_header = false;
  std::vector<std::string> names;  ///< of the columns; an empty name becomes c1, c2, .. by place
  std::size_t body = 0;            ///< where the rows begin in `text`
  std::size_t body_line = 1;       ///< the number of that line

  /// Over the rows behind the header. The scanner must not outlive this object.
  RowScanner Rows() const { return {BodyText(), delimiter, path, body_line, names.size()}; }

 private:
  std::string_view BodyText() const { return std::string_view(text).substr(body); }
};

/// Reads a file and finds its form. `delimiter` 0: guessed among tab, semicolon, comma and blanks;
/// among tab, semicolon and blanks if `decimal`, what stands before a fraction, is a comma. Throws
/// Error for a missing file, a folder, an empty file, a header without rows, duplicate column
/// names, a file that is not text, and a delimiter that is part of a number.
CsvFile OpenCsv(const std::string& path, char delimiter, HeaderLine header, char decimal = '.');

}  // namespace polykern
