#include "polykern/gpu/gram_clients.h"

#include <algorithm>
#include <cmath>

#include "polykern/algorithms/gram/gram_inbox.h"
#include "polykern/core/kernels.h"

namespace polykern::gpu {
namespace {

void AddModulo(std::span<const U64> added, std::span<std::int64_t> sums) {
  for (std::size_t i = 0; i < added.size(); ++i) {
    sums[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(sums[i]) + added[i]);
  }
}

/// The first of the smallest sums tells of what is new.
void ChooseTeller(std::span<TurnEntry> turn) {
  if (!turn.empty()) std::ranges::min_element(turn, {}, &TurnEntry::size)->tells = true;
}

}  // namespace

GramClients::GramClients(const Device& device, const Algorithm& algorithm, const KernelShape& shape,
                         U64 clients)
    : grid_(algorithm.definition().bank->kernels(), algorithm.definition().bank->features()),
      most_samples_(algorithm.definition().options.most_samples),
      kept_samples_(algorithm.kept_samples()),
      since_(device, clients * shape.kernels),
      learnt_(device, clients),
      reach_(device, clients),
      unknowns_(device, clients),
      last_unknowns_(device, clients),
      facts_(device, shape.kernels),
      asked_(device, shape.kernels) {}

void GramClients::Clear(Queue& queue) const {
  queue.Zero(since_.data(), since_.bytes());
  queue.Zero(unknowns_.data(), unknowns_.bytes());
  for (const auto* buffer : {&learnt_, &reach_, &last_unknowns_}) {
    queue.Zero(buffer->data(), buffer->bytes());
  }
}

void GramClients::Describe(FleetArguments& a) const {
  const auto quarter = static_cast<double>((grid_.features() + 3) / 4);  // gram_sums.cc
  a.quarter_scale = 1 / std::sqrt(static_cast<float>(quarter));
  a.quarter_factor = std::sqrt(quarter / static_cast<double>(grid_.features()));
  a.most_samples = most_samples_;
  a.kept_samples = kept_samples_;
  a.since = since_.data();
  a.learnt = learnt_.data();
  a.reach = reach_.data();
  a.unknowns = unknowns_.data();
  a.last_unknowns = last_unknowns_.data();
  a.experts = facts_.data();
  a.turn = asked_.data();
}

std::size_t GramClients::MostResults() const {
  std::size_t numbers = (1 + kPastCounts) * grid_.experts();
  for (std::size_t e = 0; e < grid_.experts(); ++e) numbers += PairsOf(e);
  return numbers;
}

void GramClients::Begin(const Broadcast& sent, Queue& queue, U64* results, FleetArguments& a) {
  facts_here_.clear();
  a.any_awake = 0;
  for (std::size_t e = 0; e < grid_.experts(); ++e) {
    const auto theta = std::span(sent.model).subspan(grid_.ThetaStart(e), grid_.WidthOf(e));
    const U32 awake = std::ranges::any_of(theta, [](float value) { return value != 0; }) ? 1 : 0;
    a.any_awake |= awake;
    facts_here_.push_back(
        {static_cast<U32>(grid_.SizeOf(e)), static_cast<U32>(grid_.ThetaStart(e)), awake, awake});
  }
  a.weight_sums = results;
  results_ = grid_.experts();
  turn_.clear();
  for (const std::uint32_t expert : sent.turn) {
    TurnEntry& entry = turn_.emplace_back();
    entry.expert = expert;
    entry.size = facts_here_[expert].size;
    entry.counts = results + results_;
    entry.sums = reinterpret_cast<I64*>(entry.counts + kPastCounts);
    results_ += kPastCounts + PairsOf(expert);
    for (std::size_t e = expert + 1; e-- > 0;) {
      facts_here_[e].awakes = 1;
      if (!grid_.HasSmaller(e)) break;
    }
  }
  ChooseTeller(turn_);
  a.turn_size = static_cast<U32>(turn_.size());
  queue.Write(facts_.data(), facts_here_.data(), facts_.bytes());
  queue.Write(asked_.data(), sent.turn.data(), sent.turn.size() * sizeof(U32));
}

void GramClients::Collect(std::span<const U64> found, std::span<const U64> totals,
                          std::span<const std::span<std::int64_t>> sums) const {
  const std::span<std::int64_t> counts = sums.front();
  const U64 people = totals[kParticipants];
  AddModulo(std::array{people, totals[kFreshUnknowns]}, counts.last(2));
  const auto weights = found.first(grid_.experts());
  found = found.subspan(weights.size());
  for (std::size_t at = 0; at < turn_.size(); ++at) {
    const auto own = found.first(kPastCounts);
    const auto pairs = found.subspan(kPastCounts, PairsOf(turn_[at].expert));
    found = found.subspan(own.size() + pairs.size());
    AddModulo(std::array{people, own[kPastSamples], own[kPastUnknowns], own[kPastNewUnknowns],
                         own[kPastSquares]},
              counts.subspan(GramInbox::PlaceOf(turn_[at].expert), GramInbox::kCounts));
    AddModulo(pairs, sums[1 + at]);
    AddModulo(weights, sums[1 + at].subspan(pairs.size()));
  }
}

}  // namespace polykern::gpu
