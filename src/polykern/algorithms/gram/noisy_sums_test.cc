// The sums that get noise, and what is solved from them.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "polykern/algorithms/broken_rule.h"
#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/gram/gram_server.h"
#include "polykern/algorithms/gram/noisy_server.h"
#include "polykern/algorithms/gram/noisy_testing.h"
#include "polykern/algorithms/shared/twin_testing.h"

namespace polykern {
namespace {

using twin::Vector;

TEST_F(Noisy, SumsAgreeWithTheSlowVersion) {
  const LearntSamples samples = NoisySamples(150, 1);
  const Vector sent = Numbers(samples);
  ASSERT_EQ(sent.size(), grid_.NumbersOf(0));
  Vector slow;
  const auto rows = Rows(samples);
  const auto sum = [&](auto&& product) {
    double all = 0;
    for (const auto& [z, y] : rows) all += product(z, y);
    slow.push_back(all);
  };
  for (std::size_t i = 0; i < kNoisyWidth; ++i) {
    for (std::size_t j = i; j < kNoisyWidth; ++j) {
      if (i % 2 == 0 && j == i) {  // cos 2a / (sqrt 2 D), sin 2a / (sqrt 2 D)
        sum([&](const Vector& z, double) {
          return (z[i + 1] * z[i + 1] - z[i] * z[i]) / std::sqrt(2);
        });
        sum([&](const Vector& z, double) { return std::sqrt(2) * z[i] * z[i + 1]; });
      }
      if (i / 2 != j / 2) sum([&](const Vector& z, double) { return z[i] * z[j]; });
    }
    sum([&](const Vector& z, double y) { return y * z[i]; });
  }
  ASSERT_EQ(slow.size(), sent.size());
  // As in GramSums' test, 2^-17 for the factors of 150 samples, and the last rounding.
  for (std::size_t i = 0; i < slow.size(); ++i) {
    EXPECT_NEAR(sent[i], slow[i], 150 * 0x1p-17 + grid_.unit() / 2);
  }
}

TEST_F(Noisy, SumsOfOneSampleHaveTheLengthThatNoiseIsFor) {
  // Numbers are rounded to within half a unit, so the length by at most sqrt(numbers) of them.
  const double rounding =
      0.5 * grid_.unit() * std::sqrt(static_cast<double>(grid_.NumbersOf(0))) + 0x1p-14;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    LearntSamples one = NoisySamples(1, seed);
    one.y[0] = seed % 3 == 0 ? 7 : seed % 3 == 1 ? -3 : 0.5;  // beyond the range, or the middle
    const Vector numbers = Numbers(one);
    const double length = std::sqrt(twin::Dot(numbers, numbers));
    EXPECT_NEAR(length, std::sqrt(seed % 3 < 2 ? 0.75 : 0.5), rounding);
    EXPECT_LE(length, std::sqrt(0.75) * (1 + 0x1p-14) + rounding - 0x1p-14) << "accounting's";
  }
}

TEST_F(Noisy, SumsThatNoSamplesHaveAreRefused) {
  const LearntSamples samples = NoisySamples(20, 1);
  Updates updates;
  updates.clients = {3};
  updates.first = {0, 1};
  updates.blocks = {0};
  updates.samples = {20};
  updates.unknowns = {80};
  updates.fresh = {{20, 80}};
  updates.new_unknowns = {80};
  updates.integers = Sums(samples);
  EXPECT_NO_THROW(CheckGramSums(grid_, 512, updates));
  updates.integers[7] = static_cast<std::uint64_t>(std::int64_t{-4} << 16U);
  EXPECT_THROW(CheckGramSums(grid_, 512, updates), BrokenRule);
}

TEST_F(Noisy, SolutionWithoutNoiseIsTheRidgeRegression) {
  const LearntSamples samples = NoisySamples(300, 2);
  const auto theta = SolveNoisy(grid_, Numbers(samples), 300, 0, 0.1);
  std::vector<std::pair<Vector, double>> rows = Rows(samples);
  // (A + ridge) theta = b, within the rounding of 300 samples' sums.
  for (std::size_t i = 0; i < kNoisyWidth; ++i) {
    double left = 0.1 * theta[i];
    double right = 0;
    for (const auto& [z, y] : rows) {
      left += z[i] * twin::Dot(z, theta);
      right += y * z[i];
    }
    EXPECT_NEAR(left, right, 0.02);
  }
}

TEST_F(Noisy, SolutionUsesTheNearestMatrixThatCanBe) {
  // A diagonal matrix of 10 samples with two numbers that cannot be: eigenvalues 1/2 +- 3 of the
  // first pair, 1/2 of all others. Lowered by (3.5 - 10 + 18 / 2) / 19 = 5/38 they sum to 10.
  Vector numbers(grid_.NumbersOf(0));
  numbers[0] = -3 * std::sqrt(2);  // ss = 1/2 + 3, cc = 1/2 - 3
  numbers[kNoisyWidth] = 1;        // b of the sine
  const auto b_of_cosine = kNoisyWidth + 1 + kNoisyWidth - 2;
  numbers[b_of_cosine] = 1;
  const auto theta = SolveNoisy(grid_, numbers, 10, 0, 0.25);
  EXPECT_NEAR(theta[0], 1 / (3.5 - 5.0 / 38 + 0.25), 1e-12);
  EXPECT_NEAR(theta[1], 1 / 0.25, 1e-12);
  for (std::size_t i = 2; i < kNoisyWidth; ++i) EXPECT_EQ(theta[i], 0);
}

TEST_F(Noisy, RidgeIsAboutAsLargeAsTheNoise) {
  Vector numbers(grid_.NumbersOf(0));
  numbers[kNoisyWidth] = 1;
  const auto theta = SolveNoisy(grid_, numbers, 100, 3, 0.25);
  EXPECT_NEAR(theta[0], 1 / (5 + 3 * std::sqrt(20)), 1e-12) << "100 samples have 5 in each of 20";
}

}  // namespace
}  // namespace polykern
