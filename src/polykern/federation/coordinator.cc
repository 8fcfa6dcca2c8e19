#include "polykern/federation/coordinator.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <string>

#include "polykern/algorithms/broken_rule.h"
#include "polykern/core/error.h"
#include "polykern/core/exact_sum.h"

namespace polykern {

Coordinator::Coordinator(const Algorithm& algorithm, std::size_t clients, std::size_t lanes,
                         std::uint64_t first_client)
    : algorithm_(algorithm),
      first_client_(first_client),
      server_(algorithm.NewServer()),
      lanes_(lanes),
      answered_(clients),
      limit_(ExactSum::kLimit) {
  for (std::size_t lane = 0; lane < lanes; ++lane) inboxes_.push_back(server_->NewInbox());
}

void CheckTakesMasks(const Algorithm& algorithm) {
  if (!algorithm.shape().sums.empty()) return;
  throw Error(std::string(algorithm.name()) +
              " cannot be masked: its clients do not send sums over samples; pof-gram's do");
}

void Coordinator::TakeMasked() {
  CheckTakesMasks(algorithm_);
  masked_ = true;
  LetCallerOpen();
}

void Coordinator::Receive(const Updates& updates, std::size_t lane) {
  assert(lane < lanes_.size());
  Check(updates);
  MarkAnswered(updates);
  inboxes_[lane]->Add(updates);
  lanes_[lane].participants += updates.size();
}

void Coordinator::Check(const Updates& updates) const {
  const std::uint64_t step = broadcast().step;
  if (updates.step > step || (updates.step < step && !takes_late_)) {
    throw BrokenRule(Rule::kStep, "an update answers step " + std::to_string(updates.step) +
                                      ", but the server is at step " + std::to_string(step));
  }
  const auto twice = [](std::uint64_t client, std::uint64_t answered) {
    throw BrokenRule(Rule::kTwice, "client " + std::to_string(client) +
                                       " has already answered step " + std::to_string(answered));
  };
  for (const std::uint64_t client : updates.clients) {
    const std::uint64_t own = client - first_client_;  // too large as well if it is below
    if (own >= answered_.size()) {
      throw BrokenRule(Rule::kClient, "client " + std::to_string(client) + " is not known here");
    }
    if (answered_[own] > updates.step) twice(client, answered_[own] - 1);
  }
  // Clients that go upwards, as mostly, are distinct.
  if (!std::ranges::is_sorted(updates.clients, std::less_equal<>())) {
    std::vector<std::uint64_t> sorted = updates.clients;
    std::ranges::sort(sorted);
    const auto pair = std::ranges::adjacent_find(sorted);
    if (pair != sorted.end()) twice(*pair, updates.step);
  }
  CheckUpdates(algorithm_.shape(), updates, limit_);
  // A helper would take it for a sign that its log was restored.
  if (updates.releases > std::max(broadcast().releases, most_releases_)) {
    throw BrokenRule(Rule::kSums,
                     "an update counts " + std::to_string(updates.releases) +
                         " releases, but there were " + std::to_string(broadcast().releases) +
                         ": the client is wrong, or the server's store and the "
                         "helper's log were both restored from backups; then a new epoch "
                         "is needed, with noise a new store");
  }
  const bool must_be_masked = masked_ && !updates.blocks.empty();
  if (updates.nonces.size() != (must_be_masked ? updates.size() : 0)) {
    throw BrokenRule(Rule::kSums, masked_
                                      ? "an update is not masked, but must be"
                                      : "an update is masked, but this federation has no masks");
  }
  if (!algorithm_.shape().sums.empty() && updates.step == step) CheckTurn(updates);
  algorithm_.CheckContents(updates, broadcast());
}

void Coordinator::CheckTurn(const Updates& updates) const {
  for (std::size_t c = 0; c < updates.size(); ++c) {
    if (std::ranges::equal(updates.BlocksOf(c), broadcast().turn)) continue;
    throw BrokenRule(Rule::kSums, "client " + std::to_string(updates.clients[c]) +
                                      " sent different sums from those that step " +
                                      std::to_string(updates.step) + " asks for");
  }
}

void Coordinator::MarkAnswered(const Updates& updates) {
  for (const std::uint64_t client : updates.clients) {
    answered_[client - first_client_] = updates.step + 1;
  }
}

std::vector<std::span<std::int64_t>> Coordinator::Sums() {
  const auto sums = inboxes_.front()->Sums();
  for (const auto& inbox : std::span(inboxes_).subspan(1)) {
    const auto more = inbox->Sums();
    for (std::size_t s = 0; s < sums.size(); ++s) {
      for (std::size_t i = 0; i < sums[s].size(); ++i) {  // modulo 2^64: they may be sealed
        sums[s][i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(sums[s][i]) +
                                               static_cast<std::uint64_t>(more[s][i]));
      }
    }
    inbox->Clear();
  }
  return sums;
}

std::vector<std::int64_t> Coordinator::TakePartial() {
  assert(inboxes_.size() == 1);
  std::vector<std::int64_t> packed = inboxes_.front()->Pack();
  inboxes_.front()->Clear();
  lanes_.front().participants = 0;
  return packed;
}

void Coordinator::AddPartial(std::span<const std::int64_t> packed, std::uint64_t participants) {
  inboxes_.front()->Unpack(packed);
  lanes_.front().participants += participants;
}

void Coordinator::DropUpdates() {
  for (const auto& inbox : inboxes_) inbox->Clear();
  for (Lane& lane : lanes_) lane.participants = 0;
  std::ranges::fill(answered_, 0);
}

std::uint64_t Coordinator::participants() const {
  std::uint64_t sum = 0;
  for (const Lane& lane : lanes_) sum += lane.participants;
  return sum;
}

void Coordinator::Commit(std::uint64_t participants, const RunJobs& run) {
  server_->Commit(inboxes_, participants, run);
  if (!caller_opens_ || releases().empty()) Open();
  for (Lane& lane : lanes_) lane.participants = 0;
}

void Coordinator::Load(std::uint64_t step, std::span<const double> saved,
                       std::span<const std::uint64_t> answered) {
  assert(answered.empty() || answered.size() == answered_.size());
  server_->Load(step, saved);
  DropUpdates();
  std::ranges::copy(answered, answered_.begin());
}

}  // namespace polykern
