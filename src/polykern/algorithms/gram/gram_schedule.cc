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
      tokens_(grid.experts()),
      weights_(grid.experts(), 1 / static_cast<double>(grid.experts())) {}

void GramSchedule::Learnt(const SampleCount& fresh, std::span<const std::uint32_t> turn) {
  last_learnt_ = static_cast<double>(fresh.samples);
  last_unknowns_ = static_cast<double>(fresh.unknowns);
  learnt_ += last_learnt_;
  unknowns_ += last_unknowns_;
  for (double& tokens : tokens_) tokens += rules_.disclosure * last_unknowns_;
  for (const std::uint32_t expert : turn) {
    tokens_[expert] = 0;
    for (std::size_t e = expert; grid_.HasSmaller(e); --e) tokens_[e - 1] = 0;
  }
}

bool GramSchedule::Covers(const SampleCount& fresh) const {
  return *std::ranges::min_element(tokens_) +
             rules_.disclosure * static_cast<double>(fresh.unknowns) >=
         0;
}

/// The windows of all experts end now, so older samples are in fewer of them: their tokens are
/// spent first. An expert with a longer window lost them all; one with a shorter window has at most
/// what is left of all.
void GramSchedule::Pay(std::size_t expert) {
  const auto numbers = static_cast<double>(grid_.NumbersOf(expert));
  const double had = tokens_[expert];
  for (double& tokens : tokens_) {
    tokens = tokens >= had ? tokens - numbers : std::min(tokens, had - numbers);
  }
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
  std::vector<bool> asked(grid_.kernels());
  uplink_ = std::min(uplink_ + rules_.budget, rules_.burst * rules_.budget);
  const double coming = learnt_ > 0 ? 0 : rules_.disclosure * last_unknowns_;
  const double all = learnt_ + last_learnt_;
  const double unknowns_each = all > 0 ? (unknowns_ + last_unknowns_) / all : 0;
  for (;;) {
    std::size_t best = 0;
    double highest = 0;
    for (std::size_t expert = 0; expert < grid_.experts(); ++expert) {
      if (asked[grid_.KernelOf(expert)]) continue;
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
    if (highest <= 0 || numbers > uplink_ || numbers > tokens_[best] + coming) break;
    uplink_ -= numbers;
    Pay(best);
    turn.push_back(static_cast<std::uint32_t>(best));
    asked[grid_.KernelOf(best)] = true;  // a larger size of it would hold the same sums again
  }
  std::ranges::sort(turn);
  return turn;
}

void GramSchedule::Save(std::span<double> saved) const {
  const double numbers[] = {uplink_, learnt_, unknowns_, last_learnt_, last_unknowns_};
  static_assert(std::size(numbers) == kNumbers);
  auto to = std::ranges::copy(numbers, saved.begin()).out;
  for (const auto* each : {&samples_, &tokens_, &weights_}) to = std::ranges::copy(*each, to).out;
}

void GramSchedule::Load(std::span<const double> saved) {
  double* const numbers[] = {&uplink_, &learnt_, &unknowns_, &last_learnt_, &last_unknowns_};
  for (std::size_t i = 0; i < kNumbers; ++i) *numbers[i] = saved[i];
  saved = saved.subspan(kNumbers);
  for (auto* each : {&samples_, &tokens_, &weights_}) {
    std::ranges::copy(saved.first(each->size()), each->begin());
    saved = saved.subspan(each->size());
  }
}

}  // namespace polykern
