#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace polykern {

/// Words for error messages. Pure functions of their arguments; they never fail.

/// The fewest insertions, deletions and replacements of one character that turn a into b,
/// capital and small letters being the same.
std::size_t EditDistance(std::string_view a, std::string_view b);

/// The end of a message about an unknown name: `did you mean "NO2" or "O3"?`, or, when nothing is
/// near, `choose one of "a", "b", ..` with the first few names.
std::string Suggest(std::string_view wanted, std::span<const std::string> names);

/// The text in double quotes, on one line, printable, and cut after about 30 characters.
std::string Quoted(std::string_view text);

/// The text as a shell takes it for one word: in single quotes, if it needs them.
std::string ShellWord(std::string_view text);

}  // namespace polykern
