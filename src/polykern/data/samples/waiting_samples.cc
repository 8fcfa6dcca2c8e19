#include "polykern/data/samples/waiting_samples.h"

#include <iterator>
#include <utility>

namespace polykern {

void WaitingSamples::Add(const std::string& id, std::vector<float> x) {
  if (Take(id)) ++forgotten_;
  samples_.push_back({id, {std::move(x)}});
  places_[id] = std::prev(samples_.end());
  if (samples_.size() <= most_) return;
  places_.erase(samples_.front().id);
  samples_.pop_front();
  ++forgotten_;
}

void WaitingSamples::Tell(const std::string& id, ToldPrediction told) {
  const auto found = places_.find(id);
  if (found != places_.end()) found->second->waiting.told = std::move(told);
}

std::optional<WaitingSample> WaitingSamples::Take(const std::string& id) {
  const auto found = places_.find(id);
  if (found == places_.end()) return {};
  WaitingSample sample = std::move(found->second->waiting);
  samples_.erase(found->second);
  places_.erase(found);
  return sample;
}

void WaitingSamples::ForgetAll() {
  forgotten_ += samples_.size();
  places_.clear();
  samples_.clear();
}

}  // namespace polykern
