#pragma once

#include <cstdint>

namespace polykern {

/// base^exponent by squaring: the same bits everywhere, unlike std::pow.
inline double WholePower(double base, std::uint64_t exponent) {
  double power = 1;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) power *= base;
    base *= base;
  }
  return power;
}

}  // namespace polykern
