#include "polykern/algorithms/gram/gram_schedule.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>

namespace polykern {
namespace {

constexpr double kFew = 0.5;  // of the samples that the first step counts on

}  // namespace

GramSchedule::GramSchedule(const GramGrid& grid, const GramRules& rules,
                           const SampleCount& expected)
    : grid_(grid),
      rules_(rules),
      last_learnt_(static_cast<double>(expected.samples)),
      last_unknowns_(static_cast<double>(expected.unknowns)),
      sums_(grid.experts()),
      held_(grid.experts()),
      held_unknowns_(grid.experts()),
      held_new_(grid.experts()),
      held_clients_(grid.experts()),
      held_largest_(grid.experts()),
      samples_(grid.experts()),
      missed_(grid.experts()),
      tokens_(grid.experts()),
      weights_(grid.experts(), 1 / static_cast<double>(grid.experts())) {}

/// In one step no client has two messages. The largest of some numbers is at most the root of the
/// sum of their squares, which does not depend on how they were added up.
void GramSchedule::Hold(std::size_t expert, const HeldSums& came) {
  held_[expert] += static_cast<double>(came.count.samples);
  held_unknowns_[expert] += static_cast<double>(came.count.unknowns);
  held_new_[expert] += static_cast<double>(came.new_unknowns);
  held_clients_[expert] = std::max(held_clients_[expert], static_cast<double>(came.messages));
  held_largest_[expert] += std::sqrt(static_cast<double>(came.squares));
}

void GramSchedule::Learnt(const SampleCount& fresh) {
  const auto samples = static_cast<double>(fresh.samples);
  few_ = learnt_ == 0 && samples < kFew * last_learnt_;
  last_learnt_ = samples;
  last_unknowns_ = static_cast<double>(fresh.unknowns);
  learnt_ += last_learnt_;
  unknowns_ += last_unknowns_;
  for (double& tokens : tokens_) tokens += rules_.disclosure * last_unknowns_;
}

/// What someone who sees only released sums can check: the samples in this sum can pay for
/// it alone, and those in all sums together for all of them.
bool GramSchedule::CanPay(std::size_t expert, double numbers) const {
  const double largest = rules_.least_clients > 1 ? held_largest_[expert] : 0;
  return held_clients_[expert] >= rules_.least_clients &&
         held_[expert] - largest >= kLeastSamples &&
         numbers <= rules_.disclosure * held_unknowns_[expert] &&
         spent_ + numbers <= rules_.disclosure * (released_ + held_new_[expert]);
}

bool GramSchedule::MayStand(std::size_t expert, std::span<const Contribution> messages) const {
  std::map<std::uint64_t, double> samples;  // of each client
  double all = 0;
  double unknowns = 0;
  for (const Contribution& each : messages) {
    samples[each.client] += static_cast<double>(each.count.samples);
    all += static_cast<double>(each.count.samples);
    unknowns += static_cast<double>(each.count.unknowns);
  }
  double largest = 0;
  for (const auto& [client, own] : samples) largest = std::max(largest, own);
  return static_cast<double>(samples.size()) >= rules_.least_clients &&
         all - largest >= kLeastSamples && NumbersOf(expert) <= rules_.disclosure * unknowns;
}

bool GramSchedule::Close(std::size_t expert, std::size_t parts) {
  const double numbers = static_cast<double>(parts) * NumbersOf(expert);
  if (!CanPay(expert, numbers)) return false;
  const bool paid = sums_[expert] == Sum::kPaid;
  // The first step may have counted on more samples than came.
  if (paid && *std::ranges::min_element(tokens_) < 0) return false;
  if (tokens_[expert] < numbers - (paid ? NumbersOf(expert) : 0)) return false;
  for (std::size_t part = paid ? 1 : 0; part < parts; ++part) Pay(expert);
  spent_ += numbers;
  released_ += held_new_[expert];
  Void(expert);
  return true;
}

void GramSchedule::Void(std::size_t expert) {
  for (std::size_t e = expert;; --e) {
    sums_[e] = Sum::kNotAsked;
    held_[e] = 0;
    held_unknowns_[e] = 0;
    held_new_[e] = 0;
    held_clients_[e] = 0;
    held_largest_[e] = 0;
    tokens_[e] = 0;
    if (!grid_.HasSmaller(e)) return;
  }
}

/// The windows of all experts end now, so older samples are in fewer of them: their tokens are
/// spent first. An expert with a longer window lost them all; one with a shorter window has at most
/// what is left of all.
void GramSchedule::Pay(std::size_t expert) {
  const double had = tokens_[expert];
  for (double& tokens : tokens_) {
    tokens = tokens >= had ? tokens - NumbersOf(expert) : std::min(tokens, had - NumbersOf(expert));
  }
}

void GramSchedule::Opened(std::size_t expert, double samples, std::span<const double> weights) {
  assert(weights.size() == weights_.size());
  samples_[expert] += samples;
  std::ranges::copy(weights, weights_.begin());
  // It holds the sums of every smaller size.
  for (std::size_t e = expert; grid_.HasSmaller(e); --e) {
    samples_[e - 1] = std::max(samples_[e - 1], samples_[expert]);
    missed_[e - 1] = std::max(missed_[e - 1], samples_[expert] + missed_[expert] - samples_[e - 1]);
  }
}

void GramSchedule::Refused(std::size_t expert, double new_unknowns) {
  spent_ -= NumbersOf(expert);
  released_ -= new_unknowns;
}

void GramSchedule::BeginEpoch() {
  for (std::size_t expert = 0; expert < grid_.experts(); ++expert) {
    Void(expert);
    missed_[expert] = learnt_ - samples_[expert];
  }
  spent_ = released_ = 0;
}

void GramSchedule::SetMissed(std::span<const double> missed) {
  std::ranges::copy(missed, missed_.begin());
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

double GramSchedule::Pending(std::size_t expert) const {
  return learnt_ + last_learnt_ - samples_[expert] - missed_[expert] -
         (rules_.whole ? held_[expert] : 0);
}

/// Would it have the least samples at once, also without the largest client, as Hold counts them,
/// if all clients had as many?
bool GramSchedule::IsWhole(std::size_t expert) const {
  return !rules_.whole ||
         Pending(expert) * (1 - 1 / std::sqrt(rules_.least_clients)) >= kLeastSamples;
}

bool GramSchedule::Ask(std::size_t expert, std::vector<std::uint32_t>& turn) {
  if (NumbersOf(expert) > uplink_) return false;
  uplink_ -= NumbersOf(expert);
  turn.push_back(static_cast<std::uint32_t>(expert));
  return true;
}

std::vector<std::uint32_t> GramSchedule::NextTurn() {
  std::vector<std::uint32_t> turn;
  uplink_ = std::min(uplink_ + rules_.budget, rules_.burst * rules_.budget);
  std::vector<bool> asked(grid_.kernels());  // a larger size would hold the same sums again
  for (std::size_t expert = 0; expert < grid_.experts(); ++expert) {
    if (few_ && !grid_.HasSmaller(expert) && sums_[expert] == Sum::kNotAsked) {
      sums_[expert] = Sum::kAsked;
    }
    if (sums_[expert] == Sum::kNotAsked) continue;
    asked[grid_.KernelOf(expert)] = true;
    if (IsWhole(expert)) Ask(expert, turn);
  }
  const double coming = learnt_ > 0 ? 0 : rules_.disclosure * last_unknowns_;
  const double all = learnt_ + last_learnt_;
  const double unknowns_each = all > 0 ? (unknowns_ + last_unknowns_) / all : 0;
  for (;;) {
    std::size_t best = 0;
    double highest = 0;
    for (std::size_t expert = 0; expert < grid_.experts(); ++expert) {
      if (asked[grid_.KernelOf(expert)] || !IsWhole(expert)) continue;
      const double pending = Pending(expert);
      if (NumbersOf(expert) > rules_.disclosure * pending * unknowns_each) continue;
      const double priority = Priority(expert, pending);
      if (priority > highest) {
        highest = priority;
        best = expert;
      }
    }
    if (highest <= 0 || NumbersOf(best) > tokens_[best] + coming || !Ask(best, turn)) break;
    Pay(best);
    sums_[best] = Sum::kPaid;
    asked[grid_.KernelOf(best)] = true;
  }
  std::ranges::sort(turn);
  return turn;
}

void GramSchedule::Save(std::span<double> saved) const {
  const double numbers[] = {uplink_,        learnt_, unknowns_, last_learnt_,
                            last_unknowns_, spent_,  released_};
  static_assert(std::size(numbers) == kNumbers);
  auto to = std::ranges::copy(numbers, saved.begin()).out;
  for (const auto* each : {&samples_, &tokens_, &weights_}) to = std::ranges::copy(*each, to).out;
}

void GramSchedule::Load(std::span<const double> saved, std::span<const std::uint32_t> turn) {
  double* const numbers[] = {&uplink_,        &learnt_, &unknowns_, &last_learnt_,
                             &last_unknowns_, &spent_,  &released_};
  for (std::size_t i = 0; i < kNumbers; ++i) *numbers[i] = saved[i];
  saved = saved.subspan(kNumbers);
  for (auto* each : {&samples_, &tokens_, &weights_}) {
    std::ranges::copy(saved.first(each->size()), each->begin());
    saved = saved.subspan(each->size());
  }
  std::ranges::fill(sums_, Sum::kNotAsked);
  for (auto* each :
       {&held_, &held_unknowns_, &held_new_, &held_clients_, &held_largest_, &missed_}) {
    std::ranges::fill(*each, 0);
  }
  for (const std::uint32_t expert : turn) sums_[expert] = Sum::kPaid;
}

bool GramSchedule::AnyHeld() const {
  return std::ranges::any_of(held_, [](double held) { return held > 0; }) ||
         std::ranges::count(sums_, Sum::kAsked) > 0;
}

void GramSchedule::SaveHeld(std::span<double> saved) const {
  auto states = saved.begin();
  for (const auto* each : {&held_, &held_unknowns_, &held_new_, &held_clients_, &held_largest_}) {
    states = std::ranges::copy(*each, states).out;
  }
  std::ranges::transform(sums_, states, [](Sum sum) { return static_cast<double>(sum); });
}

void GramSchedule::LoadHeld(std::span<const double> saved) {
  for (auto* each : {&held_, &held_unknowns_, &held_new_, &held_clients_, &held_largest_}) {
    std::ranges::copy(saved.first(each->size()), each->begin());
    saved = saved.subspan(each->size());
  }
  std::ranges::transform(saved.last(sums_.size()), sums_.begin(),
                         [](double state) { return static_cast<Sum>(static_cast<int>(state)); });
}

}  // namespace polykern
