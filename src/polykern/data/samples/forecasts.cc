#include "polykern/data/samples/forecasts.h"

#include <utility>

namespace polykern {
namespace {

constexpr std::size_t kTold = 2;  // numbers behind the inputs: what was told
constexpr double kNoRadius = -1;

}  // namespace

std::optional<WaitingSample> Forecasts::Add(WaitingSample sample) {
  samples_.push_back(std::move(sample));
  if (samples_.size() < ahead_) return {};
  WaitingSample oldest = std::move(samples_.front());
  samples_.pop_front();
  return oldest;
}

std::vector<double> Forecasts::Save() const {
  std::vector<double> saved;
  for (const WaitingSample& sample : samples_) {
    saved.insert(saved.end(), sample.x.begin(), sample.x.end());
    const ToldPrediction told = sample.told.value_or(ToldPrediction());
    saved.push_back(told.value);
    saved.push_back(told.radius.value_or(kNoRadius));
  }
  return saved;
}

void Forecasts::Load(std::span<const double> saved) {
  const std::size_t size = dimension_ + kTold;
  if (saved.size() % size != 0 || saved.size() / size >= ahead_) return;
  samples_.clear();
  for (; !saved.empty(); saved = saved.subspan(size)) {
    WaitingSample sample;
    for (const double value : saved.first(dimension_)) {
      sample.x.push_back(static_cast<float>(value));
    }
    const double radius = saved[dimension_ + 1];
    sample.told = {saved[dimension_], {}, {}};
    if (radius != kNoRadius) sample.told->radius = radius;
    samples_.push_back(std::move(sample));
  }
}

}  // namespace polykern
