#include "polykern/privacy/release_weights.h"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace polykern {
namespace {

using testing::ElementsAre;

TEST(ReleaseWeights, AreSixteenfoldBinomialsRounded) {
  EXPECT_THAT(ReleaseWeights(10).weights(), ElementsAre(16, 8, 6, 5, 4, 4, 4, 3, 3, 3));
  const ReleaseWeights all(ReleaseWeights::kMostReleases);
  EXPECT_EQ(all.releases(), ReleaseWeights::kMostReleases);
  long double root = 1;  // (2k over k) / 4^k
  for (std::size_t k = 0; k < all.releases(); ++k) {
    if (k > 0) root -= root / static_cast<long double>(2 * k);
    const auto rounded = static_cast<long double>(all.weights()[k]);
    // None is near enough to a half for another machine to round it to the other side.
    EXPECT_LT(std::abs(16 * root - rounded), 0.5L - 1e-6L) << k;
  }
}

TEST(ReleaseWeights, OfFewerReleasesAreTheFirstOfMore) {
  const ReleaseWeights few(20);
  const ReleaseWeights more(200);
  for (std::size_t k = 0; k < 20; ++k) {
    EXPECT_EQ(few.weights()[k], more.weights()[k]);
    EXPECT_EQ(few.decoding()[k], more.decoding()[k]);
  }
}

// c(q) b(q) (1 - q) = 1, coefficient by coefficient. Each is a sum of terms that are at most 16 b_0
// = 1 in size, of which 326 are not 0.
TEST(ReleaseWeights, AreUndoneByTheirDecoding) {
  const ReleaseWeights weights(1000);
  std::vector<double> product(1000);
  for (std::size_t k = 0; k < product.size(); ++k) {
    for (std::size_t j = 0; j <= k; ++j) {
      product[k] += static_cast<double>(weights.weights()[j]) * weights.decoding()[k - j];
    }
    EXPECT_NEAR(product[k], 1, 326 * 0x1p-52) << k;
  }
}

TEST(ReleaseWeights, GiveTheRunningSumOfThirtyReleasesTwiceTheNoiseOfOne) {
  const ReleaseWeights weights(64);
  // For the same rho: noise in proportion to the root of the squares.
  const auto factor = [&](std::size_t count) {
    return weights.RunningDeviation(count) *
           std::sqrt(static_cast<double>(weights.SquaresOf(count)));
  };
  EXPECT_DOUBLE_EQ(factor(1), 1);
  EXPECT_NEAR(factor(30), 2.15, 0.005);  // fresh noise for each release: sqrt(30) = 5.5
  EXPECT_NEAR(factor(64), 2.41, 0.005);  // 8
  for (std::size_t count = 1; count < 64; ++count) {
    EXPECT_GE(weights.RunningDeviation(count + 1), weights.RunningDeviation(count));
    EXPECT_LT(factor(count + 1), std::sqrt(static_cast<double>(count + 1)));
  }
  EXPECT_EQ(weights.SquaresOf(0), 0U);
  EXPECT_EQ(weights.SquaresOf(4), 256U + 64 + 36 + 25);
}

// Rounding and the end of the weights could have made the inverse grow: it does not.
TEST(ReleaseWeights, CanBeDecodedForAsManyReleasesAsThereMayBe) {
  const ReleaseWeights weights(ReleaseWeights::kMostReleases);
  EXPECT_LT(weights.RunningDeviation(64) * 16, 1.58);
  EXPECT_LT(weights.RunningDeviation(ReleaseWeights::kMostReleases) * 16, 3.5);
  for (const double b : weights.decoding()) EXPECT_LE(std::abs(b), 1.0 / 16);
}

}  // namespace
}  // namespace polykern
