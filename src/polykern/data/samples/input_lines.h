#pragma once

#include <cstddef>
#include <istream>
#include <string>

#include "polykern/core/error.h"
#include "polykern/io/input_position.h"

namespace polykern {

/// An input that cannot be read to its end: a connection that was reset, a broken disk.
class BrokenInput : public Error {
 public:
  using Error::Error;
};

/// The lines of an input as they come, and how far it was read. Takes any bytes; of a line longer
/// than kLongest only its beginning is held. The input must outlive this. Use it from one thread.
class InputLines {
 public:
  static constexpr std::size_t kLongest = std::size_t{1} << 22;

  /// `what` is the input's name, for messages.
  InputLines(std::istream& input, std::string what);

  /// Whether the input, a file, begins with what was read up to `before`. Ask before the first
  /// Next: it reads that much, and returns to the beginning. Throws BrokenInput.
  bool BeginsWith(const InputPosition& before);

  /// Reads the next line that is not blank; false at the end. Throws BrokenInput; a line cut off by
  /// that is not returned.
  bool Next();

  // Of the last line that was read.

  /// Without its end, and without the mark of UTF-8 in front of the first line.
  const std::string& text() const { return text_; }
  bool too_long() const { return too_long_; }
  /// The input up to this line's end. Blank lines are counted, too.
  const InputPosition& read() const { return read_; }

 private:
  bool ReadLine();
  int ReadByte();

  std::istream& input_;
  const std::string what_;
  std::string text_;
  bool too_long_ = false;
  InputPosition read_;
};

}  // namespace polykern
