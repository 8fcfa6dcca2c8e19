#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "polykern/core/kernels.h"

// Formulas in the order of operations that gives the CPU's bits. Pure; never fail.
namespace polykern::scalar {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

/// sin(rho_j . x) and cos(rho_j . x) of one kernel.
struct Waves {
  Floats sines;
  Floats cosines;
};
Waves WavesOf(const KernelBank& bank, std::size_t kernel, std::span<const float> x);

/// z (6): the sines, then the cosines, divided by sqrt(D).
Floats Features(const Waves& waves);
/// theta . z.
float ThetaDotZ(std::span<const float> theta, const Waves& waves);

/// Sums over eight partial sums.
double Sum(std::span<const double> values);
double Dot(std::span<const double> a, std::span<const float> b);
double SumOfSquares(std::span<const float> values);
double SumOfSquares(std::span<const double> values);

/// exp(-rate losses_i), divided by their sum: Hedge's weights.
Doubles SoftMin(std::span<const double> losses, double rate);

/// The first index whose cumulative probability exceeds `uniform`.
std::size_t DrawIndex(std::span<const double> probabilities, double uniform);

}  // namespace polykern::scalar
