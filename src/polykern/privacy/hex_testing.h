// Bytes as standards write them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace polykern {

inline std::vector<std::uint8_t> FromHex(std::string_view digits) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes.push_back(
        static_cast<std::uint8_t>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

inline std::array<std::uint8_t, 32> KeyFromHex(std::string_view digits) {
  std::array<std::uint8_t, 32> key{};
  const std::vector<std::uint8_t> bytes = FromHex(digits);
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = bytes.at(i);
  return key;
}

inline std::string ToHex(std::span<const std::uint8_t> bytes) {
  std::string digits;
  for (const unsigned byte : bytes) {
    digits += {"0123456789abcdef"[byte / 16], "0123456789abcdef"[byte % 16]};
  }
  return digits;
}

}  // namespace polykern
