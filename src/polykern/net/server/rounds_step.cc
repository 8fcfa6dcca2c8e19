// How a step of the rounds ends: when, on the disk, and for everybody.
#include <algorithm>
#include <utility>

#include "polykern/core/error.h"
#include "polykern/net/server/rounds.h"

namespace polykern {
namespace {

constexpr std::chrono::seconds kRetryCommit{1};

/// To the bit.
bool SameBlock(std::span<const float> a, std::span<const float> b) {
  return std::ranges::equal(std::as_bytes(a), std::as_bytes(b));
}

}  // namespace

bool Rounds::Waited(const Client& client) const {
  return client.awaited && !client.counted && client.answered != told_.step + 1;
}

/// Late updates count towards the quorum: whoever sent one waits for this step, and nobody else
/// may be left to answer it.
bool Rounds::Due(Time now) const {
  if (pending_ || counts_.failure || counted_.empty()) return false;
  if (options_.asynchronous) return true;
  if (answering_ < options_.quorum.Of(Expected())) return false;
  return unanswered_ == 0 || answering_ == clients_.size() ||
         now >= first_answer_ + options_.deadline;
}

/// The mutex is held, and stays so if nobody else commits.
void Rounds::EndStepIfDue(Time now) {
  if (!Due(now)) return;
  // If everybody has answered nobody can be kept waiting, and another thread would only cost.
  if (due_ && (uses_late() || unanswered_ > 0)) {
    due_();
  } else {
    std::unique_lock<std::mutex> nothing;
    WriteStep(nothing, now);
  }
}

/// Of a lock that is held the mutex is free while the disk works.
void Rounds::WriteStep(std::unique_lock<std::mutex>& lock, Time now) {
  if (!pending_) {
    try {
      coordinator_.Commit();
    } catch (const Error& error) {
      counts_.failure = error;
      return;
    }
    pending_.emplace(Pending{coordinator_.Save(), std::exchange(counted_, {}), {}, first_answer_});
    for (const CountedUpdate& update : pending_->counted) clients_[update.client].counted = false;
    answering_ = 0;
    for (std::size_t k = 0; k < clients_.size(); ++k) {
      const std::uint64_t count = std::exchange(clients_[k].rejected, 0);
      if (count > 0) pending_->rejected.push_back({k, count});
    }
  }
  const bool elsewhere = lock.owns_lock();
  const StepCommit step{coordinator_.broadcast().step, pending_->state, pending_->counted,
                        pending_->rejected};
  std::string trouble;
  writing_ = elsewhere;
  in_flight_.insert(in_flight_.end(), events_.begin(), events_.end());
  events_.clear();
  if (elsewhere) lock.unlock();
  try {
    store_.Write({.step = step, .events = in_flight_});
    in_flight_.clear();
  } catch (const DiskFull& full) {
    trouble = full.what();
  } catch (const Error& error) {
    if (elsewhere) lock.lock();
    counts_.failure = error;
    writing_ = false;
    written_.notify_all();
    return;
  }
  if (elsewhere) lock.lock();
  writing_ = false;
  written_.notify_all();
  counts_.trouble = trouble;
  if (trouble.empty()) {
    Publish();
    EndStepIfDue(now);  // what came late, meanwhile
  } else {
    try_again_ = now + kRetryCommit;
  }
}

/// The step is on the disk: everybody may hear of it.
void Rounds::Publish() {
  if (options_.observer != nullptr) {
    options_.observer->StepEnded(coordinator_.broadcast().step, pending_->counted.size(),
                                 pending_->first_answer);
  }
  const Broadcast& next = coordinator_.broadcast();
  for (std::size_t b = 0; b < shape_.blocks; ++b) {
    const std::size_t at = b * shape_.width;
    if (!SameBlock(std::span(told_.model).subspan(at, shape_.width),
                   std::span(next.model).subspan(at, shape_.width))) {
      changed_at_[b] = next.step;
    }
  }
  told_ = next;
  changes_.clear();
  for (const CountedUpdate& update : pending_->counted) {
    Client& client = clients_[update.client];
    client.committed = update.step + 1;
    client.took_part = told_.step;
    // Without late updates the next model says as much.
    if (uses_late() && client.session) links_.at(*client.session).counted = update.step;
  }
  pending_.reset();
  unanswered_ = 0;
  for (const auto& [session, link] : links_) {
    if (!link.client) continue;
    Client& client = clients_[*link.client];
    // Whoever answered the step that has ended, or sent something late instead.
    client.awaited &=
        client.answered == told_.step || client.took_part == told_.step || client.counted;
    if (Waited(client)) ++unanswered_;
    wake_.push_back(link.peer);
  }
}

void Rounds::CommitElsewhere(std::function<void()> due) {
  const std::lock_guard lock(mutex_);
  due_ = std::move(due);
}

void Rounds::Commit(Time now) {
  Locked locked(*this);
  if (writing_ || !(pending_ ? now >= try_again_ : Due(now))) return;
  WriteStep(locked.lock(), now);
}

void Rounds::Tick(Time now) {
  const Locked locked(*this);
  if (counts_.failure || writing_) return;
  if (!pending_) return EndStepIfDue(now);
  if (now < try_again_) return;
  if (due_) return due_();
  std::unique_lock<std::mutex> nothing;
  WriteStep(nothing, now);
}

}  // namespace polykern
