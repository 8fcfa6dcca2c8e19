#include "polykern/core/experts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/error.h"
#include "polykern/core/random.h"

namespace polykern {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<double> Hedge(const std::vector<double>& losses, double rate) {
  std::vector<double> weights(losses.size());
  HedgeWeights(losses, rate, weights);
  return weights;
}

double TotalWeight(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

TEST(Hedge, EqualsPlainProductsOnShortRuns) {
  Random random(1, Purpose::kTest);
  for (const double rate : {0.01, 0.3, 2.0}) {
    std::vector<double> plain(7, 1.0);
    std::vector<double> losses(7, 0.0);
    for (int t = 0; t < 40; ++t) {
      for (std::size_t i = 0; i < losses.size(); ++i) {
        const double loss = random.Uniform();
        plain[i] *= std::exp(-rate * loss);
        losses[i] += loss;
      }
      const auto weights = Hedge(losses, rate);
      for (std::size_t i = 0; i < losses.size(); ++i) {
        EXPECT_NEAR(weights[i], plain[i] / TotalWeight(plain), 1e-13);
      }
    }
  }
}

TEST(Hedge, SurvivesLossesThatWouldUnderflowPlainWeights) {
  // exp(-1e6) is 0 in double: plain weights would be 0 / 0.
  const auto weights = Hedge({1e6, 1e6 + 1, 1e6 + 3, 2e6}, 1);
  const double total = 1 + std::exp(-1.0) + std::exp(-3.0);
  EXPECT_NEAR(weights[0], 1 / total, 1e-14);
  EXPECT_NEAR(weights[1], std::exp(-1.0) / total, 1e-14);
  EXPECT_NEAR(weights[2], std::exp(-3.0) / total, 1e-14);
  EXPECT_EQ(weights[3], 0);
}

TEST(Hedge, GivesEqualWeightsAtRateZero) {
  for (const double weight : Hedge({0, 1, 1e300, 7, 0.5}, 0)) EXPECT_DOUBLE_EQ(weight, 0.2);
}

TEST(Hedge, PutsAllWeightOnTheBestAtAnInfiniteRate) {
  EXPECT_EQ(Hedge({3, 1, 2, 1}, kInfinity), (std::vector<double>{0, 0.5, 0, 0.5}));
  EXPECT_EQ(Hedge({0, 0, 0, 0}, kInfinity), (std::vector<double>{0.25, 0.25, 0.25, 0.25}));
}

TEST(Hedge, DoesNotCareAboutACommonOffset) {
  const auto near = Hedge({0, 0.5, 2, 0.25}, 1.5);
  const auto far = Hedge({-4096, -4095.5, -4094, -4095.75}, 1.5);
  EXPECT_EQ(near, far);
}

TEST(Hedge, GivesASingleExpertAllTheWeight) {
  for (const double rate : {0.0, 1.0, kInfinity}) EXPECT_EQ(Hedge({1e9}, rate)[0], 1);
}

/// AdaHedge as its paper writes it, in long double.
struct SlowAdaHedge {
  explicit SlowAdaHedge(std::size_t experts) : losses(experts) {}

  std::vector<long double> Weights() const {
    const long double best = *std::min_element(losses.begin(), losses.end());
    std::vector<long double> weights;
    long double total = 0;
    for (const long double loss : losses) {
      weights.push_back(gap == 0 ? (loss == best ? 1.0L : 0.0L)
                                 : std::exp(-Rate() * (loss - best)));
      total += weights.back();
    }
    for (long double& weight : weights) weight /= total;
    return weights;
  }

  void Learn(const std::vector<double>& step) {
    const auto weights = Weights();
    const long double before = *std::min_element(losses.begin(), losses.end());
    long double mean = 0;
    long double mixed = 0;
    for (std::size_t i = 0; i < step.size(); ++i) {
      const auto loss = static_cast<long double>(step[i]);
      mean += weights[i] * loss;
      if (gap > 0) mixed += weights[i] * std::exp(-Rate() * loss);
      losses[i] += loss;
    }
    const long double best = *std::min_element(losses.begin(), losses.end());
    gap += mean - (gap > 0 ? -std::log(mixed) / Rate() : best - before);
  }

  long double Rate() const { return std::log(static_cast<long double>(losses.size())) / gap; }

  std::vector<long double> losses;
  long double gap = 0;
};

/// The fast version played against losses that may depend on the weights.
struct Play {
  explicit Play(std::size_t experts) : losses(experts), weights(experts) {}

  void Step(const std::vector<double>& step) {
    for (std::size_t i = 0; i < step.size(); ++i) mine += weights[i] * step[i];
    ada.Learn(step, weights, losses);
  }
  double Regret() const { return mine - *std::min_element(losses.begin(), losses.end()); }

  AdaHedge ada;
  std::vector<double> losses;
  std::vector<double> weights;
  double mine = 0;
};

TEST(AdaHedge, EqualsTheSlowVersion) {
  Random random(2, Purpose::kTest);
  for (const double scale : {1.0, 1e-6, 1e6}) {
    constexpr std::size_t kExperts = 6;
    Play play(kExperts);
    SlowAdaHedge slow(kExperts);
    std::vector<double> step(kExperts);
    for (int t = 0; t < 300; ++t) {
      play.ada.Weights(play.losses, play.weights);
      const auto expected = slow.Weights();
      for (std::size_t i = 0; i < kExperts; ++i) {
        ASSERT_NEAR(play.weights[i], static_cast<double>(expected[i]), 1e-10) << t;
        step[i] = scale * (random.Uniform() + 0.1 * static_cast<double>(i));
      }
      play.Step(step);
      slow.Learn(step);
      ASSERT_NEAR(play.ada.mixability_gap(), static_cast<double>(slow.gap), 1e-11 * scale) << t;
    }
    EXPECT_GT(play.ada.mixability_gap(), 0);
  }
}

TEST(AdaHedge, StartsWithAnInfiniteRateAndEqualWeights) {
  AdaHedge ada;
  EXPECT_EQ(ada.Rate(4), kInfinity);
  std::vector<double> losses(4);
  std::vector<double> weights(4);
  ada.Weights(losses, weights);
  EXPECT_EQ(weights, std::vector<double>(4, 0.25));
  // At an infinite rate the mix loss is the best expert's: the gap becomes 0.5 - 0.25.
  ada.Learn(std::vector<double>{0.25, 0.5, 0.75, 0.5}, weights, losses);
  EXPECT_EQ(losses, (std::vector<double>{0.25, 0.5, 0.75, 0.5}));
  EXPECT_DOUBLE_EQ(ada.mixability_gap(), 0.25);
  EXPECT_DOUBLE_EQ(ada.Rate(4), std::log(4.0) / 0.25);
}

TEST(AdaHedge, KeepsItsInfiniteRateUntilALossTellsTheExpertsApart) {
  AdaHedge ada;
  std::vector<double> losses(3);
  std::vector<double> weights(3);
  for (int t = 0; t < 5; ++t) {
    ada.Weights(losses, weights);
    ada.Learn(std::vector<double>(3, 0.5), weights, losses);
    EXPECT_EQ(ada.Rate(3), kInfinity);
  }
  ada.Weights(losses, weights);
  ada.Learn(std::vector<double>{0, 0.5, 0.5}, weights, losses);
  EXPECT_LT(ada.Rate(3), kInfinity);
}

TEST(AdaHedge, WeightsDoNotDependOnTheScaleOfTheLosses) {
  Random random(3, Purpose::kTest);
  Play unit(5);
  Play large(5);
  for (int t = 0; t < 200; ++t) {
    unit.ada.Weights(unit.losses, unit.weights);
    large.ada.Weights(large.losses, large.weights);
    std::vector<double> step(5);
    for (double& loss : step) loss = random.Uniform();
    unit.Step(step);
    for (double& loss : step) loss *= 4096;
    large.Step(step);
    for (std::size_t i = 0; i < 5; ++i) ASSERT_NEAR(unit.weights[i], large.weights[i], 1e-12);
  }
}

TEST(AdaHedge, ResumesFromASavedGap) {
  Play play(2);
  play.ada.Weights(play.losses, play.weights);
  play.Step({0.25, 1});
  const AdaHedge copy(play.ada.mixability_gap());
  std::vector<double> weights(2);
  play.ada.Weights(play.losses, play.weights);
  copy.Weights(play.losses, weights);
  EXPECT_EQ(weights, play.weights);
  EXPECT_EQ(copy.Rate(2), play.ada.Rate(2));
}

TEST(AdaHedge, StaysFiniteWithOneExpertAndWithHugeLosses) {
  Random random(4, Purpose::kTest);
  for (const std::size_t experts : {1U, 3U}) {
    Play play(experts);
    for (int t = 0; t < 300; ++t) {
      play.ada.Weights(play.losses, play.weights);
      EXPECT_NEAR(TotalWeight(play.weights), 1, 1e-14);
      std::vector<double> step(experts);
      for (double& loss : step) loss = 1e12 * random.Uniform();
      play.Step(step);
      ASSERT_TRUE(std::isfinite(play.ada.mixability_gap()));
    }
  }
}

TEST(AdaHedge, KeepsItsRegretBoundOnRandomAndAdversarialLosses) {
  Random random(5, Purpose::kTest);
  using Adversary = std::function<double(int t, std::size_t expert, const Play& play)>;
  const auto heaviest = [](const Play& play) {
    return static_cast<std::size_t>(std::max_element(play.weights.begin(), play.weights.end()) -
                                    play.weights.begin());
  };
  const std::vector<Adversary> adversaries = {
      [&](int, std::size_t, const Play&) { return random.Uniform(); },
      [&](int, std::size_t i, const Play&) {
        return random.Uniform() < 0.4 + 0.05 * static_cast<double>(i) / 10;
      },
      // Follow-the-leader's nightmare: half a loss, then the leader always loses.
      [](int t, std::size_t i, const Play&) {
        return t == 0 ? (i == 0 ? 0.5 : 0.0) : (i + static_cast<std::size_t>(t)) % 2 ? 1.0 : 0.0;
      },
      [&](int, std::size_t i, const Play& play) { return i == heaviest(play) ? 1.0 : 0.0; },
      [&](int, std::size_t i, const Play& play) { return i == heaviest(play) ? 1.0 : 0.5; },
      // The best expert changes half-way.
      [](int t, std::size_t i, const Play&) { return (t < 1000) == (i == 0) ? 0.0 : 1.0; }};
  constexpr int kSteps = 2000;
  for (std::size_t which = 0; which < adversaries.size(); ++which) {
    for (const std::size_t experts : {2U, 10U, 51U}) {
      Play play(experts);
      std::vector<double> step(experts);
      for (int t = 0; t < kSteps; ++t) {
        play.ada.Weights(play.losses, play.weights);
        for (std::size_t i = 0; i < experts; ++i) step[i] = adversaries[which](t, i, play);
        play.Step(step);
      }
      // Theorem 8 with losses in [0, 1], where the variance is at most T / 4.
      const double log_n = std::log(static_cast<double>(experts));
      const double bound = std::sqrt(kSteps * log_n) + 4 * log_n / 3 + 2;
      EXPECT_LE(play.Regret(), bound) << "adversary " << which << ", " << experts << " experts";
    }
  }
}

TEST(AdaHedge, HasConstantRegretWhenOneExpertIsAlwaysBest) {
  Play play(10);
  std::vector<double> step(10, 1.0);
  step[3] = 0;
  for (int t = 0; t < 5000; ++t) {
    play.ada.Weights(play.losses, play.weights);
    play.Step(step);
  }
  EXPECT_LT(play.Regret(), 3 * std::log(10.0) + 2);
}

TEST(Hedge, GivesWeightsThatSumToOneAndFallWithTheLoss) {
  Random random(7, Purpose::kTest);
  for (int i = 0; i < 200; ++i) {
    std::vector<double> losses(1 + random.Below(60));
    for (double& loss : losses) loss = 100 * random.Normal();
    const double rate = std::ldexp(random.Uniform(), static_cast<int>(random.Below(20)) - 10);
    const auto weights = Hedge(losses, rate);
    EXPECT_NEAR(TotalWeight(weights), 1, 1e-13);
    for (std::size_t a = 0; a < losses.size(); ++a) {
      EXPECT_GE(weights[a], 0);
      for (std::size_t b = 0; b < a; ++b) {
        EXPECT_EQ(losses[a] < losses[b] && weights[a] < weights[b], false);
        // The ratio of two weights is that of (12), where neither has underflown.
        const double exponent = rate * (losses[b] - losses[a]);
        if (std::abs(exponent) < 30 && weights[a] > 1e-200 && weights[b] > 1e-200) {
          EXPECT_NEAR(weights[a] / weights[b] / std::exp(exponent), 1, 1e-11);
        }
      }
    }
  }
}

TEST(AdaHedge, NeverRaisesItsRate) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed, Purpose::kTest);
    Play play(2 + random.Below(10));
    std::vector<double> step(play.losses.size());
    double rate = kInfinity;
    for (int t = 0; t < 100; ++t) {
      play.ada.Weights(play.losses, play.weights);
      for (double& loss : step) loss = 10 * random.Normal();  // of either sign
      play.Step(step);
      const double now = play.ada.Rate(step.size());
      EXPECT_LE(now, rate);
      EXPECT_GT(now, 0);
      rate = now;
    }
    EXPECT_LT(rate, kInfinity);
  }
}

}  // namespace
}  // namespace polykern
