#include "polykern/core/double_sum.h"

#include <bit>
#include <cmath>
#include <limits>

namespace polykern {
namespace {

constexpr std::size_t kDigits = DoubleSum::kWords - 1;
constexpr int kDigitBits = 32;
constexpr int kLowest = -1074;  // the exponent of the least double
constexpr std::uint64_t kDigitMask = 0xffffffff;

}  // namespace

void DoubleSum::Add(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto exponent = static_cast<unsigned>(bits >> 52 & 0x7ff);
  std::uint64_t mantissa = bits & ((std::uint64_t{1} << 52) - 1);
  if (exponent == 0x7ff) {
    ++words_[kDigits];
    return;
  }
  if (exponent > 0) mantissa |= std::uint64_t{1} << 52;
  const unsigned place = exponent > 0 ? exponent - 1 : 0;  // of the mantissa's last bit
  const unsigned shift = place % kDigitBits;
  std::int64_t* digit = words_.data() + place / kDigitBits;
  // 32 bits of the mantissa and the 21 above them, shifted by at most 31, fit 64 bits each.
  const std::uint64_t low = (mantissa & kDigitMask) << shift;
  const std::uint64_t high = (mantissa >> kDigitBits) << shift;
  const auto first = static_cast<std::int64_t>(low & kDigitMask);
  const auto second = static_cast<std::int64_t>((low >> kDigitBits) + (high & kDigitMask));
  const auto third = static_cast<std::int64_t>(high >> kDigitBits);
  const std::int64_t sign = std::signbit(value) ? -1 : 1;
  digit[0] += sign * first;
  digit[1] += sign * second;
  digit[2] += sign * third;
}

void DoubleSum::Merge(const DoubleSum& other) {
  for (std::size_t i = 0; i < kWords; ++i) words_[i] += other.words_[i];
}

double DoubleSum::Value(std::span<const std::int64_t, kWords> words) {
  if (words[kDigits] != 0) return std::numeric_limits<double>::infinity();
  std::array<std::int64_t, kDigits> digits{};
  const auto carry = [&](std::int64_t sign) {  // every digit to 0 .. 2^32 - 1 but the highest
    std::int64_t over = 0;
    for (std::size_t i = 0; i < kDigits; ++i) {
      const std::int64_t all = sign * words[i] + over;
      over = all >> kDigitBits;
      digits[i] = all & static_cast<std::int64_t>(kDigitMask);
    }
    return over >= 0;
  };
  const bool positive = carry(1);
  if (!positive) carry(-1);
  double value = 0;
  for (std::size_t i = 0; i < kDigits; ++i) {
    if (digits[i] == 0) continue;
    value += std::ldexp(static_cast<double>(digits[i]), kDigitBits * static_cast<int>(i) + kLowest);
  }
  return positive ? value : -value;
}

}  // namespace polykern
