#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <vector>

#include "polykern/core/error.h"
#include "polykern/net/agent/input_position.h"
#include "polykern/net/configuration.h"

namespace polykern {

/// A line of an agent's input: a sample with its label, a sample without, or the label of an
/// earlier sample.
struct InputSample {
  InputPosition read = {};       ///< the input up to this line; the header has a number, too
  std::string problem = {};      ///< what is wrong with the line; then the rest means nothing
  std::string id = {};           ///< as JSON: what the line calls itself, or its number
  bool named = false;            ///< the line calls itself so: its label may come later
  std::vector<double> x = {};    ///< inputs, not scaled; empty: y is an earlier sample's label
  std::optional<double> y = {};  ///< the label, not scaled; none if the line has none
};

struct ReaderOptions {
  std::string target = {};  ///< column of the label; empty: the federation's, or y
  std::string id = "id";    ///< column of the line's name, if there is one
};

/// An input that cannot be read to its end: a connection that was reset, a broken disk.
class BrokenInput : public Error {
 public:
  using Error::Error;
};

/// Reads samples as they come, a line at a time: CSV with a line of column names, or JSON objects.
/// Which, the first line tells. Inputs are the federation's columns; if these have no names, all
/// columns but label and name (CSV), or the list "x" (JSON). A line with a name and a label but no
/// input at all is the label of the sample of that name. Takes any bytes, and no more memory than a
/// line of kLongestLine needs. Use it from one thread.
class SampleReader {
 public:
  static constexpr std::size_t kLongestLine = std::size_t{1} << 22;
  static constexpr std::size_t kLongestId = 256;

  /// `what` is the input's name, for messages.
  SampleReader(std::istream& input, std::string what, const FederationConfiguration& federation,
               const ReaderOptions& options);

  /// Whether the input, a file, begins with what was read up to `before`. Ask it before the first
  /// Next: it reads that much, and goes back to the beginning.
  bool BeginsWith(const InputPosition& before);

  /// The next line that is not empty; false at the end. Throws Error if the header lacks a column,
  /// and BrokenInput if there is no reading on; a line that was cut off by that is none.
  bool Next(InputSample& sample);

 private:
  bool ReadLine();
  bool ReadBytes();
  int ReadByte();
  void TakeHeader();
  void TakeRow(InputSample& sample) const;
  void TakeObject(InputSample& sample) const;
  std::size_t Find(const std::string& name) const;

  std::istream& input_;
  const std::string what_;
  std::vector<std::string> inputs_;  // names, if they have any
  const std::size_t dimension_;
  const std::string target_;
  const std::string id_;
  std::string text_;
  bool too_long_ = false;  // the line; text_ is its beginning
  InputPosition read_;
  bool started_ = false;
  bool json_ = false;
  char delimiter_ = ',';
  std::vector<std::string> names_;    // CSV: of all columns
  std::vector<std::size_t> columns_;  // CSV: of the inputs
  std::size_t target_column_ = 0;
  std::optional<std::size_t> id_column_;
};

}  // namespace polykern
