#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "polykern/algorithms/options.h"
#include "polykern/scalar/arithmetic_internal.h"

// What a client learns about its experts, and on its own.
namespace polykern::scalar {

/// AdaHedge: the rate that a mixability gap gives, and the gap after one more step with these
/// weights. Adds the step's losses to the cumulative ones.
double AdaHedgeRate(double gap, std::size_t experts, double pace = 1);
double LearnAdaHedge(std::span<const double> step, std::span<const double> weights, double gap,
                     std::span<double> losses, double pace = 1);

/// Mixture (core/experts.h): its state is the experts' cumulative losses and the mixability gap.
Doubles MixtureWeights(const AlgorithmOptions& options, std::span<const double> state,
                       double pace = 1);
double MixtureOf(const AlgorithmOptions& options, std::span<const double> weights,
                 std::span<const float> f);
void LearnMixture(const AlgorithmOptions& options, std::span<const double> step,
                  std::span<const double> weights, std::span<double> state, double pace = 1);

/// Algorithm 1 of the paper.
struct Choice {
  std::vector<std::uint32_t> kernels;
  double probability = 1;
};
Choice ChooseKernels(std::span<const double> losses, std::span<const double> weights,
                     std::size_t per_upload, double xi, double uniform);

/// RecursiveLeastSquares: its state is how many samples there were, theta, and P.
void LearnRegression(const AlgorithmOptions& options, std::span<const float> z, double y,
                     std::span<double> state);
inline std::size_t RegressionSize(std::size_t width) {
  return 1 + width + width * width;
}

}  // namespace polykern::scalar
