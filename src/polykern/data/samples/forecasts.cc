#include "polykern/data/samples/forecasts.h"

#include <limits>
#include <utility>

namespace polykern {
namespace {

constexpr std::size_t kStoredBesideInputs = 3;  // numbers behind the inputs: what was told
// As low: there is no interval. It also comes first, since no input is infinite; without it, as it
// was once, there are the prediction and the radius of an interval around it.
constexpr double kMark = std::numeric_limits<double>::infinity();
constexpr double kNoRadius = -1;

std::optional<Interval> IntervalOf(std::span<const double> told, bool marked) {
  if (told[1] == (marked ? kMark : kNoRadius)) return {};
  if (marked) return Interval{told[1], told[2]};
  return Interval{told[0] - told[1], told[0] + told[1]};
}

}  // namespace

std::optional<WaitingSample> Forecasts::Add(WaitingSample sample) {
  samples_.push_back(std::move(sample));
  if (samples_.size() < ahead_) return {};
  WaitingSample oldest = std::move(samples_.front());
  samples_.pop_front();
  return oldest;
}

std::vector<double> Forecasts::Save() const {
  std::vector<double> saved = {kMark};
  for (const WaitingSample& sample : samples_) {
    saved.insert(saved.end(), sample.x.begin(), sample.x.end());
    const ToldPrediction told = sample.told.value_or(ToldPrediction());
    const Interval interval = told.interval.value_or(Interval{kMark, 0});
    saved.insert(saved.end(), {told.value, interval.low, interval.high});
  }
  return saved;
}

void Forecasts::Load(std::span<const double> saved) {
  const bool marked = !saved.empty() && saved.front() == kMark;
  if (marked) saved = saved.subspan(1);
  const std::size_t size = dimension_ + kStoredBesideInputs - (marked ? 0 : 1);
  if (saved.size() % size != 0 || saved.size() / size >= ahead_) return;
  samples_.clear();
  for (; !saved.empty(); saved = saved.subspan(size)) {
    WaitingSample sample;
    for (const double value : saved.first(dimension_)) {
      sample.x.push_back(static_cast<float>(value));
    }
    const auto told = saved.subspan(dimension_, size - dimension_);
    sample.told = {told[0], IntervalOf(told, marked), {}};
    samples_.push_back(std::move(sample));
  }
}

}  // namespace polykern
