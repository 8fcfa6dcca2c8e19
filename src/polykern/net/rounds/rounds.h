#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "polykern/algorithms/algorithm.h"
#include "polykern/algorithms/broken_rule.h"
#include "polykern/net/rounds/collecting_phase.h"
#include "polykern/net/rounds/opening_phase.h"
#include "polykern/net/rounds/ranges_phase.h"
#include "polykern/net/rounds/rounds_core.h"

namespace polykern {

class SharedRounds;

/// A federation's rounds without a transport: which updates count, when a step ends, what each
/// client is told. A step is in the store before any client hears of it, and so is a client before
/// it is welcomed. Time is an argument, never read.
///
/// A federation that learns its ranges begins with them: when those of a quorum are here, as with a
/// step, they take their place in the store's configuration, and everyone is welcomed once more.
///
/// A step has phases: it collects updates, and is written; of masked or noisy sums that are due
/// then, it is written that nothing joins them any more, they are opened, and the model is written.
/// Each phase is a class: RangesPhase, CollectingPhase, OpeningPhase. SharedRounds deals with other
/// servers of the federation.
///
/// One thread at a time writes, and holds no mutex while it waits for the disk: the caller's, which
/// waits in WaitForWork and calls Commit, and for which other calls queue work; or, of a step that
/// no client can add anything to, the one that received its last update. Any thread may call
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
  Rounds(const Algorithm& algorithm, Store& store, const RoundsOptions& options,
         const StoreContents& contents);
  void End(Link& link, const Ending& ending);
  void Note(std::uint64_t number, const ClientNote& note);
  void Reject(Link& link, std::uint64_t step, const BrokenRule& broken, Time now);
  void Ban(const std::string& name);
  /// To the open step: updates, or ranges before the first one.
  std::size_t Answers() const { return ranges_.learns() ? ranges_.size() : core_.counted.size(); }
  bool IsStepDue(Time now) const;
  void SignalIfDue(Time now);
  void WriteAll(RoundsLock& lock, Time now);
  void TakeIn(const WriteResult& result);
  void Publish(const EndedStep& step);

  RoundsCore core_;
  RangesPhase ranges_;
  CollectingPhase collecting_;
  OpeningPhase opening_;
  const bool keeps_samples_;  // clients must know whether what they sent counted
  std::uint64_t ahead_ = 0;   // the first step that no client has answered, as clients say
  std::unique_ptr<SharedRounds> shared_;  // null: it is the only server
};

}  // namespace polykern
