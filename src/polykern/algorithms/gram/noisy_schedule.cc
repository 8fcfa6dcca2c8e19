#include <algorithm>
#include <cmath>

#include "polykern/algorithms/gram/noisy_server.h"

namespace polykern {

bool NoisySchedule::Asks(std::uint64_t steps) {
  uplink_ = std::min(uplink_ + rules_.budget, rules_.burst * rules_.budget);
  const std::uint64_t early = (due_ - last_) / 8;
  if (released_ == rules_.releases || steps + 1 + early < due_ || uplink_ < numbers_) return false;
  uplink_ -= numbers_;
  return true;
}

/// As GramSchedule does: by bounds that do not depend on who is who.
void NoisySchedule::Hold(const HeldSums& came) {
  held_ += static_cast<double>(came.count.samples);
  held_clients_ = std::max(held_clients_, static_cast<double>(came.messages));
  held_largest_ += std::sqrt(static_cast<double>(came.squares));
}

bool NoisySchedule::Releases(std::uint64_t steps) const {
  const double largest = rules_.least_clients > 1 ? held_largest_ : 0;
  return released_ < rules_.releases && steps >= due_ && held_clients_ >= rules_.least_clients &&
         held_ - largest >= GramSchedule::kLeastSamples;
}

void NoisySchedule::Released(std::uint64_t steps) {
  last_ = steps;
  due_ = steps + std::max<std::uint64_t>(1, (steps + 3) / 4);
  ++released_;
  held_ = held_clients_ = held_largest_ = 0;
}

void NoisySchedule::Save(std::span<double> saved) const {
  const double numbers[] = {uplink_,
                            static_cast<double>(last_),
                            static_cast<double>(due_),
                            static_cast<double>(released_),
                            held_,
                            held_clients_,
                            held_largest_};
  static_assert(std::size(numbers) == kSavedSize);
  std::ranges::copy(numbers, saved.begin());
}

void NoisySchedule::Load(std::span<const double> saved) {
  uplink_ = saved[0];
  last_ = static_cast<std::uint64_t>(saved[1]);
  due_ = static_cast<std::uint64_t>(saved[2]);
  released_ = static_cast<std::uint64_t>(saved[3]);
  held_ = saved[4];
  held_clients_ = saved[5];
  held_largest_ = saved[6];
}

}  // namespace polykern
