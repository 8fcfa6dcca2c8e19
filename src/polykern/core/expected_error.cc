#include "polykern/core/expected_error.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace polykern {
namespace {

constexpr double kMemory = 0.015;  // some 70 errors

enum : std::size_t { kTaken, kSize, kAgreement, kSaid };

}  // namespace

double RecentRate(double taken) {
  return std::max(kMemory, 2 / (1 + taken));
}

ExpectedError::ExpectedError(std::size_t inputs)
    : inputs_(inputs <= kMostInputs ? inputs : 0),
      squares_(inputs <= kMostSquares ? inputs : 0),
      regression_(2 + inputs_ + squares_, kRidge, kForgetting),
      state_(kOwn + regression_.StateSize()) {}

void ExpectedError::Load(std::span<const double> saved) {
  assert(saved.size() == state_.size());
  state_.assign(saved.begin(), saved.end());
}

void ExpectedError::Load(double size, double taken) {
  std::ranges::fill(state_, 0);
  state_[kTaken] = taken;
  state_[kSize] = size;
}

ExpectedError::Features ExpectedError::FeaturesOf(double prediction,
                                                  std::span<const float> x) const {
  Features z = {1, static_cast<float>(std::clamp(prediction, -1.0, 1.0))};
  for (std::size_t i = 0; i < inputs_; ++i) z[2 + i] = std::clamp(x[i], -1.0F, 1.0F);
  for (std::size_t i = 0; i < squares_; ++i) z[2 + inputs_ + i] = z[2 + i] * z[2 + i];
  return z;
}

double ExpectedError::Regress(const Features& z) const {
  const auto theta = regression_.Theta(std::span(state_).subspan(kOwn));
  double sum = 0;
  for (std::size_t i = 0; i < theta.size(); ++i) sum += theta[i] * static_cast<double>(z[i]);
  return sum;
}

double ExpectedError::Trust() const {
  return state_[kSaid] > 0 ? std::clamp(state_[kAgreement] / state_[kSaid], 0.0, 1.0) : 0;
}

double ExpectedError::Of(double prediction, std::span<const float> x) const {
  const double said = Regress(FeaturesOf(prediction, x));
  return state_[kSize] * Trust() * std::clamp(said, -kLargest, kLargest);
}

void ExpectedError::Take(double error, double prediction, std::span<const float> x) {
  const double rate = RecentRate(++state_[kTaken]);
  const double before = state_[kSize];
  state_[kSize] += rate * (std::abs(error) - before);
  const double unit = before > 0 ? before : state_[kSize];
  if (unit == 0) return;  // nothing but hits so far
  const double relative = std::clamp(error / unit, -kLargest, kLargest);
  const Features z = FeaturesOf(prediction, x);
  const double said = Regress(z);
  state_[kAgreement] = kForgetting * state_[kAgreement] + relative * said;
  state_[kSaid] = kForgetting * state_[kSaid] + said * said;
  std::array<double, 2 * kMostWidth> scratch;
  regression_.Learn(std::span(z).first(regression_.width()), relative, said,
                    std::span(state_).subspan(kOwn), scratch);
}

}  // namespace polykern
