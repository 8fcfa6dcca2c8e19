#include "polykern/net/rounds/collecting_phase.h"

#include <utility>

#include "polykern/core/error.h"

namespace polykern {

void CollectingPhase::Take(Link& link, Updates& updates, bool first, RoundsTime now) {
  const std::uint64_t number = *link.client;
  const std::uint64_t step = updates.step;
  const std::uint64_t open = core_.published.step();
  const bool late = step < open || (step == open && core_.phase != Phase::kCollecting);
  const bool dropped = late && (!core_.options.uses_late() || core_.published.finished());
  const bool duplicate = !dropped && step < core_.members[number].next_step;
  link.CheckAnswer(step);
  if (!dropped && core_.published.finished()) {
    throw BrokenRule(Rule::kEnded, "the federation has ended");
  }
  if (core_.options.front != nullptr && !core_.members[number].stored) {
    throw BrokenRule(Rule::kStep, "received an update before the welcome");
  }
  updates.clients.assign(1, core_.members[number].number);
  if (updates.releases > core_.coordinator.broadcast().releases &&
      core_.options.opener != nullptr) {
    core_.coordinator.AllowReleases(core_.options.opener->settled());
  }
  if (!dropped && !duplicate) core_.coordinator.Receive(updates);
  link.Answered(step);
  if (dropped) {
    ++core_.counts.late;
    core_.members.Await(number);
  } else if (duplicate) {  // what it sent before the connection was lost did arrive
    ++core_.counts.duplicates;
  } else {
    core_.members.Count(number, step);
    if (first && core_.counted.empty()) core_.first_answer = now;
    core_.counted.push_back({number, step});
    ++core_.counts.accepted;
    if (late) ++core_.counts.used_late;
    if (!updates.clipped.empty()) NoteClipped(core_.members[number], updates.clipped[0]);
  }
}

/// It is logged once for a client, since it can happen with every sample.
void CollectingPhase::NoteClipped(Member& member, std::uint64_t labels) {
  core_.counts.clipped += labels;
  if (std::exchange(member.clips, true)) return;
  core_.Log(member.name, "clipped", "labels outside the target range; later ones are only counted");
}

/// Late updates count towards the quorum: a client that sent one waits for this step, and no other
/// client may be left to answer it.
bool CollectingPhase::IsDue(std::size_t answers, RoundsTime now) const {
  if (core_.phase != Phase::kCollecting || core_.counts.failure || answers == 0) return false;
  if (core_.options.asynchronous) return true;
  return core_.members.HasQuorum() &&
         (core_.members.IsComplete() || now >= core_.first_answer + core_.options.deadline);
}

void CollectingPhase::DropTheSilent(RoundsTime now) {
  const bool overdue = core_.phase == Phase::kCollecting && !core_.counted.empty() &&
                       now >= core_.first_answer + 2 * core_.options.deadline;
  if (overdue) core_.members.StopWaiting();
}

void CollectingPhase::End() {
  try {
    core_.coordinator.Commit();
    core_.LogDiscarded();
  } catch (const Error& error) {
    core_.counts.failure = error;
    return;
  }
  core_.phase = Phase::kWriting;
  core_.writer.End({core_.coordinator.broadcast().step, core_.StateNow(),
                    std::exchange(core_.counted, {}), core_.members.EndCollecting(),
                    core_.first_answer});
}

}  // namespace polykern
