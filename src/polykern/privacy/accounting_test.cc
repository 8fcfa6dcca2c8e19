#include "polykern/privacy/accounting.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/random.h"
#include "polykern/io/folder_testing.h"
#include "polykern/privacy/release_weights.h"

namespace polykern {
namespace {

using testing::HasSubstr;

constexpr double kDelta = 1e-6;

/// The slow twin: delta for epsilon by Canonne, Kamath and Steinke's corollary 13, the least over
/// many orders.
double SlowDelta(double rho, double epsilon) {
  double least = 1;
  for (int step = -8000; step < 12'000; ++step) {
    const double log_of_a = step / 1000.0;
    const double a = std::exp(log_of_a);
    const double order = 1 + a;
    const double log_of_delta =
        a * (order * rho - epsilon) - log_of_a + order * std::log1p(-1 / order);
    least = std::min(least, std::exp(log_of_delta));
  }
  return least;
}

/// Of one Gaussian with this rho exactly (Balle and Wang 2018): less than any conversion from rho.
double GaussianDelta(double rho, double epsilon) {
  const auto normal = [](double x) { return std::erfc(-x / std::sqrt(2)) / 2; };
  const double shift = std::sqrt(2 * rho);  // sensitivity / sigma
  return normal(shift / 2 - epsilon / shift) -
         std::exp(epsilon) * normal(-shift / 2 - epsilon / shift);
}

// The paper's own example, and what the simple formula, rho + 2 sqrt(rho log(1 / delta)), gives.
TEST(Epsilon, IsThePublishedOne) {
  EXPECT_NEAR(EpsilonOf(0.5, kDelta), 5.22, 0.005);
  EXPECT_NEAR(0.5 + 2 * std::sqrt(0.5 * std::log(1 / kDelta)), 5.76, 0.005);
  EXPECT_NEAR(RhoFor(1, kDelta), 0.0244, 0.00005);
  EXPECT_EQ(EpsilonOf(0, kDelta), 0);
}

TEST(Epsilon, IsTheLeastOfAllOrders) {
  for (const double rho : {1e-6, 0.001, 0.0244, 0.1, 0.5, 1.0, 3.0, 20.0}) {
    for (const double delta : {1e-12, 1e-9, 1e-6, 1e-5, 0.001, 0.1}) {
      const double epsilon = EpsilonOf(rho, delta);
      EXPECT_LE(SlowDelta(rho, epsilon * (1 + 1e-6)), delta) << rho << ' ' << delta;
      if (epsilon > 0) {
        EXPECT_GT(SlowDelta(rho, epsilon * (1 - 1e-6)), delta) << rho << ' ' << delta;
      }
      EXPECT_LE(epsilon, rho + 2 * std::sqrt(rho * std::log(1 / delta)));
      // It promises no more than is true of the mechanism for which everything is known.
      EXPECT_LE(GaussianDelta(rho, epsilon), delta) << rho << ' ' << delta;
    }
  }
}

TEST(Epsilon, RisesWithRhoAndFallsWithDelta) {
  for (int power = -40; power < 20; ++power) {
    const double rho = std::pow(1.25, power);
    EXPECT_GT(EpsilonOf(rho * 1.001, kDelta), EpsilonOf(rho, kDelta)) << rho;
    EXPECT_GT(EpsilonOf(rho, kDelta), EpsilonOf(rho, 2 * kDelta)) << rho;
  }
}

TEST(Rho, IsTheLargestThatKeepsThePromise) {
  for (const double epsilon : {0.01, 0.1, 0.5, 1.0, 2.0, 8.0, 50.0}) {
    for (const double delta : {1e-10, 1e-6, 1e-3}) {
      const double rho = RhoFor(epsilon, delta);
      EXPECT_GT(rho, 0);
      EXPECT_LE(EpsilonOf(rho, delta), epsilon) << epsilon << ' ' << delta;
      EXPECT_GT(EpsilonOf(rho * (1 + 1e-9), delta), epsilon) << epsilon << ' ' << delta;
    }
  }
}

// A plan like that of the Air data: three kernels with 21 features.
constexpr NoisePlan kPlan{.unit = 0x1p-13, .numbers = 944, .kinds = 3, .releases = 64};

TEST(NoisePlan, CostsWhatItsFormulaSays) {
  const double length = std::sqrt(0.75) * (1 + 0x1p-14) * 8192 + std::sqrt(944);
  EXPECT_NEAR(EventLength(kPlan), length, 1e-9 * length);
  EXPECT_GT(EventLength(kPlan), length);
  double squares = 0;
  const ReleaseWeights weights(64);
  EXPECT_EQ(RhoSpent(kPlan, 1000, 0), 0);
  for (std::size_t done = 1; done <= 64; ++done) {
    squares += static_cast<double>(weights.weights()[done - 1] * weights.weights()[done - 1]);
    const double rho = 3 * length * length * squares / (2 * 1e6);
    EXPECT_NEAR(RhoSpent(kPlan, 1000, done), rho, 1e-9 * rho);
    EXPECT_GT(RhoSpent(kPlan, 1000, done), rho);  // never less than was spent
    EXPECT_GT(RhoSpent(kPlan, 1000, done), RhoSpent(kPlan, 1000, done - 1));
  }
}

TEST(NoisePlan, CostsInProportion) {
  const double rho = RhoSpent(kPlan, 1'000'000, 64);
  NoisePlan other = kPlan;
  other.kinds = 6;
  EXPECT_NEAR(RhoSpent(other, 1'000'000, 64) / rho, 2, 1e-9);
  other = kPlan;
  other.samples_per_event = 4;  // they may all be in one message: lengths add up
  EXPECT_NEAR(RhoSpent(other, 1'000'000, 64) / rho, 16, 1e-9);
  EXPECT_NEAR(RhoSpent(kPlan, 500'000, 64) / rho, 4, 1e-9);
  other = kPlan;
  other.unit /= 2;
  EXPECT_LT(RhoSpent(other, 2'000'000, 64), rho);  // a finer unit: less is lost to rounding
}

TEST(NoisePlan, NeedsTheLeastSigmaThatKeepsThePromise) {
  for (const double epsilon : {0.5, 1.0, 2.0, 8.0}) {
    for (const std::size_t releases : {1U, 7U, 64U, 400U}) {
      NoisePlan plan = kPlan;
      plan.releases = releases;
      const std::uint64_t sigma = LeastSigma(plan, epsilon, kDelta);
      EXPECT_LE(EpsilonOf(RhoSpent(plan, sigma, releases), kDelta), epsilon);
      EXPECT_GT(EpsilonOf(RhoSpent(plan, sigma - 1, releases), kDelta), epsilon);
    }
  }
  EXPECT_GT(LeastSigma(kPlan, 1, kDelta), LeastSigma(kPlan, 2, kDelta));
  EXPECT_GT(LeastSigma(kPlan, 1, 1e-9), LeastSigma(kPlan, 1, kDelta));
  // Where there is next to nothing to hide.
  EXPECT_EQ(LeastSigma({.unit = 1000, .numbers = 1}, 1e5, 0.1), 1U);
}

TEST(NoisePlan, ThatNeedsMoreNoiseThanCanBeDrawnIsRefused) {
  NoisePlan plan = kPlan;
  plan.unit = 0x1p-36;
  const auto refused = [&](double epsilon) {
    return MessageOf([&] { LeastSigma(plan, epsilon, kDelta); });
  };
  EXPECT_THAT(refused(1), HasSubstr("epsilon is too small"));
  plan.unit = 0x1p-18;
  EXPECT_EQ(LeastSigma(plan, 1, kDelta) >> 25U, 1U);
  EXPECT_THAT(refused(0.1), HasSubstr("lower releases"));
}

// Whatever a client adds up and rounds, with an event or without it: the length covers it. A third
// of the samples are as long as they can be, along a diagonal, where rounding adds most.
TEST(NoisePlan, HasALengthThatCoversRounding) {
  Random random(1, Purpose::kTest);
  double most = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    NoisePlan plan{.unit = std::ldexp(1, -static_cast<int>(random.Below(6))), .numbers = 30};
    plan.samples_per_event = 1 + random.Below(3);
    std::vector<double> others(plan.numbers);
    for (double& other : others) other = 100 * random.Normal();
    std::vector<double> with = others;
    for (std::size_t s = 0; s < plan.samples_per_event; ++s) {
      std::vector<double> sample(plan.numbers);
      double squares = 0;
      for (double& number : sample) {
        number = trial % 3 == 0 ? 1 : random.Normal();
        squares += number * number;
      }
      for (std::size_t i = 0; i < sample.size(); ++i) {
        with[i] += sample[i] * std::sqrt(0.75 / squares);
      }
    }
    double squares = 0;
    for (std::size_t i = 0; i < with.size(); ++i) {
      const double change = std::round(with[i] / plan.unit) - std::round(others[i] / plan.unit);
      squares += change * change;
    }
    most = std::max(most, std::sqrt(squares) / EventLength(plan));
  }
  EXPECT_LE(most, 1);
  EXPECT_GT(most, 0.8);  // the samples of an event that point one way: as long as it says
}

}  // namespace
}  // namespace polykern
