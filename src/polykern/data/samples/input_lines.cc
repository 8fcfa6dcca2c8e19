#include "polykern/data/samples/input_lines.h"

#include <cstdint>
#include <ios>
#include <utility>

namespace polykern {
namespace {

constexpr int kEndOfInput = std::istream::traits_type::eof();
constexpr std::uint64_t kFirstSum = 0xcbf29ce484222325;  // FNV-1a
constexpr std::uint64_t kSumFactor = 0x100000001b3;

}  // namespace

InputLines::InputLines(std::istream& input, std::string what)
    : input_(input), what_(std::move(what)), read_{.sum = kFirstSum} {}

bool InputLines::BeginsWith(const InputPosition& before) {
  const auto beginning = input_.rdbuf()->pubseekoff(0, std::ios::cur, std::ios::in);
  while (read_.bytes < before.bytes && ReadByte() != kEndOfInput) {
  }
  const bool same = read_.bytes == before.bytes && read_.sum == before.sum;
  read_ = {.sum = kFirstSum};
  input_.rdbuf()->pubseekpos(beginning, std::ios::in);
  return same;
}

bool InputLines::Next() {
  while (ReadLine()) {
    ++read_.line;
    if (text_.ends_with('\r')) text_.pop_back();
    if (read_.line == 1 && text_.starts_with("\xef\xbb\xbf")) text_.erase(0, 3);
    if (text_.find_first_not_of(" \t") != std::string::npos) return true;
  }
  return false;
}

/// The next line without its end, or as much of it as may be; false at the end of the input.
bool InputLines::ReadLine() {
  text_.clear();
  too_long_ = false;
  for (bool any = false;; any = true) {
    const int c = ReadByte();
    if (c == kEndOfInput) return any;
    if (c == '\n') return true;
    if (text_.size() < kLongest) {
      text_.push_back(static_cast<char>(c));
    } else {
      too_long_ = true;
    }
  }
}

/// The next byte, counted and summed; kEndOfInput at the end.
int InputLines::ReadByte() {
  int c = kEndOfInput;
  try {
    c = input_.rdbuf()->sbumpc();
  } catch (const std::ios_base::failure& error) {
    throw BrokenInput(what_ + ", line " + std::to_string(read_.line + 1) + ": cannot be read (" +
                      error.code().message() + ")");
  }
  if (c == kEndOfInput) return c;
  ++read_.bytes;
  read_.sum = (read_.sum ^ static_cast<std::uint64_t>(c)) * kSumFactor;
  return c;
}

}  // namespace polykern
