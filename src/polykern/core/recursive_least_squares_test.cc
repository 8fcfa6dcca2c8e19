#include "polykern/core/recursive_least_squares.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "polykern/core/random.h"
#include "polykern/core/tools_testing.h"

namespace polykern {
namespace {

struct Sample {
  std::vector<float> z;
  double y = 0;
};

/// Unit vectors, as features are, of which the first `span` numbers differ from 0.
std::vector<Sample> SomeSamples(std::size_t count, std::size_t width, std::size_t span) {
  Random random(8, Purpose::kTest, count, width);
  std::vector<Sample> samples(count);
  for (Sample& sample : samples) {
    std::vector<double> z(width);
    double square = 0;
    for (std::size_t j = 0; j < span; ++j) {
      z[j] = random.Normal();
      square += z[j] * z[j];
    }
    for (const double value : z) {
      sample.z.push_back(static_cast<float>(value / std::sqrt(square)));
    }
    sample.y = random.Uniform() - 0.5;
  }
  return samples;
}

/// The fast version, with the numbers it needs.
struct Learner {
  Learner(std::size_t width, double ridge, double forgetting)
      : squares(width, ridge, forgetting), state(squares.StateSize()), scratch(2 * width) {}

  double Predict(const Sample& sample) const {
    double sum = 0;
    for (std::size_t j = 0; j < sample.z.size(); ++j) {
      sum += squares.Theta(state)[j] * static_cast<double>(sample.z[j]);
    }
    return sum;
  }
  void Learn(const Sample& sample) {
    squares.Learn(sample.z, sample.y, Predict(sample), state, scratch);
  }
  std::vector<double> Theta() const {
    return {squares.Theta(state).begin(), squares.Theta(state).end()};
  }
  double P(std::size_t i, std::size_t j) const { return state[1 + squares.width() * (i + 1) + j]; }

  RecursiveLeastSquares squares;
  std::vector<double> state;
  std::vector<double> scratch;
};

/// The normal equations in long double, solved anew by elimination each time.
class Slow {
 public:
  Slow(std::size_t width, double ridge, double forgetting)
      : forgetting_(forgetting), a_(width, std::vector<long double>(width + 1)) {
    for (std::size_t i = 0; i < width; ++i) a_[i][i] = ridge;
    if (forgetting == 1) return;
    for (axes_ = 1; axes_ < width && LeftAfterARound() < 0.5; ++axes_) {
    }
    returned_ = ridge * (1 - LeftAfterARound());
  }

  void Learn(const Sample& sample) {
    for (std::size_t i = 0; i < a_.size(); ++i) {
      const auto z = static_cast<long double>(sample.z[i]);
      for (long double& entry : a_[i]) entry *= forgetting_;
      for (std::size_t j = 0; j < a_.size(); ++j) {
        a_[i][j] += z * static_cast<long double>(sample.z[j]);
      }
      a_[i].back() += z * static_cast<long double>(sample.y);
    }
    for (std::size_t a = 0; a < axes_; ++a, next_ = (next_ + 1) % a_.size()) {
      a_[next_][next_] += returned_;
    }
  }

  std::vector<double> Theta() const {
    auto a = a_;
    for (std::size_t p = 0; p < a.size(); ++p) {
      for (std::size_t i = 0; i < a.size(); ++i) {
        if (i == p) continue;
        const long double share = a[i][p] / a[p][p];
        for (std::size_t j = p; j <= a.size(); ++j) a[i][j] -= share * a[p][j];
      }
    }
    std::vector<double> theta;
    for (std::size_t i = 0; i < a.size(); ++i) {
      theta.push_back(static_cast<double>(a[i].back() / a[i][i]));
    }
    return theta;
  }

 private:
  double LeftAfterARound() const {
    return std::pow(forgetting_, std::ceil(static_cast<double>(a_.size()) / axes_));
  }

  double forgetting_;
  std::vector<std::vector<long double>> a_;  // A, and b as a last column
  unsigned axes_ = 0;
  double returned_ = 0;
  std::size_t next_ = 0;
};

TEST(RecursiveLeastSquares, SolvesTheRidgeRegressionAfterEverySample) {
  for (const std::size_t width : {1, 2, 7, 8, 19, 32}) {
    for (const double forgetting : {1.0, 0.99, 0.9, 0.6, 0.3}) {
      for (const double ridge : {0.01, 1.0}) {
        Learner learner(width, ridge, forgetting);
        Slow slow(width, ridge, forgetting);
        for (const Sample& sample : SomeSamples(60, width, width)) {
          learner.Learn(sample);
          slow.Learn(sample);
          // Condition numbers are below 6000, and 60 samples and as many axes add up: 16 digits
          // less 6.
          ASSERT_LT(RelativeDifference(learner.Theta(), slow.Theta()), 1e-10)
              << width << " " << forgetting << " " << ridge;
        }
      }
    }
  }
}

TEST(RecursiveLeastSquares, StartsFromZerosWithAThetaOfZero) {
  Learner learner(3, 0.5, 1);
  EXPECT_EQ(learner.squares.StateSize(), 13U);
  EXPECT_EQ(learner.Theta(), std::vector<double>(3, 0.0));
  learner.Learn({{0, 1, 0}, 0.75});
  // One sample along the second axis: theta = y / (1 + ridge).
  EXPECT_EQ(learner.Theta(), (std::vector<double>{0, 0.5, 0}));
  EXPECT_EQ(learner.state[0], 1);
  EXPECT_EQ(learner.P(0, 0), 2);
  EXPECT_DOUBLE_EQ(learner.P(1, 1), 1 / 1.5);
}

TEST(RecursiveLeastSquares, StaysWithinTheRidgeForEverWhereNoSampleTellsAnything) {
  // Samples along 6 of 20 axes. A ridge that fades would have P grow by 0.9^-10000.
  for (const double forgetting : {0.999, 0.9, 0.4}) {
    constexpr double kRidge = 0.1;
    Learner learner(20, kRidge, forgetting);
    Slow slow(20, kRidge, forgetting);
    for (const Sample& sample : SomeSamples(10000, 20, 6)) {
      learner.Learn(sample);
      slow.Learn(sample);
    }
    EXPECT_LT(RelativeDifference(learner.Theta(), slow.Theta()), 1e-10) << forgetting;
    for (std::size_t i = 0; i < 20; ++i) {
      // Between half and twice the ridge is left on every axis; the last 14 have nothing else.
      EXPECT_LE(learner.P(i, i), 2 / kRidge * (1 + 1e-12));
      if (i >= 6) {
        EXPECT_GE(learner.P(i, i), 0.5 / kRidge);
      }
      for (std::size_t j = 0; j < i; ++j) EXPECT_EQ(learner.P(i, j), learner.P(j, i));
    }
  }
}

TEST(RecursiveLeastSquares, ForgetsALawThatNoLongerHolds) {
  // First y = z_0, then y = -z_0: after n samples 0.9^n of the first law is left.
  Learner forgetful(4, 0.01, 0.9);
  Learner faithful(4, 0.01, 1);
  auto samples = SomeSamples(400, 4, 4);
  for (std::size_t s = 0; s < samples.size(); ++s) {
    samples[s].y = (s < 200 ? 1 : -1) * static_cast<double>(samples[s].z[0]);
    forgetful.Learn(samples[s]);
    faithful.Learn(samples[s]);
  }
  // About 10 samples count, of which 2.5 lie along the axis: the ridge takes 0.01 / 2.5 of it.
  EXPECT_NEAR(forgetful.Theta()[0], -1, 0.02);
  EXPECT_NEAR(faithful.Theta()[0], 0, 0.2);
}

TEST(RecursiveLeastSquares, HasTheSameBitsOnEveryMachineWithFusedMultiplyAdd) {
  if (const auto why = NothingToCompare(FusedTargets()); !why.empty()) GTEST_SKIP() << why;
  const auto samples = SomeSamples(50, 19, 19);
  const auto learnt = [&] {
    Learner learner(19, 0.1, 0.95);
    for (const Sample& sample : samples) learner.Learn(sample);
    return learner.state;
  };
  const auto best = learnt();
  OnEveryTarget([&] { EXPECT_EQ(learnt(), best); }, FusedTargets());
}

}  // namespace
}  // namespace polykern
