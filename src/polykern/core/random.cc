#include "polykern/core/random.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include <Random123/philox.h>

namespace polykern {
namespace {

/// Natural logarithm from + - * / alone, so that no bit depends on the C library.
double Log(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // exact, in [1/2, 1)
  if (mantissa < 0.70710678118654752440) {
    mantissa *= 2;
    --exponent;
  }
  // ln m = 2 atanh(s) with |s| < 0.172: 12 odd terms reach double precision.
  const double s = (mantissa - 1) / (mantissa + 1);
  const double square = s * s;
  double series = 0;
  for (int odd = 23; odd >= 1; odd -= 2) series = series * square + 1.0 / odd;
  return exponent * 0.69314718055994530942 + 2 * s * series;
}

/// Exponential function from + - * / alone, for x <= 0.
double Exp(double x) {
  if (x < -745) return 0;
  const int power = static_cast<int>(x * 1.44269504088896340736 - 0.5);
  const double rest = x - power * 0.69314718055994530942;  // |rest| < 0.35: 16 terms are enough
  double series = 1;
  for (int i = 16; i >= 1; --i) series = 1 + series * rest / i;
  return std::ldexp(series, power);
}

/// Horner's rule; coefficients from the constant upwards.
double Polynomial(const std::array<double, 8>& c, double x) {
  double value = 0;
  for (auto it = c.rbegin(); it != c.rend(); ++it) value = value * x + *it;
  return value;
}

}  // namespace

double NormalQuantile(double u) {
  // Wichura's AS 241 (1988): one rational function in the middle, two for the tails.
  const double q = u - 0.5;
  if (std::abs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q *
           Polynomial({3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
                       1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
                       3.3430575583588128105e4, 2.5090809287301226727e3},
                      r) /
           Polynomial({1.0, 4.2313330701600911252e1, 6.8718700749205790830e2,
                       5.3941960214247511077e3, 2.1213794301586595867e4, 3.9307895800092710610e4,
                       2.8729085735721942674e4, 5.2264952788528545610e3},
                      r);
  }
  double r = std::sqrt(-Log(std::min(u, 1 - u)));
  double tail = 0;
  if (r <= 5) {
    r -= 1.6;
    tail =
        Polynomial({1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
                    3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
                    2.27238449892691845833e-2, 7.74545014278341407640e-4},
                   r) /
        Polynomial({1.0, 2.05319162663775882187e0, 1.67638483018380384940e0,
                    6.89767334985100004550e-1, 1.48103976427480074590e-1, 1.51986665636164571966e-2,
                    5.47593808499534494600e-4, 1.05075007164441684324e-9},
                   r);
  } else {
    r -= 5;
    tail =
        Polynomial({6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
                    2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                    2.71155556874348757815e-5, 2.01033439929228813265e-7},
                   r) /
        Polynomial({1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1,
                    1.48753612908506148525e-2, 7.86869131145613259100e-4, 1.84631831751005468180e-5,
                    1.42151175831644588870e-7, 2.04426310338993978564e-15},
                   r);
  }
  return q < 0 ? -tail : tail;
}

Random::Random(std::uint64_t seed, Purpose purpose, std::uint64_t a, std::uint64_t b)
    : counter_{0, b, a, static_cast<std::uint64_t>(purpose)}, seed_(seed) {}

std::uint64_t Random::Bits() {
  if (used_ == 4) {
    const r123::Philox4x64 philox;
    const auto block = philox({{counter_[0], counter_[1], counter_[2], counter_[3]}}, {{seed_, 0}});
    std::copy(block.begin(), block.end(), block_.begin());
    ++counter_[0];
    used_ = 0;
  }
  return block_[static_cast<std::size_t>(used_++)];
}

double Random::Uniform() {
  return static_cast<double>(Bits() >> 11) * 0x1p-53;
}

double Random::OpenUniform() {
  return (static_cast<double>(Bits() >> 12) + 0.5) * 0x1p-52;
}

std::uint64_t Random::Below(std::uint64_t n) {
  assert(n > 0);
  // Rejects the last, incomplete run of n, so that every value is equally likely.
  const std::uint64_t limit = n * (UINT64_MAX / n);
  std::uint64_t bits = Bits();
  while (bits >= limit) bits = Bits();
  return bits % n;
}

double Random::Normal() {
  return NormalQuantile(OpenUniform());
}

double Random::Exponential() {
  return -Log(OpenUniform());
}

double Random::Gamma(double shape) {
  assert(shape > 0);
  if (shape < 1) {  // Gamma(a) = Gamma(a + 1) U^(1/a)
    const double whole = Gamma(shape + 1);
    return whole * Exp(Log(OpenUniform()) / shape);
  }
  // Marsaglia and Tsang (2000).
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = Normal();
    const double v = 1 + c * x;
    if (v <= 0) continue;
    const double cube = v * v * v;
    if (Log(OpenUniform()) < 0.5 * x * x + d - d * cube + d * Log(cube)) return d * cube;
  }
}

}  // namespace polykern
