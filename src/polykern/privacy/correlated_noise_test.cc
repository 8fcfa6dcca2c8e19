#include "polykern/privacy/correlated_noise.h"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/random.h"
#include "polykern/io/folder_testing.h"
#include "polykern/privacy/accounting.h"

namespace polykern {
namespace {

using testing::HasSubstr;
using Integers = std::vector<std::uint64_t>;

Integers Some(Random& random, std::size_t count, std::uint64_t below) {
  Integers numbers(count);
  for (std::uint64_t& number : numbers) number = random.Below(below) - below / 2;
  return numbers;
}

TEST(ReleaseHistory, IsKeptAndComesBack) {
  ReleaseHistory history(3);
  EXPECT_EQ(history.size(), 0U);
  history.Add(Integers{1, 2, 3});
  history.Add(Integers{4, 5, 6});
  ReleaseHistory other(3);
  other.Load(history.Save());
  EXPECT_EQ(other.size(), 2U);
  EXPECT_EQ(Integers(other[1].begin(), other[1].end()), (Integers{4, 5, 6}));
  EXPECT_THAT(MessageOf([&] {
                other.Load({1, 2, 3, 4});
              }),
              HasSubstr("4 numbers are not releases of 3"));
  EXPECT_EQ(other.Save(), history.Save());
}

// Beside it the definition, in 128 bits and in another order.
TEST(Correlation, IsTheWeightedSumModulo) {
  Random random(1, Purpose::kTest);
  const ReleaseWeights weights(20);
  ReleaseHistory history(4);
  for (std::size_t t = 0; t < 20; ++t) {
    Integers x(4);
    for (std::uint64_t& number : x) number = random.Bits();
    history.Add(x);
    Integers fast(4, 77);
    Correlate(weights, history, fast);
    for (std::size_t i = 0; i < 4; ++i) {
      std::uint64_t slow = 0;
      for (std::size_t s = 0; s <= t; ++s) {
        for (std::uint64_t n = 0; n < weights.weights()[t - s]; ++n) slow += history[s][i];
      }
      EXPECT_EQ(fast[i], slow);
    }
  }
}

// What the helper gives away, taken off what the server makes of masked sums.
TEST(Correlation, OfMasksComesOffThatOfMaskedSums) {
  Random random(2, Purpose::kTest);
  SeededBits bits(Random(3, Purpose::kTest));
  DiscreteGaussian gaussian(1'000'000, bits);
  const ReleaseWeights weights(12);
  ReleaseHistory sums(5);
  ReleaseHistory masks(5);
  ReleaseHistory masked(5);
  for (std::size_t t = 0; t < 12; ++t) {
    const Integers x = Some(random, 5, 1'000'000);
    Integers mask(5);
    for (std::uint64_t& number : mask) number = random.Bits();
    Integers both(5);
    for (std::size_t i = 0; i < 5; ++i) both[i] = x[i] + mask[i];
    sums.Add(x);
    masks.Add(mask);
    masked.Add(both);
    Integers noise(5);
    DrawNoise(gaussian, noise);
    Integers given(5);
    Correlate(weights, masks, given);
    Integers seen(5);
    Correlate(weights, masked, seen);
    Integers meant(5);
    Correlate(weights, sums, meant);
    for (std::size_t i = 0; i < 5; ++i) {
      given[i] -= noise[i];
      EXPECT_EQ(seen[i] - given[i], meant[i] + noise[i]);
    }
  }
}

// Without noise the running sums come back. In units, each of at most 64 terms is rounded by 2^-52
// of itself, and b by as much again for each of the terms it was made of.
TEST(Decoding, GivesTheRunningSumsBack) {
  Random random(4, Purpose::kTest);
  for (const unsigned bits : {32U, 64U}) {
    const ReleaseWeights weights(64);
    ReleaseHistory came_in(3);
    ReleaseHistory released(3);
    std::vector<std::int64_t> running(3);
    const std::uint64_t most = bits == 32 ? 1U << 18U : std::uint64_t{1} << 40U;
    for (std::size_t t = 0; t < 64; ++t) {
      came_in.Add(Some(random, 3, most));
      for (std::size_t i = 0; i < 3; ++i) running[i] += static_cast<std::int64_t>(came_in[t][i]);
      Integers y(3);
      Correlate(weights, came_in, y);
      if (bits == 32) {
        for (std::uint64_t& number : y) number &= UINT32_MAX;
      }
      released.Add(y);
      std::vector<double> sums(3);
      DecodeRunningSums(weights, released, bits, 0x1p-13, sums);
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_NEAR(sums[i], static_cast<double>(running[i]) * 0x1p-13,
                    static_cast<double>(most) * 0x1p-13 * 64 * 64 * 0x1p-52)
            << bits << ' ' << t;
      }
    }
  }
}

struct Moments {
  double mean = 0;
  double square = 0;
};

/// Of running sums of nothing but noise, after each of 30 releases, in units of what theory says.
std::vector<Moments> NoiseOfRunningSums(std::size_t numbers, int batches) {
  constexpr std::uint64_t kSigma = 1000;
  constexpr std::size_t kReleases = 30;
  const ReleaseWeights weights(kReleases);
  std::vector<Moments> moments(kReleases);
  for (int batch = 0; batch < batches; ++batch) {
    SeededBits bits(Random(5, Purpose::kTest, static_cast<std::uint64_t>(batch)));
    DiscreteGaussian gaussian(kSigma * kSigma, bits);
    ReleaseHistory released(numbers);
    for (std::size_t t = 0; t < kReleases; ++t) {
      Integers y(numbers);
      DrawNoise(gaussian, y);
      released.Add(y);
      std::vector<double> sums(numbers);
      DecodeRunningSums(weights, released, 64, 0x1p-13, sums);
      const double deviation = kSigma * 0x1p-13 * weights.RunningDeviation(t + 1);
      const double all = static_cast<double>(numbers) * batches;
      for (const double sum : sums) {
        moments[t].mean += sum / deviation / all;
        moments[t].square += sum * sum / (deviation * deviation) / all;
      }
    }
  }
  return moments;
}

// Of n running sums the mean has a standard deviation of 1 / sqrt(n), the mean square one of
// sqrt(2 / n): five of each.
TEST(Decoding, HasTheNoiseThatTheorySays) {
  for (const Moments& m : NoiseOfRunningSums(4000, 1)) {
    EXPECT_NEAR(m.mean, 0, 5 / std::sqrt(4000));
    EXPECT_NEAR(m.square, 1, 5 * std::sqrt(2.0 / 4000));
  }
}

// 10^6 running sums after each of 30 releases: sqrt(2 / n) is 0.14 %, and seven of it 1 %.
TEST(LongDecoding, HasTheNoiseThatTheorySaysToOnePercent) {
  for (const Moments& m : NoiseOfRunningSums(50'000, 20)) {
    EXPECT_NEAR(m.mean, 0, 0.01);
    EXPECT_NEAR(m.square, 1, 0.01);
  }
}

/// Somebody who knows everything but whether one event took part, and sees all releases of all
/// kinds: in how many of the trials the likelihood ratio is right.
double MembershipGuessed(const NoisePlan& plan, std::uint64_t sigma, int trials) {
  Random random(6, Purpose::kTest);
  SeededBits bits(Random(7, Purpose::kTest));
  DiscreteGaussian gaussian(std::max<std::uint64_t>(sigma * sigma, 1), bits);
  const ReleaseWeights weights(plan.releases);
  // As long as an event can be, and in the first release: the oldest has lost most.
  Integers event(plan.numbers);
  event[0] = static_cast<std::uint64_t>(EventLength(plan));
  int right = 0;
  for (int trial = 0; trial < trials; ++trial) {
    const bool there = random.Below(2) == 1;
    double ratio = 0;  // twice the sum of (y - what others give) c v, less (c v)^2
    for (std::size_t kind = 0; kind < plan.kinds; ++kind) {
      ReleaseHistory others(plan.numbers);
      ReleaseHistory all(plan.numbers);
      for (std::size_t t = 0; t < plan.releases; ++t) {
        Integers x = Some(random, plan.numbers, 1'000'000);
        others.Add(x);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] += there && t == 0 ? event[i] : 0;
        all.Add(x);
        Integers known(plan.numbers);
        Correlate(weights, others, known);
        Integers y(plan.numbers);
        Correlate(weights, all, y);
        Integers noise(plan.numbers);
        if (sigma > 0) DrawNoise(gaussian, noise);
        for (std::size_t i = 0; i < x.size(); ++i) {
          const auto off =
              static_cast<double>(static_cast<std::int64_t>(y[i] + noise[i] - known[i]));
          const auto mark = static_cast<double>(weights.weights()[t] * event[i]);
          ratio += 2 * off * mark - mark * mark;
        }
      }
    }
    right += (ratio > 0) == there ? 1 : 0;
  }
  return static_cast<double>(right) / trials;
}

// The best guess is right with probability Phi(sqrt(rho / 2)): 54.4 % at epsilon 1. Of 20,000
// trials the share has a standard deviation of 0.35 %; 1.1 % is three of them.
TEST(Membership, IsGuessedAsOftenAsEpsilonSaysAndNoMore) {
  const NoisePlan plan{.unit = 0x1p-13, .numbers = 1, .kinds = 2, .releases = 6};
  const std::uint64_t sigma = LeastSigma(plan, 1, 1e-6);
  const auto share = [](double rho) { return std::erfc(-std::sqrt(rho / 2) / std::sqrt(2)) / 2; };
  const double rho = RhoSpent(plan, sigma, plan.releases);
  EXPECT_NEAR(share(rho), 0.544, 0.0005);
  EXPECT_NEAR(MembershipGuessed(plan, sigma, 20'000), share(rho), 0.011);
  // The test notices half of the noise, and no noise at all.
  const double halved = MembershipGuessed(plan, sigma / 2, 20'000);
  EXPECT_NEAR(share(4 * rho), 0.587, 0.001);
  EXPECT_NEAR(halved, share(4 * rho), 0.011);
  EXPECT_GT(halved, share(rho) + 0.011);
  EXPECT_GT(MembershipGuessed(plan, 0, 1000), 0.99);
}

}  // namespace
}  // namespace polykern
