#include "polykern/algorithms/gram/gram_schedule.h"

#include <algorithm>
#include <cassert>

namespace polykern {

GramSchedule::GramSchedule(const GramGrid& grid, const GramRules& rules,
                           const SampleCount& expected)
    : grid_(grid),
      rules_(rules),
      last_learnt_(static_cast<double>(expected.samples)),
      last_unknowns_(static_cast<double>(expected.unknowns)),
      samples_(grid.experts()),
      weights_(grid.experts(), 1 / static_cast<double>(grid.experts())) {
  for (std::size_t expert = 0; expert < grid.experts(); ++expert) {
    deepest_ = std::max(deepest_, static_cast<double>(grid.NumbersOf(expert)));
  }
}

void GramSchedule::Learnt(const SampleCount& fresh) {
  last_learnt_ = static_cast<double>(fresh.samples);
  last_unknowns_ = static_cast<double>(fresh.unknowns);
  learnt_ += last_learnt_;
  unknowns_ += last_unknowns_;
  disclosure_ = std::min(disclosure_ + rules_.disclosure * last_unknowns_, deepest_);
}

void GramSchedule::Released(std::size_t expert, double samples, std::span<const double> weights) {
  assert(weights.size() == weights_.size());
  samples_[expert] += samples;
  std::ranges::copy(weights, weights_.begin());
  // It holds the sums of every smaller size.
  for (std::size_t e = expert; grid_.HasSmaller(e); --e) samples_[e - 1] = samples_[expert];
}

/// What it costs does not matter: an expensive one is saved up for. A size that never had a turn is
/// expected to be as good as the next smaller one, and comes after that.
double GramSchedule::Priority(std::size_t expert, double pending) const {
  if (pending < kLeastSamples) return 0;
  const double explored = rules_.exploration / static_cast<double>(grid_.experts());
  if (samples_[expert] > 0) {
    return (weights_[expert] + explored) * (pending / (samples_[expert] + pending));
  }
  if (!grid_.HasSmaller(expert)) return 1 + explored;
  return samples_[expert - 1] > 0 ? std::max(weights_[expert - 1], explored) + explored : 0;
}

std::vector<std::uint32_t> GramSchedule::NextTurn() {
  std::vector<std::uint32_t> turn;
  std::vector<bool> asked(grid_.experts());
  uplink_ = std::min(uplink_ + rules_.budget, rules_.burst * rules_.budget);
  const double coming = rules_.disclosure * last_unknowns_;
  const double all = learnt_ + last_learnt_;
  const double unknowns_each = all > 0 ? (unknowns_ + last_unknowns_) / all : 0;
  for (;;) {
    std::size_t best = 0;
    double highest = 0;
    for (std::size_t expert = 0; expert < grid_.experts(); ++expert) {
      if (asked[expert]) continue;
      const double pending = all - samples_[expert];
      const auto numbers = static_cast<double>(grid_.NumbersOf(expert));
      if (numbers > rules_.disclosure * pending * unknowns_each) continue;
      const double priority = Priority(expert, pending);
      if (priority > highest) {
        highest = priority;
        best = expert;
      }
    }
    const auto numbers = static_cast<double>(grid_.NumbersOf(best));
    if (highest <= 0 || numbers > uplink_ || numbers > std::min(disclosure_ + coming, deepest_)) {
      break;
    }
    uplink_ -= numbers;
    disclosure_ -= numbers;
    turn.push_back(static_cast<std::uint32_t>(best));
    for (std::size_t e = best + 1; e-- > 0;) {
      asked[e] = true;
      if (!grid_.HasSmaller(e)) break;
    }
  }
  std::ranges::sort(turn);
  return turn;
}

void GramSchedule::Save(std::span<double> saved) const {
  const double numbers[] = {uplink_, disclosure_, learnt_, unknowns_, last_learnt_, last_unknowns_};
  static_assert(std::size(numbers) == kNumbers);
  auto to = std::ranges::copy(numbers, saved.begin()).out;
  to = std::ranges::copy(samples_, to).out;
  std::ranges::copy(weights_, to);
}

void GramSchedule::Load(std::span<const double> saved) {
  double* const numbers[] = {&uplink_,   &disclosure_,  &learnt_,
                             &unknowns_, &last_learnt_, &last_unknowns_};
  for (std::size_t i = 0; i < kNumbers; ++i) *numbers[i] = saved[i];
  std::ranges::copy(saved.subspan(kNumbers, samples_.size()), samples_.begin());
  std::ranges::copy(saved.subspan(kNumbers + samples_.size(), weights_.size()), weights_.begin());
}

}  // namespace polykern
