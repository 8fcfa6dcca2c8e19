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
std::vector<ErrorSample> SamplesWithALaw(std::size_t count, std::size_t inputs) {
  Random random(3, Purpose::kTest, inputs);
  std::vector<ErrorSample> samples(count);
  for (std::size_t t = 0; t < count; ++t) {
    ErrorSample& sample = samples[t];
    sample.prediction = random.Uniform();
    for (std::size_t i = 0; i < inputs; ++i) {
      sample.x.push_back(static_cast<float>(2 * random.Uniform() - 1));
    }
    const double p = sample.prediction - 0.5;
    const double law = inputs == 0 ? p : p + (1 + 2 * p) * static_cast<double>(sample.x[0]);
    sample.error = (2 * t < count ? law : -law) + 0.5 * random.Normal();
  }
  return samples;
}

/// The same as the header says it, word by word.
class SlowExpected {
 public:
  double Of(const ErrorSample& sample) const {
    const double trust = std::clamp(agreement_ / said_, 0.0, 1.0);
    return size_ * std::clamp(trust * Said(sample), -3.0, 3.0);
  }

  void Take(const ErrorSample& sample) {
    taken_ += 1;
    const double unit = taken_ == 1 ? std::abs(sample.error) : size_;
    const double size_rate = std::max(0.015, 2 / (1 + taken_));
    size_ = (1 - size_rate) * size_ + size_rate * std::abs(sample.error);
    const double relative = std::clamp(sample.error / unit, -3.0, 3.0);
    const double said = Said(sample);
    agreement_ = 0.98 * agreement_ + relative * said;
    said_ = 0.98 * said_ + said * said;
    const auto z = Z(sample);
    w_.resize(z.size());
    if (taken_ > 1) {
      double square = 0;
      for (const double value : z) square += value * value;
      const double spread_rate = std::max(0.03, 1 / (taken_ - 1));
      spread_ = (1 - spread_rate) * spread_ + spread_rate * square;
      const double norm = std::max(spread_, 0.15 * square);
      for (std::size_t i = 0; i < z.size(); ++i) w_[i] += 0.15 * (relative - said) * z[i] / norm;
    }
    const double rate = std::max(0.03, 1 / taken_);
    mean_error_ = (1 - rate) * mean_error_ + rate * relative;
    const auto own = Own(sample);
    means_.resize(own.size());
    for (std::size_t i = 0; i < own.size(); ++i) {
      means_[i] = (1 - rate) * means_[i] + rate * own[i];
    }
  }

 private:
  /// Prediction and inputs.
  static std::vector<double> Own(const ErrorSample& sample) {
    std::vector<double> own = {sample.prediction};
    own.insert(own.end(), sample.x.begin(), sample.x.end());
    for (double& value : own) value = std::clamp(value, -1.0, 1.0);
    return own;
  }
  std::vector<double> Z(const ErrorSample& sample) const {
    std::vector<double> z = Own(sample);
    for (std::size_t i = 0; i < means_.size(); ++i) z[i] -= means_[i];
    for (std::size_t i = 1, inputs = sample.x.size(); i <= inputs; ++i) {
      z.push_back(2 * z[0] * z[i]);
    }
    return z;
  }
  double Said(const ErrorSample& sample) const {
    const auto z = Z(sample);
    double sum = mean_error_;
    for (std::size_t i = 0; i < w_.size(); ++i) sum += w_[i] * z[i];
    return sum;
  }

  std::vector<double> means_;
  std::vector<double> w_;
  double mean_error_ = 0;
  double spread_ = 0;
  double size_ = 0;
  double taken_ = 0;
  double agreement_ = 0;
  double said_ = 10;
};

TEST(ExpectedError, IsWhatTheHeaderSays) {
  for (const std::size_t inputs : {0U, 1U, 3U, 20U}) {
    ExpectedError fast(inputs);
    SlowExpected slow;
    for (ErrorSample sample : SamplesWithALaw(300, inputs)) {
      sample.prediction *= 1.2;  // a few are clipped
      EXPECT_NEAR(fast.Of(sample.prediction, sample.x), slow.Of(sample), 1e-9) << inputs;
      fast.Take(sample.error, sample.prediction, sample.x);
      slow.Take(sample);
    }
    EXPECT_EQ(fast.Save().size(), 8 + 3 * inputs);
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
  ExpectedError hits(2);
  for (int i = 0; i < 50000; ++i) hits.Take(0, 0.5, x);
  EXPECT_EQ(hits.Of(0.5, x), 0);
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
