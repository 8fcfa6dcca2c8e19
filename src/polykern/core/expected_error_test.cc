#include "polykern/core/expected_error.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "polykern/core/random.h"

namespace polykern {
namespace {

struct ErrorSample {
  double error = 0;
  double prediction = 0;
  std::vector<float> x;
};

/// Errors that follow the inputs, and turn round halfway.
std::vector<ErrorSample> SamplesWithALaw(std::size_t count, std::size_t inputs,
                                         double noise = 0.5) {
  Random random(3, Purpose::kTest, inputs);
  std::vector<ErrorSample> samples(count);
  for (std::size_t t = 0; t < count; ++t) {
    ErrorSample& sample = samples[t];
    sample.prediction = random.Uniform();
    for (std::size_t i = 0; i < inputs; ++i) {
      sample.x.push_back(static_cast<float>(2 * random.Uniform() - 1));
    }
    double law = sample.prediction - 0.5;
    if (inputs > 0) {
      const auto x = static_cast<double>(sample.x[0]);
      law += x + x * x;
    }
    sample.error = (2 * t < count ? law : -law) + noise * random.Normal();
  }
  return samples;
}

/// The same as the header says it: normal equations, solved by elimination each time. A ridge that
/// fades with the samples gets back, axis by axis, what it has lost since its last turn.
class SlowExpected {
 public:
  explicit SlowExpected(std::size_t width)
      : a_(width, std::vector<double>(width)), b_(width), ridge_(ExpectedError::kRidge) {
    for (std::size_t i = 0; i < width; ++i) a_[i][i] = ridge_;
  }

  double Of(const ErrorSample& sample) const {
    const double trust = said_ > 0 ? std::clamp(agreement_ / said_, 0.0, 1.0) : 0;
    return size_ * trust * std::clamp(Said(sample), -3.0, 3.0);
  }

  void Take(const ErrorSample& sample) {
    const double forgetting = ExpectedError::kForgetting;
    taken_ += 1;
    const double rate = std::max(0.015, 2 / (1 + taken_));
    const double unit = taken_ == 1 ? std::abs(sample.error) : size_;
    size_ = (1 - rate) * size_ + rate * std::abs(sample.error);
    const double relative = std::clamp(sample.error / unit, -3.0, 3.0);
    const double said = Said(sample);
    agreement_ = forgetting * agreement_ + relative * said;
    said_ = forgetting * said_ + said * said;
    const auto z = Z(sample);
    for (std::size_t i = 0; i < z.size(); ++i) {
      for (std::size_t j = 0; j < z.size(); ++j) a_[i][j] = forgetting * a_[i][j] + z[i] * z[j];
      b_[i] = forgetting * b_[i] + z[i] * relative;
    }
    a_[turn_][turn_] += ridge_ * (1 - std::pow(forgetting, z.size()));
    turn_ = (turn_ + 1) % z.size();
  }

 private:
  std::vector<double> Z(const ErrorSample& sample) const {
    std::vector<double> z = {1, sample.prediction};
    for (const float x : sample.x) z.push_back(static_cast<double>(x));
    for (const float x : sample.x) z.push_back(static_cast<double>(x) * static_cast<double>(x));
    z.resize(a_.size());
    return z;
  }
  double Said(const ErrorSample& sample) const {
    auto a = a_;
    auto theta = b_;
    for (std::size_t p = 0; p < a.size(); ++p) {
      for (std::size_t i = 0; i < a.size(); ++i) {
        if (i == p) continue;
        const double share = a[i][p] / a[p][p];
        for (std::size_t j = p; j < a.size(); ++j) a[i][j] -= share * a[p][j];
        theta[i] -= share * theta[p];
      }
    }
    const auto z = Z(sample);
    double sum = 0;
    for (std::size_t i = 0; i < z.size(); ++i) sum += z[i] * theta[i] / a[i][i];
    return sum;
  }

  std::vector<std::vector<double>> a_;
  std::vector<double> b_;
  double ridge_;
  double size_ = 0;
  double taken_ = 0;
  double agreement_ = 0;
  double said_ = 0;
  std::size_t turn_ = 0;
};

TEST(ExpectedError, IsThatOfTheRegressionInTheHeader) {
  for (const auto& [inputs, width] :
       {std::pair{0, 2}, {1, 4}, {3, 8}, {16, 34}, {17, 19}, {33, 2}}) {
    ExpectedError fast(static_cast<std::size_t>(inputs));
    SlowExpected slow(static_cast<std::size_t>(width));
    for (const ErrorSample& sample : SamplesWithALaw(150, static_cast<std::size_t>(inputs))) {
      EXPECT_NEAR(fast.Of(sample.prediction, sample.x), slow.Of(sample), 1e-5) << inputs;
      fast.Take(sample.error, sample.prediction, sample.x);
      slow.Take(sample);
    }
  }
}

/// Mean squares of errors, and of what is left of them, of the last fifth before the turn and
/// after.
struct LeftOfErrors {
  double before = 0;
  double after = 0;
};
LeftOfErrors WhatIsLeft(const std::vector<ErrorSample>& samples) {
  ExpectedError expected(samples.front().x.size());
  std::vector<double> all(2);
  std::vector<double> left(2);
  for (std::size_t t = 0; t < samples.size(); ++t) {
    const ErrorSample& sample = samples[t];
    const std::size_t half = 2 * t / samples.size();
    if (10 * t / samples.size() == 4 + 5 * half) {
      all[half] += std::pow(sample.error, 2);
      left[half] += std::pow(sample.error - expected.Of(sample.prediction, sample.x), 2);
    }
    expected.Take(sample.error, sample.prediction, sample.x);
  }
  return {left[0] / all[0], left[1] / all[1]};
}

// The law is 0.7 of the errors' square, or none of it.
TEST(ExpectedError, FollowsALawThatTurnsRoundAndExpectsNothingOfNoise) {
  const LeftOfErrors law = WhatIsLeft(SamplesWithALaw(1000, 2));
  EXPECT_LT(law.before, 0.4);
  EXPECT_LT(law.after, 0.4);
  auto noise = SamplesWithALaw(1000, 2);
  Random random(4, Purpose::kTest);
  for (ErrorSample& sample : noise) sample.error = random.Normal();
  EXPECT_LT(WhatIsLeft(noise).before, 1.04);
}

TEST(ExpectedError, HasTheUnitOfErrors) {
  ExpectedError one(2);
  ExpectedError large(2);
  for (const ErrorSample& sample : SamplesWithALaw(100, 2)) {
    EXPECT_NEAR(large.Of(sample.prediction, sample.x), 1024 * one.Of(sample.prediction, sample.x),
                1e-9);
    one.Take(sample.error, sample.prediction, sample.x);
    large.Take(1024 * sample.error, sample.prediction, sample.x);
  }
}

TEST(ExpectedError, StaysFiniteWhateverComes) {
  ExpectedError expected(2);
  const std::vector<float> x = {1e30F, -1e30F};
  for (const double error : {0.0, 0.0, 1e300, -1e300, 1e-300, 0.0}) {
    expected.Take(error, 1e300, x);
    EXPECT_TRUE(std::isfinite(expected.Of(-1e300, x)));
  }
}

TEST(ExpectedError, ResumesWithTheSameBits) {
  ExpectedError whole(2);
  ExpectedError stopped(2);
  const auto samples = SamplesWithALaw(60, 2);
  for (std::size_t t = 0; t < 60; ++t) {
    if (t == 30) {
      ExpectedError next(2);
      next.Load(stopped.Save());
      stopped = next;
    }
    const ErrorSample& sample = samples[t];
    EXPECT_EQ(stopped.Of(sample.prediction, sample.x), whole.Of(sample.prediction, sample.x));
    whole.Take(sample.error, sample.prediction, sample.x);
    stopped.Take(sample.error, sample.prediction, sample.x);
  }
}

}  // namespace
}  // namespace polykern
