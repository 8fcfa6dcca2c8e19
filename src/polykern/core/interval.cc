#include "polykern/core/interval.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <sstream>

#include "polykern/core/error.h"

namespace polykern {
namespace {

constexpr double kLeastStep = 0.05;  // of g: a miss widens by 4.5 % at a coverage of 0.9
constexpr double kFarthest = 7;  // of m from its start: errors that stay 0 would take it anywhere

/// g after so many errors: 0.1 first.
double StepAfter(double taken) {
  return std::max(kLeastStep, 0.3 / std::sqrt(8 + taken));
}

/// The quantile of the size of normal errors in units of its mean, as Polya approximates it: 2.02
/// for 0.9.
double FirstFactor(double coverage) {
  return std::log(std::numbers::pi / 2 * std::sqrt(-std::log1p(-coverage * coverage)));
}

}  // namespace

void CheckCoverage(double coverage) {
  if (coverage > 0 && coverage < 1) return;
  std::ostringstream text;
  text << OptionName("coverage") << " is " << coverage
       << "; it must lie between 0 and 1, such as 0.9";
  throw Error(text.str());
}

IntervalTracker::IntervalTracker(double coverage, std::size_t inputs)
    : coverage_(coverage), expected_(inputs) {
  CheckCoverage(coverage);
  factor_ = FirstFactor(coverage);
}

std::optional<Interval> IntervalTracker::Around(double prediction, std::span<const float> x) const {
  if (taken_ == 0) return std::nullopt;
  const double middle = prediction + expected_.Of(prediction, x);
  const double radius = scale_ * std::exp(factor_);
  return Interval{std::min(prediction, middle - radius), std::max(prediction, middle + radius)};
}

std::vector<double> IntervalTracker::Save() const {
  std::vector<double> saved = {coverage_, scale_, factor_, taken_};
  saved.insert(saved.end(), expected_.Save().begin(), expected_.Save().end());
  return saved;
}

IntervalTracker IntervalTracker::Load(std::span<const double> saved, std::size_t inputs) {
  const auto fail = [] { throw Error("these are not the numbers of an interval"); };
  const auto finite = [](double number) { return std::isfinite(number); };
  if (saved.size() < kOwn || !std::ranges::all_of(saved, finite)) fail();
  IntervalTracker tracker(saved[0], inputs);
  tracker.scale_ = saved[1];
  tracker.factor_ = saved[2];
  tracker.taken_ = saved[3];
  if (saved.size() == kOwn) return tracker;
  if (saved.size() != tracker.StateSize()) fail();
  tracker.expected_.Load(saved.subspan(kOwn));
  return tracker;
}

void IntervalTracker::Take(double label, double prediction, std::span<const float> x,
                           const std::optional<Interval>& told) {
  const double middle = prediction + expected_.Of(prediction, x);
  if (told) {
    const double start = FirstFactor(coverage_);
    factor_ += StepAfter(taken_) * (told->Has(label) ? coverage_ - 1 : coverage_);
    factor_ = std::clamp(factor_, start - kFarthest, start + kFarthest);
  }
  ++taken_;
  scale_ += RecentRate(taken_) * (std::abs(label - middle) - scale_);
  expected_.Take(label - prediction, prediction, x);
}

}  // namespace polykern
