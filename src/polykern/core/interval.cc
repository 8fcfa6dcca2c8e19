#include "polykern/core/interval.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "polykern/core/error.h"

namespace polykern {
namespace {

constexpr double kLeastStep = 0.05;  // of g: a miss widens by 4.5 % at a coverage of 0.9
constexpr double kMemory = 0.015;    // of s: some 70 errors
constexpr double kFarthest = 7;  // of m from its start: errors that stay 0 would take it anywhere

/// g after so many errors: 0.1 first.
double StepAfter(double taken) {
  return std::max(kLeastStep, 0.3 / std::sqrt(8 + taken));
}

/// The quantile of errors with an exponential law, in units of their mean.
double FirstFactor(double coverage) {
  return std::log(-std::log1p(-coverage));
}

}  // namespace

void CheckCoverage(double coverage) {
  if (coverage > 0 && coverage < 1) return;
  std::ostringstream text;
  text << OptionName("coverage") << " is " << coverage
       << "; it must lie between 0 and 1, such as 0.9";
  throw Error(text.str());
}

IntervalTracker::IntervalTracker(double coverage) : coverage_(coverage) {
  CheckCoverage(coverage);
  factor_ = FirstFactor(coverage);
}

std::optional<double> IntervalTracker::radius() const {
  if (taken_ == 0) return std::nullopt;
  return scale_ * std::exp(factor_);
}

IntervalTracker IntervalTracker::Load(std::span<const double> saved) {
  const bool whole = saved.size() == 4 && std::ranges::all_of(saved, [](double number) {
                       return std::isfinite(number);
                     });
  if (!whole) throw Error("these are not the numbers of an interval");
  IntervalTracker tracker(saved[0]);
  tracker.scale_ = saved[1];
  tracker.factor_ = saved[2];
  tracker.taken_ = saved[3];
  return tracker;
}

void IntervalTracker::Take(double error, std::optional<double> told) {
  const double size = std::abs(error);
  if (told) {
    const double start = FirstFactor(coverage_);
    factor_ += StepAfter(taken_) * (size > *told ? coverage_ : coverage_ - 1);
    factor_ = std::clamp(factor_, start - kFarthest, start + kFarthest);
  }
  ++taken_;
  scale_ += std::max(kMemory, 2 / (1 + taken_)) * (size - scale_);
}

}  // namespace polykern
