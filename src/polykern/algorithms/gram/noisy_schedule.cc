#include <algorithm>

#include "polykern/algorithms/gram/gram_schedule.h"
#include "polykern/algorithms/gram/noisy_server.h"

namespace polykern {

bool NoisySchedule::Asks(std::uint64_t steps) {
  uplink_ = std::min(uplink_ + rules_.budget, rules_.burst * rules_.budget);
  const std::uint64_t early = (due_ - last_) / 8;
  if (released_ == rules_.releases || steps + 1 + early < due_ || uplink_ < numbers_) return false;
  uplink_ -= numbers_;
  return true;
}

bool NoisySchedule::Releases(std::uint64_t steps, std::uint64_t samples) const {
  return released_ < rules_.releases && steps >= due_ &&
         static_cast<double>(samples) >= GramSchedule::kLeastSamples;
}

void NoisySchedule::Released(std::uint64_t steps) {
  last_ = steps;
  due_ = steps + std::max<std::uint64_t>(1, (steps + 3) / 4);
  ++released_;
}

void NoisySchedule::Save(std::span<double> saved) const {
  const double numbers[] = {uplink_, static_cast<double>(last_), static_cast<double>(due_),
                            static_cast<double>(released_)};
  static_assert(std::size(numbers) == kSavedSize);
  std::ranges::copy(numbers, saved.begin());
}

void NoisySchedule::Load(std::span<const double> saved) {
  uplink_ = saved[0];
  last_ = static_cast<std::uint64_t>(saved[1]);
  due_ = static_cast<std::uint64_t>(saved[2]);
  released_ = static_cast<std::uint64_t>(saved[3]);
}

}  // namespace polykern
