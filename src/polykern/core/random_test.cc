#include "polykern/core/random.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace polykern {
namespace {

constexpr std::uint64_t kSeed = 20221128;

struct Moments {
  double mean = 0;
  double variance = 0;
};

/// Mean, and variance about the given true mean, of `count` draws.
template <typename Sampler>
Moments MomentsOf(int count, double true_mean, Sampler sampler) {
  Moments moments;
  for (int i = 0; i < count; ++i) {
    const double value = sampler();
    moments.mean += value / count;
    moments.variance += (value - true_mean) * (value - true_mean) / count;
  }
  return moments;
}

/// By how much of itself NormalQuantile(u) misses the number whose normal CDF is u, found by one
/// Newton step from it in long double.
long double QuantileError(double u) {
  const auto x = static_cast<long double>(NormalQuantile(u));
  const long double root_half = std::sqrt(0.5L);
  const long double density = std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0L));
  long double miss = 0;
  if (std::abs(x) < 0.6L) {  // in the middle the CDF minus 1/2 keeps all its digits
    miss = std::erf(x * root_half) / 2 - (static_cast<long double>(u) - 0.5L);
  } else if (x < 0) {
    miss = std::erfc(-x * root_half) / 2 - static_cast<long double>(u);
  } else {
    miss = (1 - static_cast<long double>(u)) - std::erfc(x * root_half) / 2;
  }
  return std::abs(miss / density / x);
}

TEST(Random, IsPhilox4x64WithTenRounds) {
  // The known answer for counter 0 and key 0 that Random123 is distributed with.
  Random random(0, static_cast<Purpose>(0));
  EXPECT_EQ(random.Bits(), 0x16554d9eca36314cU);
  EXPECT_EQ(random.Bits(), 0xdb20fe9d672d0fdcU);
  EXPECT_EQ(random.Bits(), 0xd7e772cee186176bU);
  EXPECT_EQ(random.Bits(), 0x7e68b68aec7ba23bU);
}

TEST(Random, GivesTheSameBitsForTheSameKey) {
  Random one(kSeed, Purpose::kTest, 3, 4);
  Random two(kSeed, Purpose::kTest, 3, 4);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(one.Bits(), two.Bits());
}

TEST(Random, SharesNoNumbersBetweenKeys) {
  // Neighbouring seeds, purposes, a and b, with a and b also swapped; 64-bit numbers do not
  // coincide by chance.
  std::set<std::uint64_t> seen;
  std::size_t drawn = 0;
  for (std::uint64_t seed : {0, 1, 2}) {
    for (std::uint64_t purpose : {0, 1, 2, 99}) {
      for (std::uint64_t a : {0, 1, 2, 3}) {
        for (std::uint64_t b : {0, 1, 2, 3}) {
          Random random(seed, static_cast<Purpose>(purpose), a, b);
          for (int i = 0; i < 21; ++i, ++drawn) seen.insert(random.Bits());
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), drawn);
}

TEST(Random, UniformLiesInTheHalfOpenUnitIntervalAndIsFlat) {
  Random random(kSeed, Purpose::kTest, 1);
  constexpr int kDraws = 200000;
  constexpr int kBins = 64;
  std::array<double, kBins> counts{};
  for (int i = 0; i < kDraws; ++i) {
    const double u = random.Uniform();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    ++counts.at(static_cast<std::size_t>(u * kBins));
  }
  // Chi-square with 63 degrees of freedom: standard deviation sqrt(126), five of them allowed.
  const double expected = static_cast<double>(kDraws) / kBins;
  double chi_square = 0;
  for (const double count : counts)
    chi_square += (count - expected) * (count - expected) / expected;
  EXPECT_LT(chi_square, (kBins - 1) + 5 * std::sqrt(2.0 * (kBins - 1)));
}

TEST(Random, UniformUsesAllItsFiftyThreeBits) {
  Random random(kSeed, Purpose::kTest, 2);
  std::uint64_t ones = 0;
  std::uint64_t zeros = 0;
  for (int i = 0; i < 200; ++i) {
    const double scaled = random.Uniform() * 0x1p53;
    ASSERT_EQ(scaled, std::floor(scaled));
    const auto bits = static_cast<std::uint64_t>(scaled);
    ones |= bits;
    zeros |= ~bits;
  }
  constexpr std::uint64_t kAll = (std::uint64_t{1} << 53) - 1;
  EXPECT_EQ(ones, kAll);
  EXPECT_EQ(zeros & kAll, kAll);
}

TEST(Random, BelowIsUnbiased) {
  Random random(kSeed, Purpose::kTest, 3);
  constexpr int kDraws = 140000;
  constexpr std::uint64_t kSides = 7;
  std::array<double, kSides> counts{};
  for (int i = 0; i < kDraws; ++i) ++counts.at(random.Below(kSides));
  // Each count is binomial; five standard errors.
  const double expected = static_cast<double>(kDraws) / kSides;
  const double error = std::sqrt(expected * (1 - 1.0 / kSides));
  for (const double count : counts) EXPECT_NEAR(count, expected, 5 * error);
}

TEST(Random, BelowIsUnbiasedWhereTheRemainderAloneWouldNotBe) {
  // With n = 3/4 of 2^64, bits % n would fall into the lower third twice as often as elsewhere.
  Random random(kSeed, Purpose::kTest, 4);
  constexpr std::uint64_t kThird = std::uint64_t{1} << 62;
  constexpr int kDraws = 60000;
  std::array<double, 3> counts{};
  for (int i = 0; i < kDraws; ++i) ++counts.at(random.Below(3 * kThird) / kThird);
  const double error = std::sqrt(kDraws * (1.0 / 3) * (2.0 / 3));  // binomial; five of them
  for (const double count : counts) EXPECT_NEAR(count, kDraws / 3.0, 5 * error);
}

TEST(Random, BelowOneIsAlwaysZero) {
  Random random(kSeed, Purpose::kTest, 5);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(random.Below(1), 0U);
}

TEST(NormalQuantile, InvertsTheNormalDistributionFunction) {
  double worst = 0;
  double worst_at = 0;
  const auto check = [&](double u) {
    const auto error = static_cast<double>(QuantileError(u));
    if (!(error <= worst)) {
      worst = error;
      worst_at = u;
    }
  };
  for (int i = 0; i < 2397; ++i) check(std::pow(10, -300 + 0.125 * i));
  for (int i = 0; i < 248; ++i) check(1 - std::pow(10, -15.9 + 0.0625 * i));
  check(1 - 1e-16);
  for (int i = 1; i < 1000; ++i) {
    if (i != 500) check(i / 1000.0);
  }
  for (int power = 2; power < 53; ++power) {
    check(0.5 + std::ldexp(1.0, -power));
    check(0.5 - std::ldexp(1.0, -power));
  }
  EXPECT_LE(worst, 1e-14) << "at u = " << worst_at;
}

TEST(NormalQuantile, IsOddAboutOneHalf) {
  for (const double u : {0x1p-50, 0x1p-20, 0x1p-4, 0.0625, 0.25, 0.4375, 0.49609375}) {
    EXPECT_EQ(NormalQuantile(u), -NormalQuantile(1 - u));
    EXPECT_LT(NormalQuantile(u), 0);
  }
  EXPECT_EQ(NormalQuantile(0.5), 0);
}

TEST(NormalQuantile, GrowsAcrossTheSeamsOfItsThreeApproximations) {
  // The rational functions change at |u - 1/2| = 0.425 and at u = exp(-25).
  for (const double seam : {0.075, 0.925, std::exp(-25.0)}) {
    const double step = 1e-9 * seam;
    double before = NormalQuantile(seam - 20 * step);
    for (int i = -19; i <= 20; ++i) {
      const double after = NormalQuantile(seam + i * step);
      EXPECT_GT(after, before) << "seam " << seam << " step " << i;
      before = after;
    }
  }
}

TEST(Random, NormalHasTheRightMomentsAndTails) {
  Random random(kSeed, Purpose::kTest, 6);
  constexpr int kDraws = 200000;
  double third = 0;
  double fourth = 0;
  double beyond_two = 0;
  const Moments moments = MomentsOf(kDraws, 0, [&] {
    const double x = random.Normal();
    third += x * x * x / kDraws;
    fourth += x * x * x * x / kDraws;
    beyond_two += std::abs(x) > 2 ? 1.0 / kDraws : 0;
    return x;
  });
  // Standard errors from the moments of the normal law (E x^2,4,6,8 = 1, 3, 15, 105); five of them.
  EXPECT_NEAR(moments.mean, 0, 5 * std::sqrt(1.0 / kDraws));
  EXPECT_NEAR(moments.variance, 1, 5 * std::sqrt(2.0 / kDraws));
  EXPECT_NEAR(third, 0, 5 * std::sqrt(15.0 / kDraws));
  EXPECT_NEAR(fourth, 3, 5 * std::sqrt(96.0 / kDraws));
  const double p = std::erfc(std::sqrt(2.0));
  EXPECT_NEAR(beyond_two, p, 5 * std::sqrt(p * (1 - p) / kDraws));
}

TEST(Random, ExponentialHasTheRightMomentsAndIsPositive) {
  Random random(kSeed, Purpose::kTest, 7);
  constexpr int kDraws = 200000;
  double least = 1;
  double beyond_three = 0;
  const Moments moments = MomentsOf(kDraws, 1, [&] {
    const double x = random.Exponential();
    least = std::min(least, x);
    beyond_three += x > 3 ? 1.0 / kDraws : 0;
    return x;
  });
  // Variance 1, fourth central moment 9; five standard errors.
  EXPECT_NEAR(moments.mean, 1, 5 * std::sqrt(1.0 / kDraws));
  EXPECT_NEAR(moments.variance, 1, 5 * std::sqrt(8.0 / kDraws));
  const double p = std::exp(-3.0);
  EXPECT_NEAR(beyond_three, p, 5 * std::sqrt(p * (1 - p) / kDraws));
  EXPECT_GT(least, 0);
}

class GammaLaw : public testing::TestWithParam<double> {};

TEST_P(GammaLaw, HasTheRightMoments) {
  const double shape = GetParam();
  Random random(kSeed, Purpose::kTest, 8, static_cast<std::uint64_t>(10 * shape));
  constexpr int kDraws = 200000;
  double logarithm = 0;
  double least = 1;
  const Moments moments = MomentsOf(kDraws, shape, [&] {
    const double x = random.Gamma(shape);
    logarithm += std::log(x) / kDraws;
    least = std::min(least, x);
    return x;
  });
  // Mean and variance a, fourth central moment 3 a^2 + 6 a; five standard errors.
  EXPECT_NEAR(moments.mean, shape, 5 * std::sqrt(shape / kDraws));
  EXPECT_NEAR(moments.variance, shape, 5 * std::sqrt((2 * shape * shape + 6 * shape) / kDraws));
  // E ln x = psi(a), Var ln x = psi'(a), by central differences of ln Gamma; sees the small values.
  const double h = 1e-4;
  const double psi = (std::lgamma(shape + h) - std::lgamma(shape - h)) / (2 * h);
  const double slope =
      (std::lgamma(shape + h) - 2 * std::lgamma(shape) + std::lgamma(shape - h)) / (h * h);
  EXPECT_NEAR(logarithm, psi, 5 * std::sqrt(slope / kDraws));
  EXPECT_GT(least, 0);
}

INSTANTIATE_TEST_SUITE_P(Shapes, GammaLaw, testing::Values(0.3, 1.0, 2.5));

TEST(Random, ShuffleIsAPermutation) {
  std::vector<int> items(1000);
  std::iota(items.begin(), items.end(), 0);
  const std::vector<int> sorted = items;
  Random random(kSeed, Purpose::kTest, 9);
  random.Shuffle(items);
  EXPECT_NE(items, sorted);
  std::sort(items.begin(), items.end());
  EXPECT_EQ(items, sorted);
}

TEST(Random, ShuffleLeavesNoneAndOneAlone) {
  Random random(kSeed, Purpose::kTest, 10);
  std::vector<int> none;
  std::vector<int> one = {7};
  random.Shuffle(none);
  random.Shuffle(one);
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(one, std::vector<int>{7});
}

TEST(Random, ShuffleGivesAllOrdersOfThreeEquallyOften) {
  Random random(kSeed, Purpose::kTest, 11);
  constexpr int kDraws = 60000;
  std::map<std::vector<int>, double> counts;
  for (int i = 0; i < kDraws; ++i) {
    std::vector<int> items = {0, 1, 2};
    random.Shuffle(items);
    ++counts[items];
  }
  ASSERT_EQ(counts.size(), 6U);
  const double error = std::sqrt(kDraws * (1.0 / 6) * (5.0 / 6));  // binomial; five of them
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, kDraws / 6.0, 5 * error);
}

}  // namespace
}  // namespace polykern
