#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "polykern/algorithms/algorithm.h"
#include "polykern/algorithms/broken_rule.h"
#include "polykern/federation/coordinator.h"
#include "polykern/net/learnt_ranges.h"
#include "polykern/net/rounds/front.h"
#include "polykern/net/rounds/links.h"
#include "polykern/net/rounds/membership.h"
#include "polykern/net/rounds/published_model.h"
#include "polykern/net/rounds/rounds_options.h"
#include "polykern/net/rounds/rounds_status.h"
#include "polykern/net/rounds/step_writer.h"
#include "polykern/net/store/store.h"
#include "polykern/net/wire.h"

namespace polykern {

/// A federation's rounds without a transport: which updates count, when a step ends, what each
/// client is told. A step is in the store before any client hears of it, and so is a client before
/// it is welcomed. Time is an argument, never read.
///
/// A federation that learns its ranges begins with them: when those of a quorum are here, as with a
/// step, they take their place in the store's configuration, and everybody is welcomed once more.
///
/// A step has phases: it collects updates, and is written; of masked or noisy sums that are due
/// then, it is written that nothing joins them any more, they are opened, and the model is written.
/// A thread of the caller's writes: it waits in WaitForWork and calls Commit. Other calls queue
/// work for it, and no thread waits for a disk while holding the mutex. Any thread may call
/// anything. Nothing here throws after the constructor: what a client does wrong is answered to it,
/// and `failure` says when the store fails.
class Rounds {
 public:
  using Time = RoundsTime;

  /// Resumes from the store. Algorithm and store must outlive it, and nothing else may use the
  /// store meanwhile. Throws Error if the store does not fit, or the algorithm cannot do what the
  /// options want.
  Rounds(const Algorithm& algorithm, Store& store, const RoundsOptions& options);
  ~Rounds();

  /// A client whose identity is proven. An earlier connection of the same client is ended. A
  /// refused client has a session as well: Take says so.
  SessionId Join(const std::string& name, const Hello& hello, std::shared_ptr<Peer> peer, Time now);

  /// An update of this session's client; its number in `updates` is overwritten. Commits if it is
  /// the last one that a step without late updates can have.
  void Receive(SessionId session, Updates updates, Time now);
  /// What this session's client tells of its data. Counts while ranges are
  /// learnt; useless afterwards.
  void Receive(SessionId session, const ClientRanges& ranges, Time now);
  /// Received bytes that are not a message, or not one for now: the connection ends.
  void Broken(SessionId session, const std::string& why, Time now);
  /// The same from a client that has not said hello: no connection of the rounds ends, but it
  /// counts towards a ban.
  void Broken(const std::string& name, const std::string& why, Time now);
  /// Is it banned for a while? Until then it can be ignored.
  bool IsBanned(const std::string& name, Time now) const;
  /// How well a client says it predicts; for status() alone.
  void Note(SessionId session, const ClientReport& report);
  void Leave(SessionId session, Time now);
  /// A client was turned away before it could join: for the log.
  void Refused(const std::string& name, const std::string& why);
  /// Something happened that concerns no single client: for the log.
  void Tell(const char* event, const std::string& detail);
  /// Ends every connection of a client that may no longer take part.
  void Expel(const std::string& name, const std::string& why, Time now);

  /// The certificate that this session's client showed, and when it ends.
  void NoteCertificate(SessionId session, const std::string& serial, std::int64_t expires);
  /// A client that its last certificate can no longer let in is not waited for.
  void Recheck(const std::function<bool(const ClientNote&)>& may_come_in, Time now);
  /// It left for good: it is not waited for, and may come back. Returns why
  /// not; empty: it is done.
  std::string Forget(const std::string& name, Time now);
  /// The same of what its operator calls it.
  std::string Label(const std::string& name, const std::string& label);
  std::vector<ClientView> Clients() const;

  /// What this session should do now. A slow one gets the newest model, however many it missed.
  Outgoing Take(SessionId session);

  /// Waits until there is something to write, but no longer than that. False:
  /// the caller must stop.
  bool WaitForWork(const std::stop_token& stop, std::chrono::milliseconds longest);
  /// Ends the step that is due, writes all that waits and announces it,
  /// until nothing is left to write. To be called a few times in a deadline, and when WaitForWork
  /// returns: steps whose deadline has passed end here, and what a full disk has stopped is tried
  /// again. While one thread is in it another one returns at once.
  void Commit(Time now);

  /// Takes over quorum, least clients, deadline, limits and retries, from the open step on; the
  /// rest stays. Throws Error, and changes nothing, if they cannot work.
  void Change(const RoundsOptions& options, Time now);

  /// The answer to a client for which there is no room.
  Busy RetryWindow(const std::string& reason) const;
  /// The address by which other front ends know this one.
  void SetAddress(const std::string& address);
  /// No message about ranges is longer; 0: none is expected.
  std::size_t longest_ranges() const;
  RoundsStatus status() const;

 private:
  /// What a step is about. From its end on the coordinator is a step ahead.
  enum class Phase {
    kCollecting,  ///< updates, or ranges before the first step
    kWriting,     ///< has ended, is not known to be on the disk
    kOpening,     ///< is on the disk, with closed sums whose masks are not off yet
  };
  class Locked;
  struct Shared;

  Rounds(const Algorithm& algorithm, Store& store, const RoundsOptions& options,
         const StoreContents& contents);
  /// None if the store has ranges. Throws Error if the options do not say whose samples count.
  static std::optional<LearntRanges> RangesToLearn(const RoundsOptions& options,
                                                   const StoreConfiguration& texts);
  void End(Link& link, const Ending& ending);
  void Note(std::uint64_t number, const ClientNote& note);
  void TakeUpdate(Link& link, Updates& updates, Time now);
  void TakeRanges(Link& link, const ClientRanges& ranges, Time now);
  void NoteClipped(Member& member, std::uint64_t labels);
  void Reject(Link& link, std::uint64_t step, const BrokenRule& broken, Time now);
  void Ban(const std::string& name);
  bool IsStepDue(Time now) const;
  bool IsOverdue(Time now) const;
  void SignalIfDue(Time now);
  void EndStep();
  bool OpenNext(Locked& locked);
  void LogDiscarded();
  void LogNoise();
  std::vector<double> StateNow() const;
  bool LacksKey() const;
  bool NeedsEverybody() const;
  bool MayWelcome(const Member& member) const;
  void WelcomeThoseWhoWait();
  void TakeIn(const WriteResult& result);
  void Publish(const EndedStep& step);
  void Publish(const StoreConfiguration& configuration);
  void Log(const std::string& name, const char* event, const std::string& detail);

  // With other front ends (rounds_front.cc, and of clients rounds_front_clients.cc):
  void BeginSharing(Store& store);
  std::optional<Ending> AwayRefusal() const;
  bool IsFirstAnswer() const;
  bool IsPartialDue(Time now) const;
  bool HasReported() const;
  bool HasToExchange(Time now) const;
  void MakePartial(Time now);
  FrontWork WorkForOthers(Time now);
  void ExchangeAll(Locked& locked, Time now);
  void NoteAway(const Error& error, Time now);
  void TakeIn(const FrontWork& work, const FrontNews& news);
  void TakeFate(const FrontNews& news);
  void DropOpenAnswers();
  void PublishNewest(const ResumePoint& newest);
  void Claim(std::uint64_t client, const std::string& mask_key);
  void Disconnect(std::uint64_t client);
  bool MayRelease() const;
  void ReleaseClients(FrontWork& work);
  void ForgetReleased(const std::vector<std::uint64_t>& released);
  void Return(std::uint64_t client, const Ending& ending);
  void DropUnhanded();
  void TakeClients(const FrontNews& news);
  void NoteShared(std::uint64_t client);
  void RecheckShared(const std::function<bool(const ClientNote&)>& may_come_in);
  void DescribeFronts(RoundsStatus& status) const;

  const std::string algorithm_;
  StepWriter writer_;

  mutable std::mutex mutex_;  // for all that follows
  RoundsOptions options_;
  std::condition_variable_any work_changed_;
  bool has_work_ = false;    // for waiting threads
  bool committing_ = false;  // a thread is in Commit
  Coordinator coordinator_;
  PublishedModel published_;
  std::optional<LearntRanges> ranges_;  // while they are learnt
  Membership members_;
  const bool keeps_samples_;  // clients must know whether what they sent counted
  Links links_;
  Phase phase_ = Phase::kCollecting;
  EndedStep closed_;                    // while its sums are opened: all but its state
  std::size_t opened_ = 0;              // of these sums
  bool resumed_opening_ = false;        // no client has a model yet
  bool no_helper_key_;                  // no client can be welcomed without it
  std::vector<CountedUpdate> counted_;  // in the open step
  Time first_answer_{};                 // when the first of these came, or of the ranges
  std::uint64_t ahead_ = 0;  // the first step that no client has answered, as clients say
  RoundsStatus counts_;
  std::unique_ptr<Shared> shared_;  // null: it is the only server
};

/// Holds the mutex; after releasing it, wakes threads with something to take or to write.
class Rounds::Locked {
 public:
  explicit Locked(Rounds& rounds) : rounds_(rounds), lock_(rounds.mutex_) {}
  ~Locked() { Release(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

  void Release() {
    const auto woken = rounds_.links_.TakeWoken();
    const bool work = rounds_.has_work_ && !rounds_.committing_;
    lock_.unlock();
    if (work) rounds_.work_changed_.notify_one();
    for (const auto& peer : woken) peer->Wake();
  }
  void Reacquire() { lock_.lock(); }

 private:
  Rounds& rounds_;
  std::unique_lock<std::mutex> lock_;
};

}  // namespace polykern
