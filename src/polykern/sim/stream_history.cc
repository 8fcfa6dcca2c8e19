#include "polykern/sim/stream_history.h"

#include <algorithm>
#include <cassert>

#include "polykern/core/random.h"

namespace polykern {

bool Attendance::Attends(std::uint64_t client, std::size_t step) const {
  return participation >= 1 ||
         Random(seed, Purpose::kParticipation, client, step).Uniform() < participation;
}

/// Backwards from the newest sample, since only that one's step is known.
void StreamHistory::Read(std::uint64_t client, std::uint64_t from, std::uint64_t to,
                         std::uint64_t learnt, LearntSamples& samples) const {
  const std::size_t dimension = stream_.dimension();
  const std::size_t before = samples.y.size();
  samples.x.resize((before + to - from) * dimension);
  samples.y.resize(before + to - from);
  std::uint64_t number = learnt;  // of the samples before the step
  // If it missed no step, a sample's number is its step.
  std::size_t step = number == step_ + 1 ? static_cast<std::size_t>(number = to) : step_ + 1;
  while (number > from) {
    assert(step > 0);
    --step;
    if (!attendance_.Attends(client, step)) continue;
    stream_.Read(step, client, 1, block_);
    if (block_.present[0] == 0) continue;
    if (--number >= to) continue;
    const std::size_t place = before + (number - from);
    std::ranges::copy(block_.x, samples.x.begin() + static_cast<std::ptrdiff_t>(place * dimension));
    samples.y[place] = block_.y[0];
  }
}

}  // namespace polykern
