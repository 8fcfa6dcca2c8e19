#include "polykern/privacy/correlated_noise.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

#include "polykern/core/error.h"

namespace polykern {
namespace {

/// Of all numbers that are alike in the ring, the one nearest to 0.
double NearestToZero(std::uint64_t number, unsigned bits) {
  return bits == 32 ? static_cast<double>(static_cast<std::int32_t>(number))
                    : static_cast<double>(static_cast<std::int64_t>(number));
}

}  // namespace

void ReleaseHistory::Add(std::span<const std::uint64_t> release) {
  assert(release.size() == numbers_);
  values_.insert(values_.end(), release.begin(), release.end());
}

void ReleaseHistory::Load(std::vector<std::uint64_t> values) {
  if (values.size() % numbers_ != 0) {
    throw Error("the history of noisy sums is damaged: " + std::to_string(values.size()) +
                " numbers are not releases of " + std::to_string(numbers_) +
                " each; start again with a new store for the server and another for the helper");
  }
  values_ = std::move(values);
}

void Correlate(const ReleaseWeights& weights, const ReleaseHistory& came_in,
               std::span<std::uint64_t> correlated) {
  assert(correlated.size() == came_in.numbers() && came_in.size() <= weights.releases());
  std::ranges::fill(correlated, 0);
  for (std::size_t age = 0; age < came_in.size(); ++age) {
    const std::uint64_t weight = weights.weights()[age];
    const std::span<const std::uint64_t> x = came_in[came_in.size() - 1 - age];
    for (std::size_t i = 0; i < x.size(); ++i) correlated[i] += weight * x[i];
  }
}

void DrawNoise(DiscreteGaussian& gaussian, std::span<std::uint64_t> noise) {
  for (std::uint64_t& number : noise) number = static_cast<std::uint64_t>(gaussian.Draw());
}

void DecodeRunningSums(const ReleaseWeights& weights, const ReleaseHistory& released, unsigned bits,
                       double unit, std::span<double> sums) {
  assert(sums.size() == released.numbers() && released.size() <= weights.releases());
  assert(bits == 32 || bits == 64);
  std::ranges::fill(sums, 0);
  for (std::size_t age = 0; age < released.size(); ++age) {
    const double weight = weights.decoding()[age] * unit;
    const std::span<const std::uint64_t> y = released[released.size() - 1 - age];
    for (std::size_t i = 0; i < y.size(); ++i) sums[i] += weight * NearestToZero(y[i], bits);
  }
}

}  // namespace polykern
