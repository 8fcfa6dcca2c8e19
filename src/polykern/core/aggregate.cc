#include "polykern/core/aggregate.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>

namespace polykern {

bool ExactSum::Representable(std::span<const float> values) {
  bool all = true;
  for (const float value : values) all &= std::abs(value) <= kLimit;  // false for NaN
  return all;
}

void ExactSum::Add(std::size_t offset, std::span<const float> values) {
  assert(offset + values.size() <= sums_.size());
  assert(Representable(values));
  // Adding 1.5 * 2^52 * unit leaves round(value / unit) in the low bits: a rounding to integer
  // that every compiler turns into vector code.
  constexpr double kMagic = 0x1.8p52 * kUnit;
  constexpr auto kMagicBits = std::bit_cast<std::int64_t>(kMagic);
  std::int64_t* sums = sums_.data() + offset;
  for (std::size_t i = 0; i < values.size(); ++i) {
    sums[i] += std::bit_cast<std::int64_t>(static_cast<double>(values[i]) + kMagic) - kMagicBits;
  }
}

void ExactSum::Merge(const ExactSum& other) {
  assert(other.size() == size());
  for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += other.sums_[i];
}

void ExactSum::Clear() {
  std::ranges::fill(sums_, 0);
}

}  // namespace polykern
