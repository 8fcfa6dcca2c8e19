#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace polykern {

/// Words and numbers for messages. Pure functions of their arguments; they never fail.

/// The fewest insertions, deletions and replacements of one character that turn a into b,
/// capital and small letters being the same.
std::size_t EditDistance(std::string_view a, std::string_view b);

/// The end of a message about an unknown name: `did you mean "NO2" or "O3"?`, or, when nothing is
/// near, `choose one of "a", "b", ..` with the first few names, or that there is none.
std::string Suggest(std::string_view wanted, std::span<const std::string> names);

/// The text on one line, with control characters spelled as \xNN: nothing that others have written
/// moves a cursor, or looks like a line of ours.
std::string Printable(std::string_view text);

/// The text in double quotes, on one line, printable, and cut after about 30 characters.
std::string Quoted(std::string_view text);

/// The text with small letters in place of A to Z.
std::string Lowered(std::string_view text);

/// The items one after the other, with `separator` between them: "a, b, c". `word` makes an item's
/// text.
template <typename Items, typename Word = std::identity>
std::string Joined(const Items& items, std::string_view separator = ", ", Word word = {}) {
  std::string text;
  bool first = true;
  for (const auto& item : items) {
    if (!first) text += separator;
    first = false;
    text += std::invoke(word, item);
  }
  return text;
}

/// A number with as many digits as bring back every bit of it, and back. False, leaving something
/// in `value`, unless all of the text is such a number; "nan" and "inf" are.
template <typename Number>
std::string ExactText(Number value) {
  std::array<char, 32> digits{};
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
}
template <typename Number>
bool ReadExact(std::string_view text, Number& value) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end;
}

/// The text as a shell takes it for one word: in single quotes, if it needs them.
std::string ShellWord(std::string_view text);

}  // namespace polykern
