#include "polykern/core/text.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace polykern {
namespace {

constexpr std::size_t kLongestQuote = 30;
constexpr std::size_t kMostOffers = 3;
constexpr std::size_t kMostNames = 8;

char Lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::string Lowered(std::string_view text) {
  std::string lowered(text);
  std::ranges::transform(lowered, lowered.begin(), Lower);
  return lowered;
}

std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (Lower(a[i]) == Lower(b[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

std::string Suggest(std::string_view wanted, std::span<const std::string> names) {
  const std::size_t limit = std::max<std::size_t>(1, (wanted.size() + 1) / 3);
  std::vector<std::pair<std::size_t, std::size_t>> offers;  // distance, place
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::size_t distance = EditDistance(wanted, names[i]);
    if (!wanted.empty() && distance <= limit) offers.emplace_back(distance, i);
  }
  std::ranges::sort(offers);
  std::string text;
  if (!offers.empty()) {
    const std::size_t count = std::min(offers.size(), kMostOffers);
    text = "did you mean ";
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) text += i + 1 == count ? " or " : ", ";
      text += Quoted(names[offers[i].second]);
    }
    return text + "?";
  }
  if (names.empty()) return "none are available";
  text = "choose one of " + Joined(names.first(std::min(names.size(), kMostNames)), ", ", Quoted);
  if (names.size() > kMostNames) text += ", .. (" + std::to_string(names.size()) + " in all)";
  return text;
}

std::string Printable(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string printable;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7F) {
      printable += c;
    } else {
      printable += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return printable;
}

std::string Quoted(std::string_view text) {
  const bool cut = text.size() > kLongestQuote;
  if (cut) {
    std::size_t length = kLongestQuote;  // do not cut a UTF-8 character in two
    while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0U) == 0x80U) --length;
    text = text.substr(0, length);
  }
  std::string quoted = "\"";
  for (const char c : text) quoted += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
  return quoted + (cut ? "..\"" : "\"");
}

std::string ShellWord(std::string_view text) {
  const bool plain =
      !text.empty() && text.find_first_of(" '\"\\$&|;<>()[]{}*?#~`!\n\t") == std::string::npos;
  if (plain) return std::string(text);
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

}  // namespace polykern
