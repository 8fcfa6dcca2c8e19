#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "polykern/algorithms/algorithm.h"
#include "polykern/federation/coordinator.h"
#include "polykern/net/rounds/links.h"
#include "polykern/net/rounds/membership.h"
#include "polykern/net/rounds/published_model.h"
#include "polykern/net/rounds/rounds_options.h"
#include "polykern/net/rounds/rounds_status.h"
#include "polykern/net/rounds/step_writer.h"
#include "polykern/net/store/store.h"

namespace polykern {

/// What a step is about. From its end on the coordinator is a step ahead.
enum class Phase {
  kCollecting,  ///< updates, or ranges before the first step
  kWriting,     ///< has ended, is not known to be on the disk
  kOpening,     ///< is on the disk, with closed sums whose masks are not off yet
};

/// What rounds know in every phase of a step, and what all phases do with it. Rounds own it; they
/// and their parts (RangesPhase, OpeningPhase, SharedRounds) hold its mutex to touch it, but for
/// what never changes and the writer, which any thread may use.
struct RoundsCore {
  /// Throws Error if rounds with these options cannot resume where the store is.
  RoundsCore(const Algorithm& of, Store& store, const RoundsOptions& given,
             const StoreContents& contents);

  void Log(const std::string& name, const char* event, const std::string& detail);
  /// Says on a connection why it ends; its client is not connected any more.
  void End(Link& link, const Ending& ending);
  /// A client that waits to hear it is told that its update is on the disk.
  void Confirm(const CountedUpdate& update);
  /// The coordinator's, and what the opener keeps, which nothing happens to in between.
  std::vector<double> StateNow() const;
  /// Sums that the coordinator could not use, by its last step.
  void LogDiscarded();

  const std::string algorithm;
  StepWriter writer;

  mutable std::mutex mutex;  // for all that follows
  RoundsOptions options;
  std::condition_variable_any work_changed;
  bool has_work = false;    // for waiting threads
  bool committing = false;  // a thread is in Rounds::Commit
  Coordinator coordinator;
  PublishedModel published;
  Membership members;
  Links links;
  Phase phase = Phase::kCollecting;
  std::vector<CountedUpdate> counted;  // in the open step
  RoundsTime first_answer{};           // when the first of these came, or of the ranges
  RoundsStatus counts;
};

/// Holds the mutex; after releasing it, wakes threads with something to take or to write.
class RoundsLock {
 public:
  explicit RoundsLock(RoundsCore& core) : core_(core), lock_(core.mutex) {}
  ~RoundsLock() { Release(); }
  RoundsLock(const RoundsLock&) = delete;
  RoundsLock& operator=(const RoundsLock&) = delete;

  void Release() {
    const auto woken = core_.links.TakeWoken();
    const bool work = core_.has_work && !core_.committing;
    lock_.unlock();
    if (work) core_.work_changed.notify_one();
    for (const auto& peer : woken) peer->Wake();
  }
  void Reacquire() { lock_.lock(); }

 private:
  RoundsCore& core_;
  std::unique_lock<std::mutex> lock_;
};

}  // namespace polykern
