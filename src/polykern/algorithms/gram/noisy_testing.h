#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/gram/gram_grid.h"
#include "polykern/algorithms/gram/gram_sums.h"
#include "polykern/algorithms/shared/twin_testing.h"
#include "polykern/core/kernels.h"
#include "polykern/core/random.h"

namespace polykern {

// For the tests of sums that get noise.

inline constexpr std::size_t kNoisyFeatures = 10;
inline constexpr std::size_t kNoisyWidth = 20;

/// Inputs in [0, 1), and a sine of the last of them.
inline LearntSamples NoisySamples(std::size_t count, std::uint64_t seed) {
  Random random(seed, Purpose::kTest);
  LearntSamples samples;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < twin::kDimension; ++j) {
      samples.x.push_back(static_cast<float>(random.Uniform()));
    }
    samples.y.push_back(0.5 + 0.4 * std::sin(4 * static_cast<double>(samples.x.back())));
  }
  return samples;
}

/// The sums of a kernel, as they are sent and one by one.
class Noisy : public testing::Test {
 protected:
  std::vector<std::uint64_t> Sums(const LearntSamples& samples) {
    std::vector<std::uint64_t> integers;
    sums_.Append(0, samples, twin::Vector{1}, integers);
    return integers;
  }
  double Number(std::uint64_t sent) const {
    return static_cast<double>(static_cast<std::int64_t>(sent)) * grid_.unit();
  }
  twin::Vector Numbers(const LearntSamples& samples) {
    twin::Vector numbers;
    for (const std::uint64_t sent : Sums(samples)) numbers.push_back(Number(sent));
    return numbers;
  }
  /// z of each sample, sine and cosine in turn, and y.
  std::vector<std::pair<twin::Vector, double>> Rows(const LearntSamples& samples) const {
    std::vector<std::pair<twin::Vector, double>> rows;
    for (std::size_t s = 0; s < samples.y.size(); ++s) {
      const auto x = std::span(samples.x).subspan(s * twin::kDimension, twin::kDimension);
      const twin::Vector all = twin::FeaturesOf(bank_, 0, twin::Vector(x.begin(), x.end()));
      twin::Vector z;
      for (std::size_t j = 0; j < kNoisyFeatures; ++j) {
        z.push_back(all[j]);
        z.push_back(all[kNoisyFeatures + j]);
      }
      rows.emplace_back(z, samples.y[s] - 0.5);
    }
    return rows;
  }

  KernelBank bank_{std::vector<Kernel>{{KernelKind::kGaussian, 0.3}}, twin::kDimension,
                   kNoisyFeatures, 5};
  GramGrid grid_ = GramGrid::Noisy(kNoisyFeatures);
  QuarteredKernels kernels_{bank_};
  GramSums sums_{grid_, kernels_};
};

}  // namespace polykern
