#include "polykern/core/expected_error.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace polykern {
namespace {

constexpr double kMemory = 0.015;  // of s: some 70 errors

// Of the state: errors taken; s; sums of (error u) and u^2, u being b + w . z, which forget; the
// mean of z . z; b; the mean prediction; then those of the inputs, and w.
enum : std::size_t { kTaken, kSize, kAgreement, kSaid, kSpread, kMeanError, kMean, kWeight };

}  // namespace

double RecentRate(double taken) {
  return std::max(kMemory, 2 / (1 + taken));
}

ExpectedError::ExpectedError(std::size_t inputs) : inputs_(inputs), state_(8 + 3 * inputs) {
  state_[kSaid] = kDoubt;
}

void ExpectedError::Load(std::span<const double> saved) {
  assert(saved.size() == state_.size());
  state_.assign(saved.begin(), saved.end());
}

double ExpectedError::Prediction(double prediction) const {
  return std::clamp(prediction, -1.0, 1.0) - state_[kMean];
}

double ExpectedError::Input(std::span<const float> x, std::size_t i) const {
  return static_cast<double>(std::clamp(x[i], -1.0F, 1.0F)) - state_[kMean + 1 + i];
}

double ExpectedError::Regress(double prediction, std::span<const float> x) const {
  const auto w = std::span(state_).subspan(kWeight + inputs_);
  const double p = Prediction(prediction);
  double sum = state_[kMeanError] + w[0] * p;
  for (std::size_t i = 0; i < inputs_; ++i) {
    sum += (w[1 + i] + 2 * p * w[1 + inputs_ + i]) * Input(x, i);
  }
  return sum;
}

double ExpectedError::Of(double prediction, std::span<const float> x) const {
  if (state_[kSaid] == 0) return 0;  // only hits for so long that doubt is forgotten
  const double trust = std::clamp(state_[kAgreement] / state_[kSaid], 0.0, 1.0);
  return state_[kSize] * std::clamp(trust * Regress(prediction, x), -kLargest, kLargest);
}

/// A step of w against an error that is left, in units of s.
void ExpectedError::Move(double error, double prediction, std::span<const float> x) {
  const auto w = std::span(state_).subspan(kWeight + inputs_);
  const double p = Prediction(prediction);
  double square = 0;
  for (std::size_t i = 0; i < inputs_; ++i) square += Input(x, i) * Input(x, i);
  square = p * p + (1 + 4 * p * p) * square;
  state_[kSpread] += std::max(kPace, 1 / (state_[kTaken] - 1)) * (square - state_[kSpread]);
  // A rare sample far from all others must not overshoot.
  const double norm = std::max(state_[kSpread], kStep * square);
  if (norm == 0) return;
  const double step = kStep * error / norm;
  w[0] += step * p;
  for (std::size_t i = 0; i < inputs_; ++i) {
    w[1 + i] += step * Input(x, i);
    w[1 + inputs_ + i] += step * 2 * p * Input(x, i);
  }
}

void ExpectedError::Take(double error, double prediction, std::span<const float> x) {
  const double taken = ++state_[kTaken];
  const double before = state_[kSize];
  state_[kSize] += RecentRate(taken) * (std::abs(error) - before);
  const double unit = before > 0 ? before : state_[kSize];
  const double relative = unit > 0 ? std::clamp(error / unit, -kLargest, kLargest) : 0;
  const double said = Regress(prediction, x);
  state_[kAgreement] = kForgetting * state_[kAgreement] + relative * said;
  state_[kSaid] = kForgetting * state_[kSaid] + said * said;
  if (taken > 1) Move(relative - said, prediction, x);  // the first is where means begin
  const double rate = std::max(kPace, 1 / taken);
  state_[kMeanError] += rate * (relative - state_[kMeanError]);
  state_[kMean] += rate * Prediction(prediction);
  for (std::size_t i = 0; i < inputs_; ++i) state_[kMean + 1 + i] += rate * Input(x, i);
}

}  // namespace polykern
