#pragma once

#include <cstddef>
#include <istream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "polykern/data/csv.h"
#include "polykern/data/derived_inputs.h"
#include "polykern/data/samples/input_lines.h"
#include "polykern/io/input_position.h"

namespace polykern {

/// A line of an agent's input: a sample with its label, a sample without, or the label of an
/// earlier sample.
struct InputSample {
  InputPosition read = {};   ///< the input up to this line; the header has a number, too
  std::string problem = {};  ///< what is wrong with the line; then the rest means nothing
  std::string id = {};       ///< as JSON: what the line calls itself, or its number
  bool named = false;        ///< the line calls itself so: its label may come later
  /// Inputs, not scaled; of a text its place among SampleColumns::texts, or its hash's place; NaN
  /// where one is missing. Empty: y is an earlier sample's label.
  std::vector<double> x = {};
  std::optional<double> y = {};  ///< the label, not scaled; none if the line has none
  Seconds time = 0;              ///< if there is a column of times
};

/// What the columns of an input are called, and how many inputs a sample has.
struct SampleColumns {
  std::vector<std::string> inputs = {};  ///< in order; empty: they have no names
  std::size_t dimension = 0;             ///< how many inputs there are
  std::string target = "y";              ///< column of the label
  bool labelled = true;                  ///< CSV: a header without that column is refused
  std::string id = "id";                 ///< column of the line's name, if there is one
  std::string time = {};                 ///< column of the times; empty: none
  DerivedInputs derived = {};            ///< what is made of labels and times; dimension is without
  /// Of inputs that are texts: which there are; none are named: any, see HashedPlace.
  std::map<std::string, std::vector<std::string>> texts = {};
  bool impute = false;  ///< inputs may be missing; else their line is bad
  char delimiter = 0;   ///< CSV: what divides cells; 0: comma, or tab or semicolon without one
  char decimal = '.';   ///< CSV: or ','

  /// What stands for a text in InputSample::x. `column` is one of `texts`. Throws Error for a text
  /// that it does not have.
  double PlaceOf(const std::string& column, const std::string& text) const;
  /// What stands in the column of times. Throws Error for what is not a time, and for a counter
  /// where there is a calendar.
  Seconds TimeOf(std::string_view text) const;
};

/// Reads samples as they come, a line at a time: CSV with a line of column names, or JSON objects.
/// The first line tells which. If the inputs have no names, they are all columns but label and name
/// (CSV), or the list "x" (JSON). A line with a name and a label but no input at all is the label
/// of the sample of that name. Takes any bytes, and no more memory than a line of
/// InputLines::kLongest needs. The input must outlive the reader. Use it from one thread.
class SampleReader {
 public:
  static constexpr std::size_t kLongestId = 256;

  /// `what` is the input's name, for messages.
  SampleReader(std::istream& input, std::string what, SampleColumns columns);

  /// As InputLines::BeginsWith.
  bool BeginsWith(const InputPosition& before) { return lines_.BeginsWith(before); }

  /// What is read from the next line on. Throws Error if the header lacks a column.
  void Want(SampleColumns columns);

  /// The next line that is not blank; false at the end. Throws Error if the header lacks a column,
  /// and BrokenInput as InputLines::Next does.
  bool Next(InputSample& sample);

 private:
  void TakeHeader();
  void FindColumns();
  void TakeRow(InputSample& sample) const;
  void TakeObject(InputSample& sample) const;
  std::optional<std::size_t> Find(const std::string& name) const;
  double InputIn(const std::string& column, const Cell& cell) const;

  const std::string what_;
  SampleColumns wanted_;
  InputLines lines_;
  bool started_ = false;
  bool json_ = false;
  char delimiter_ = ',';
  std::vector<std::string> names_;                       // CSV: of all columns
  std::unordered_map<std::string, std::size_t> places_;  // of these, the first of each
  std::vector<std::size_t> columns_;                     // CSV: where the inputs are
  std::optional<std::size_t> target_column_;
  std::optional<std::size_t> id_column_;
  std::optional<std::size_t> time_column_;
};

}  // namespace polykern
