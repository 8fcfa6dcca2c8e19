#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "polykern/scalar/arithmetic_internal.h"

namespace polykern::scalar {
namespace {

/// Within 1e-7: angle = quarter * pi/2 + r, and polynomials of r.
void SineAndCosine(float angle, float& sine, float& cosine) {
  if (!(std::abs(angle) <= 32768)) {  // too far for pi/2 in two parts
    sine = static_cast<float>(std::sin(static_cast<double>(angle)));
    cosine = static_cast<float>(std::cos(static_cast<double>(angle)));
    return;
  }
  const float shifted = std::fma(angle, 0.636619772F, 0x1.8p23F);  // rounds to a whole number
  const float quarter = shifted - 0x1.8p23F;
  float r = std::fma(-quarter, 0x1.921fb6p+0F, angle);
  r = std::fma(-quarter, -0x1.777a5cp-25F, r);
  const float u = r * r;
  float s = std::fma(u, -1.9515295e-4F, 8.3321608e-3F);
  s = std::fma(u, s, -1.6666655e-1F);
  s = std::fma(u * r, s, r);
  float c = std::fma(u, 2.4438091e-5F, -1.3887365e-3F);
  c = std::fma(u, c, 4.1666647e-2F);
  c = std::fma(u, c, -0.5F);
  c = std::fma(u, c, 1.0F);
  const std::uint32_t turns = std::bit_cast<std::uint32_t>(shifted) % 4;
  sine = turns % 2 == 1 ? c : s;
  cosine = turns % 2 == 1 ? -s : c;
  if (turns >= 2) {
    sine = -sine;
    cosine = -cosine;
  }
}

/// rho . x, dimension after dimension.
float Angle(std::span<const float> rho, std::span<const float> x) {
  float angle = 0;
  for (std::size_t c = 0; c < x.size(); ++c) angle = std::fma(rho[c], x[c], angle);
  return angle;
}

float ScaleOf(const Waves& waves) {
  return 1 / std::sqrt(static_cast<float>(waves.sines.size()));
}

/// term(0) + term(1) + ..: every eighth to the same partial sum, and these in pairs.
template <class Term>
double SumInOrder(std::size_t count, const Term& term) {
  std::array<double, 8> partial{};
  for (std::size_t i = 0; i < count; ++i) partial.at(i % 8) += term(i);
  for (std::size_t half = 4; half > 0; half /= 2) {
    for (std::size_t p = 0; p < half; ++p) partial.at(p) += partial.at(p + half);
  }
  return partial[0];
}

/// exp(x) for x <= 0: 2^n times the series of the rest; 0 where that is not a normal number.
double ExpOfNegative(double x) {
  if (!(x >= -708)) return 0;
  const double shifted = std::fma(x, 1.4426950408889634, 0x1.8p52);  // n in the low bits
  const double n = shifted - 0x1.8p52;
  double rest = std::fma(-n, 0x1.62e42feep-1, x);  // ln 2 in two parts
  rest = std::fma(-n, 0x1.a39ef35793c76p-33, rest);
  double factorial = 6227020800;  // 13!
  double series = 1 / factorial;
  for (int k = 13; k > 0; --k) {
    factorial /= k;
    series = std::fma(series, rest, 1 / factorial);
  }
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(series) +
                               (std::bit_cast<std::uint64_t>(shifted) << 52U));
}

}  // namespace

Waves WavesOf(const KernelBank& bank, std::size_t kernel, std::span<const float> x) {
  const bool shared = !bank.SharedFrequencies().empty();
  const auto rho = shared ? bank.SharedFrequencies() : bank.Frequencies(kernel);
  Waves waves{Floats(bank.features()), Floats(bank.features())};
  for (std::size_t j = 0; j < bank.features(); ++j) {
    float angle = Angle(rho.subspan(j * x.size(), x.size()), x);
    if (shared) angle = bank.Scales()[kernel] * angle;
    SineAndCosine(angle, waves.sines[j], waves.cosines[j]);
  }
  return waves;
}

Floats Features(const Waves& waves) {
  Floats z;
  for (const float sine : waves.sines) z.push_back(ScaleOf(waves) * sine);
  for (const float cosine : waves.cosines) z.push_back(ScaleOf(waves) * cosine);
  return z;
}

float ThetaDotZ(std::span<const float> theta, const Waves& waves) {
  const std::size_t features = waves.sines.size();
  std::array<float, 4> chain{};  // each of every fourth feature
  for (std::size_t j = 0; j < features; ++j) {
    float& sum = chain.at(j % 4);
    sum = std::fma(theta[j], waves.sines[j], sum);
    sum = std::fma(theta[features + j], waves.cosines[j], sum);
  }
  return ((chain[0] + chain[2]) + (chain[1] + chain[3])) * ScaleOf(waves);
}

double Sum(std::span<const double> values) {
  return SumInOrder(values.size(), [&](std::size_t i) { return values[i]; });
}

double Dot(std::span<const double> a, std::span<const float> b) {
  return SumInOrder(a.size(), [&](std::size_t i) { return a[i] * static_cast<double>(b[i]); });
}

double SumOfSquares(std::span<const float> values) {
  return SumInOrder(values.size(), [&](std::size_t i) {
    return static_cast<double>(values[i]) * static_cast<double>(values[i]);
  });
}

double SumOfSquares(std::span<const double> values) {
  return SumInOrder(values.size(), [&](std::size_t i) { return values[i] * values[i]; });
}

Doubles SoftMin(std::span<const double> losses, double rate) {
  const double least = *std::ranges::min_element(losses);
  Doubles weights;
  for (const double loss : losses) {  // without 0 * infinity
    weights.push_back(loss == least ? 1 : ExpOfNegative(-rate * (loss - least)));
  }
  const double share = 1 / Sum(weights);
  for (double& weight : weights) weight *= share;
  return weights;
}

std::size_t DrawIndex(std::span<const double> probabilities, double uniform) {
  double cumulative = 0;
  for (std::size_t i = 0; i + 1 < probabilities.size(); ++i) {
    cumulative += probabilities[i];
    if (cumulative > uniform) return i;
  }
  return probabilities.size() - 1;
}

}  // namespace polykern::scalar
