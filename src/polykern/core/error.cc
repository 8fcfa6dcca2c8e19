#include "polykern/core/error.h"

#include <algorithm>

namespace polykern {
namespace {

// Around an option: bytes that no name or path has for its own sake.
constexpr char kOptionBegin = '\x01';
constexpr char kOptionValue = '\x02';
constexpr char kOptionEnd = '\x03';

/// An option at the front of a text.
struct Marked {
  std::string_view key, value;
  std::size_t length = 0;  ///< of all of it; 0: there is none
};

Marked FindMarked(std::string_view text) {
  if (text.empty() || text.front() != kOptionBegin) return {};
  const std::size_t end = text.find(kOptionEnd);
  const std::size_t value = text.find(kOptionValue);
  if (end == std::string_view::npos || value > end) return {};
  const std::string_view key = text.substr(1, value - 1);
  if (key.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != key.npos) return {};
  return {key, text.substr(value + 1, end - value - 1), end + 1};
}

std::string Spell(std::string_view text, OptionSpelling spelling) {
  std::string spelt;
  for (std::size_t at = 0; at < text.size();) {
    const Marked option = FindMarked(text.substr(at));
    if (option.length > 0) {
      spelt += spelling(option.key, option.value);
    } else {
      spelt += text[at];
    }
    at += std::max<std::size_t>(1, option.length);
  }
  return spelt;
}

}  // namespace

std::string OptionName(std::string_view key, std::string_view value) {
  return kOptionBegin + std::string(key) + kOptionValue + std::string(value) + kOptionEnd;
}

std::string KeySpelling(std::string_view key, std::string_view value) {
  return std::string(key) + (value.empty() ? "" : "=") + std::string(value);
}

std::string ShellSpelling(std::string_view key, std::string_view value) {
  std::string name(key);
  std::ranges::replace(name, '_', '-');
  return "--" + name + (value.empty() ? "" : " ") + std::string(value);
}

Error::Error(const std::string& text)
    : std::runtime_error(Spell(text, KeySpelling)), marked_(text) {}

std::string Error::Spelled(OptionSpelling spelling) const {
  return Spell(marked_, spelling);
}

std::string Error::key() const {
  for (std::size_t at = 0; at < marked_.size(); ++at) {
    const Marked option = FindMarked(std::string_view(marked_).substr(at));
    if (option.length > 0) return std::string(option.key);
  }
  return "";
}

}  // namespace polykern
