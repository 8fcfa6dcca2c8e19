#include "polykern/core/subset.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/experts.h"
#include "polykern/core/random.h"

namespace polykern {
namespace {

using testing::ElementsAre;

struct Drawn {
  std::vector<std::uint32_t> kernels;
  double probability = 0;
};

std::vector<double> WeightsOf(const std::vector<double>& losses, double rate = 1) {
  std::vector<double> weights(losses.size());
  HedgeWeights(losses, rate, weights);
  return weights;
}

Drawn Choose(const std::vector<double>& losses, std::size_t per_bin, double xi, double uniform,
             double rate = 1) {
  std::vector<std::uint32_t> order(losses.size());
  Drawn drawn;
  drawn.kernels.resize(per_bin);
  const Bin bin =
      ChooseBin(losses, WeightsOf(losses, rate), per_bin, xi, uniform, order, drawn.kernels);
  drawn.kernels.resize(bin.count);
  drawn.probability = bin.probability;
  return drawn;
}

/// All bins of Algorithm 1 with their probabilities (10), sorted by weight, the slow obvious way.
std::vector<Drawn> AllBins(const std::vector<double>& losses, std::size_t per_bin, double xi) {
  const auto weights = WeightsOf(losses);
  std::vector<std::uint32_t> order(losses.size());
  std::iota(order.begin(), order.end(), 0U);
  if (xi < 1) {
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return weights[a] > weights[b]; });
  }
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<Drawn> bins;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i % per_bin == 0) bins.emplace_back();
    bins.back().kernels.push_back(order[i]);
    bins.back().probability += (1 - xi) * weights[order[i]] / total;
  }
  for (Drawn& bin : bins) bin.probability += xi / static_cast<double>(bins.size());
  return bins;
}

std::vector<double> RandomLosses(Random& random, std::size_t count, bool ties) {
  std::vector<double> losses(count);
  for (double& loss : losses) {
    loss = ties ? static_cast<double>(random.Below(3)) : 4 * random.Uniform();
  }
  return losses;
}

TEST(Subset, EqualsTheSlowVersion) {
  Random random(1, Purpose::kTest);
  for (const std::size_t n : {1U, 2U, 5U, 12U, 51U}) {
    for (std::size_t per_bin = 1; per_bin <= n; ++per_bin) {
      for (const double xi : {0.01, 0.2, 0.5, 0.99, 1.0}) {
        for (const bool ties : {false, true}) {
          const auto losses = RandomLosses(random, n, ties);
          const auto bins = AllBins(losses, per_bin, xi);
          const double uniform = random.Uniform();
          double cumulative = 0;
          std::size_t expected = 0;
          while ((cumulative += bins[expected].probability) <= uniform) ++expected;
          const Drawn drawn = Choose(losses, per_bin, xi, uniform);
          ASSERT_EQ(drawn.kernels, bins[expected].kernels) << n << " " << per_bin << " " << xi;
          ASSERT_NEAR(drawn.probability, bins[expected].probability, 1e-14);
        }
      }
    }
  }
}

TEST(Subset, DrawsTheFirstBinWhoseCumulativeProbabilityExceedsTheUniform) {
  // Four bins of probability 1/4 each: the boundaries are exact.
  const std::vector<double> losses(4, 0.0);
  for (const double xi : {0.5, 1.0}) {
    for (std::uint32_t bin = 0; bin < 4; ++bin) {
      const double start = 0.25 * bin;
      EXPECT_THAT(Choose(losses, 1, xi, start).kernels, ElementsAre(bin));
      EXPECT_THAT(Choose(losses, 1, xi, std::nextafter(start + 0.25, 0.0)).kernels,
                  ElementsAre(bin));
    }
  }
}

TEST(Subset, CoversTheWholeUnitIntervalByItsProbabilities) {
  Random random(2, Purpose::kTest);
  for (const double xi : {0.2, 1.0}) {
    for (const std::size_t per_bin : {1U, 3U, 5U, 11U}) {
      const auto losses = RandomLosses(random, 11, false);
      // Walk from bin to bin by the probabilities returned; every kernel must come exactly once.
      std::vector<int> seen(11);
      double at = 0;
      std::size_t bins = 0;
      while (at < 1 - 1e-12) {
        const Drawn drawn = Choose(losses, per_bin, xi, std::max(0.0, at + 1e-13));
        for (const std::uint32_t kernel : drawn.kernels) ++seen[kernel];
        ASSERT_GT(drawn.probability, 0);
        at += drawn.probability;
        ++bins;
      }
      EXPECT_EQ(bins, (11 + per_bin - 1) / per_bin);
      EXPECT_NEAR(at, 1, 1e-12);
      EXPECT_THAT(seen, testing::Each(1));
    }
  }
}

TEST(Subset, DrawsBinsAsOftenAsTheirProbabilitySays) {
  Random random(3, Purpose::kTest);
  for (const double xi : {0.1, 0.6, 1.0}) {
    const auto losses = RandomLosses(random, 14, false);
    const auto bins = AllBins(losses, 3, xi);
    ASSERT_EQ(bins.size(), 5U);
    std::vector<double> counts(bins.size());
    constexpr int kDraws = 20000;
    for (int i = 0; i < kDraws; ++i) {
      const auto kernels = Choose(losses, 3, xi, random.Uniform()).kernels;
      for (std::size_t b = 0; b < bins.size(); ++b) counts[b] += bins[b].kernels == kernels;
    }
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0.0), kDraws);
    // Chi-square with 4 degrees of freedom: 23.5 has a tail of 1e-4.
    double chi_square = 0;
    for (std::size_t b = 0; b < bins.size(); ++b) {
      const double expected = kDraws * bins[b].probability;
      chi_square += (counts[b] - expected) * (counts[b] - expected) / expected;
    }
    EXPECT_LT(chi_square, 23.5) << xi;
  }
}

TEST(Subset, BreaksTiesByIndex) {
  const std::vector<double> losses = {2, 1, 2, 1, 1, 2};
  EXPECT_THAT(Choose(losses, 3, 0.5, 0).kernels, ElementsAre(1, 3, 4));
  EXPECT_THAT(Choose(losses, 3, 0.5, 0.999).kernels, ElementsAre(0, 2, 5));
}

TEST(Subset, OrdersByLossEvenWhereWeightsUnderflow) {
  // All weights but the first are 0 in double, yet the second bin is the second best.
  const std::vector<double> losses = {1e5, 0, 3e5, 2e5};
  EXPECT_THAT(Choose(losses, 1, 1e-3, 0.5).kernels, ElementsAre(1));
  const double boundary = (1 - 1e-3) + 1e-3 / 4;
  EXPECT_THAT(Choose(losses, 1, 1e-3, boundary + 1e-5).kernels, ElementsAre(0));
  EXPECT_THAT(Choose(losses, 1, 1e-3, boundary + 1e-5 + 1e-3 / 4).kernels, ElementsAre(3));
  EXPECT_THAT(Choose(losses, 1, 1e-3, boundary + 1e-5 + 1e-3 / 2).kernels, ElementsAre(2));
  EXPECT_NEAR(Choose(losses, 1, 1e-3, 0.9999).probability, 1e-3 / 4, 1e-17);
}

TEST(Subset, TakesKernelsInIndexOrderWithFullExploration) {
  const std::vector<double> losses = {5, 4, 3, 2, 1};
  EXPECT_THAT(Choose(losses, 2, 1, 0.0).kernels, ElementsAre(0, 1));
  EXPECT_THAT(Choose(losses, 2, 1, 0.4).kernels, ElementsAre(2, 3));
  EXPECT_THAT(Choose(losses, 2, 1, 0.9).kernels, ElementsAre(4));
  EXPECT_DOUBLE_EQ(Choose(losses, 2, 1, 0.9).probability, 1.0 / 3);
}

TEST(Subset, HasAShorterLastBin) {
  const std::vector<double> losses = {3, 1, 2, 0, 4};
  const Drawn drawn = Choose(losses, 3, 0.4, 0.9999);
  EXPECT_THAT(drawn.kernels, ElementsAre(0, 4));
  const auto weights = WeightsOf(losses);
  EXPECT_NEAR(drawn.probability, 0.6 * (weights[0] + weights[4]) + 0.2, 1e-15);
}

TEST(Subset, WritesNothingBeyondTheBin) {
  const std::vector<double> losses = {0, 1, 2};
  std::array<std::uint32_t, 5> order = {77, 77, 77, 77, 77};
  std::array<std::uint32_t, 4> kernels = {88, 88, 88, 88};
  const Bin bin = ChooseBin(losses, WeightsOf(losses), 2, 1, 0.9, order, kernels);
  EXPECT_EQ(bin.count, 1U);
  EXPECT_THAT(kernels, ElementsAre(2, 88, 88, 88));
  EXPECT_EQ(order[3], 77U);
  EXPECT_EQ(order[4], 77U);
}

TEST(Subset, IsCertainWhenOneBinHoldsEverything) {
  const std::vector<double> losses = {3, 1, 2};
  for (const double xi : {0.3, 1.0}) {
    const Drawn drawn = Choose(losses, 3, xi, 0.7);
    EXPECT_EQ(drawn.kernels.size(), 3U);
    EXPECT_NEAR(drawn.probability, 1, 1e-15);
  }
}

TEST(Subset, GivesTheLastBinWhatRoundingLeft) {
  // Thirds and the like do not add up to 1 in double: the largest uniform must still find a bin.
  const double largest = std::nextafter(1.0, 0.0);
  for (std::size_t n = 1; n <= 60; ++n) {
    const std::vector<double> losses(n, 0.0);
    for (const double xi : {0.3, 1.0}) {
      EXPECT_THAT(Choose(losses, 1, xi, largest).kernels,
                  ElementsAre(static_cast<std::uint32_t>(n - 1)));
    }
  }
}

TEST(DrawIndex, GivesTheFirstWhoseCumulativeProbabilityExceedsTheDraw) {
  const std::vector<double> p = {0.25, 0, 0.5, 0.25};
  EXPECT_EQ(DrawIndex(p, 0), 0U);
  EXPECT_EQ(DrawIndex(p, 0.2499), 0U);
  EXPECT_EQ(DrawIndex(p, 0.25), 2U);
  EXPECT_EQ(DrawIndex(p, 0.7499), 2U);
  EXPECT_EQ(DrawIndex(p, 0.75), 3U);
}

TEST(DrawIndex, GivesTheLastOneWhatRoundingLeft) {
  const std::vector<double> short_of_one = {0.3, 0.3, 0.3999999};
  EXPECT_EQ(DrawIndex(short_of_one, 0.99999999), 2U);
  EXPECT_EQ(DrawIndex(std::vector<double>{1.0}, 0.5), 0U);
}

TEST(Subset, PutsEveryKernelIntoOneBinAndGivesEachItsShareOfExploration) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed, Purpose::kTest);
    const std::size_t n = 1 + random.Below(30);
    const std::size_t per_bin = 1 + random.Below(n);
    const double xi = std::array{0.05, 0.4, 1.0}.at(random.Below(3));
    const auto losses = RandomLosses(random, n, seed % 2 == 0);
    const std::size_t bins = (n + per_bin - 1) / per_bin;
    std::vector<int> seen(n);
    double uniform = 0;
    double total = 0;
    for (std::size_t bin = 0; bin < bins; ++bin) {  // every draw begins where the last bin ended
      const Drawn drawn = Choose(losses, per_bin, xi, std::min(uniform + 1e-12, 1 - 1e-12));
      for (const std::uint32_t kernel : drawn.kernels) ++seen[kernel];
      EXPECT_GE(drawn.probability, xi / static_cast<double>(bins) * (1 - 1e-15));
      EXPECT_LE(drawn.probability, 1 + 1e-12);
      uniform += drawn.probability;
      total += drawn.probability;
    }
    EXPECT_THAT(seen, testing::Each(1)) << seed;
    EXPECT_NEAR(total, 1, 1e-12);
  }
}

TEST(Subset, DrawsHeavierKernelsFirst) {
  Random random(3, Purpose::kTest);
  const auto losses = RandomLosses(random, 20, false);
  const auto first = Choose(losses, 5, 0.2, 0).kernels;
  ASSERT_EQ(first.size(), 5U);
  for (std::size_t i = 1; i < 5; ++i) EXPECT_LT(losses[first[i - 1]], losses[first[i]]);
  for (std::size_t kernel = 0; kernel < 20; ++kernel) {
    if (std::ranges::find(first, kernel) == first.end()) {
      EXPECT_GT(losses[kernel], losses[first.back()]);
    }
  }
}

TEST(DrawIndex, EqualsASlowSearchAndNeverDrawsWhatCannotBe) {
  Random random(4, Purpose::kTest);
  for (int i = 0; i < 500; ++i) {
    std::vector<double> probabilities(1 + random.Below(6));
    double sum = 0;
    for (double& p : probabilities) sum += p = random.Below(3) == 0 ? 0 : random.Uniform();
    if (sum == 0) continue;
    for (double& p : probabilities) p /= sum;
    const double uniform = 0.999 * random.Uniform();
    const std::size_t drawn = DrawIndex(probabilities, uniform);
    double below = 0;
    for (std::size_t k = 0; k < drawn; ++k) below += probabilities[k];
    EXPECT_LE(below, uniform);
    EXPECT_GT(below + probabilities[drawn], uniform);
    EXPECT_GT(probabilities[drawn], 0);
  }
}

}  // namespace
}  // namespace polykern
