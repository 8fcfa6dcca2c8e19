#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace polykern {

/// An option in the text of an Error, by its key: "learning_rate". A library does not know how its
/// user spells options, so the text marks the key, and the caller that shows it chooses a spelling.
/// `value`: one that the option has or should get; empty: none.
std::string OptionName(std::string_view key, std::string_view value = {});

/// How an option of an Error's text is shown.
using OptionSpelling = std::string (*)(std::string_view key, std::string_view value);

/// As programs and Python write it: "learning_rate", "scaling=norm".
std::string KeySpelling(std::string_view key, std::string_view value);
/// As a shell takes it: "--learning-rate", "--scaling norm". Also for whole commands in a text,
/// which are typed into a shell whatever language shows them.
std::string ShellSpelling(std::string_view key, std::string_view value = {});

/// A user's mistake: a file, an option, a message. The text is one line that says what is wrong,
/// where, and what to do. Thrown at the edge, before any state changes; programs print it once
/// and exit with 1. A programmer's mistake is an assert instead.
class Error : public std::runtime_error {
 public:
  /// `text` may name options with OptionName; what() then shows them in KeySpelling.
  explicit Error(const std::string& text);

  /// The text with every option in another spelling.
  std::string Spelled(OptionSpelling spelling) const;
  /// The text as it was given: for a further Error with more around it.
  const std::string& marked() const { return marked_; }
  /// The first option that the text names; empty: none.
  std::string key() const;

 private:
  std::string marked_;
};

}  // namespace polykern
