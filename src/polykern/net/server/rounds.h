#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "polykern/algorithms/algorithm.h"
#include "polykern/algorithms/broken_rule.h"
#include "polykern/core/error.h"
#include "polykern/federation/coordinator.h"
#include "polykern/net/store/store.h"
#include "polykern/net/wire.h"

namespace polykern {

/// How many clients must have answered before a step may end: a number, or a share of those that
/// are expected to: the roster, or without one whoever is connected or has ever answered.
struct Quorum {
  std::uint64_t count = 0;  ///< 0: the share counts
  double share = 1;         ///< in (0, 1]; 1: everybody

  std::uint64_t Of(std::uint64_t clients) const;
};

class RoundsObserver;

struct RoundsOptions {
  Quorum quorum = {};
  /// After a step's first update, the step ends when a quorum has answered and either everybody
  /// who is connected has, or this much time has passed. Whoever let it pass is not waited for
  /// again before it has sent something: a silent client costs one deadline.
  std::chrono::milliseconds deadline{10'000};
  /// Updates for steps that have ended count in the open one, and in its quorum; else they are
  /// dropped. For algorithms with AlgorithmTraits::takes_late_updates.
  bool use_late = false;
  /// No rounds: every update is applied as it comes, late or not, and quorum and deadline mean
  /// nothing. A step is what came while the one before it was written. For the same algorithms.
  bool asynchronous = false;
  std::uint64_t steps = 0;  ///< the federation ends after so many; 0: never
  /// The only clients, numbered in this order; empty: whoever has a certificate, as they come.
  std::vector<std::string> roster = {};
  std::size_t most_clients = 10'000;    ///< enrolled, unless there is a roster
  std::size_t most_connected = 10'000;  ///< at one time; others are told when to come back
  /// When somebody for whom there is no room shall come back.
  std::chrono::milliseconds retry_earliest{1'000};
  std::chrono::milliseconds retry_latest{30'000};
  std::size_t most_violations = 5;        ///< so many, and a client is sent away
  std::chrono::milliseconds ban{60'000};  ///< for so long
  RoundsObserver* observer = nullptr;     ///< hears of everything; must outlive the rounds
};

/// Throws Error unless rounds of this algorithm can go on with a store's clients and ever end.
void CheckRounds(const RoundsOptions& options, std::string_view algorithm,
                 std::span<const StoredClient> stored);

/// Why a connection is ended.
struct Ending {
  enum class Kind {
    kRefused,   ///< not allowed in, and trying again will not help
    kVersion,   ///< speaks another version of the protocol
    kBusy,      ///< come back later
    kReplaced,  ///< the same client has a newer connection
    kBroken,    ///< what it sends is no message
  };
  Kind kind = Kind::kRefused;
  std::string reason = {};
};

/// What a connection should do next: send a message, end, or nothing for now.
struct Outgoing {
  std::shared_ptr<const std::string> message = nullptr;  ///< shared: many clients get the same one
  std::optional<Ending> ending = {};
};

/// What the rounds have seen since they began, and where they are.
struct RoundsStatus {
  std::uint64_t step = 0;  ///< committed
  bool finished = false;
  std::size_t enrolled = 0;
  std::size_t connected = 0;
  std::uint64_t answered = 0;  ///< updates of the open step
  std::uint64_t needed = 0;    ///< clients that must answer before it may end
  /// The first few that have not, of those that are expected to, while they are too few.
  std::vector<std::string> missing = {};
  std::uint64_t accepted = 0;
  std::uint64_t used_late = 0;   ///< of these for a step that had ended
  std::uint64_t late = 0;        ///< updates for a step that had ended, dropped
  std::uint64_t duplicates = 0;  ///< sent again after a lost connection, dropped
  std::uint64_t rejected = 0;
  std::map<std::string, std::uint64_t> rejected_for = {};  ///< by NameOf
  std::uint64_t refused = 0;                               ///< connections
  std::size_t reporting = 0;                               ///< clients that have reported
  double reported_squared_error = 0;  ///< mean over all predictions they reported
  double reported_regret = 0;         ///< mean over these clients
  std::string trouble = {};  ///< why steps are not being committed for now: no room on the disk
  /// Why no step can ever be committed again: the server must stop.
  std::optional<Error> failure = {};
};

/// A rule in a word, for metrics.
std::string NameOf(Rule rule);

/// A federation's rounds without a transport: who is connected, which updates count, when a step
/// ends. A step is in the store before anybody hears of it. Time is an argument, never read.
///
/// Any thread may call anything; a mutex makes one call at a time. Nothing here throws after the
/// constructor: what a client does wrong is answered to it, and `failure` says when the store
/// fails.
class Rounds {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Session = std::uint64_t;

  /// A connection as the rounds see it. Wake is called from any thread, without any lock, when Take
  /// may have something new. Held by shared_ptr because a wake may cross the connection's end.
  class Peer {
   public:
    virtual ~Peer() = default;
    virtual void Wake() = 0;
  };

  /// Goes on where the store is. Algorithm and store must outlive it. Throws Error if the store
  /// does not fit, or the algorithm cannot do what the options want.
  Rounds(const Algorithm& algorithm, Store& store, const RoundsOptions& options);
  /// Writes the log that waits, if it can.
  ~Rounds();
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;

  /// A client whose identity is proven. An earlier connection of the same client is ended. A
  /// refusal is a session as well: Take says so.
  Session Join(const std::string& name, const Hello& hello, std::shared_ptr<Peer> peer, Time now);

  /// An update of this session's client; its number in `updates` is overwritten.
  void Receive(Session session, Updates updates, Time now);
  /// Bytes came that are no message, or not one for now: the connection ends.
  void Broken(Session session, const std::string& why, Time now);
  /// How well a client says it predicts; for status() alone.
  void Note(Session session, const ClientReport& report);
  void Leave(Session session, Time now);
  /// Somebody was turned away before it could join: for the log.
  void Refused(const std::string& name, const std::string& why);
  /// Ends every connection of a client that may no longer take part.
  void Expel(const std::string& name, const std::string& why, Time now);

  /// What this session should do now. A slow one gets the newest model, whatever it missed.
  Outgoing Take(Session session);

  /// Ends steps whose deadline has passed and tries again what a full disk has stopped; to be
  /// called a few times in a deadline.
  void Tick(Time now);

  /// Who ends a step writes it, while all others wait for the disk. With this, steps that do not
  /// have everybody's answer are left to a thread of the caller's: `due` is called when there is
  /// one to write, with a lock held, so it should only wake that thread, which calls Commit. Empty:
  /// as before.
  void CommitElsewhere(std::function<void()> due);
  /// Ends and writes the step that is due, if one is, and tells of it. Others go on meanwhile.
  void Commit(Time now);

  /// When somebody for whom there is no room shall come back.
  Busy RetryWindow(const std::string& reason) const;

  RoundsStatus status() const;

 private:
  struct Client {
    std::string name;
    std::uint64_t answered = 0;   // 1 + the last step it answered
    std::uint64_t committed = 0;  // and the same of those on the disk
    std::uint64_t rejected = 0;   // since the last commit
    std::size_t violations = 0;
    Time banned_until{};
    bool awaited = true;          // false: it let a deadline pass
    bool counted = false;         // an update of it is, in the open step
    std::uint64_t took_part = 0;  // 1 + the last step that an update of it counted in
    std::optional<Session> session;
    ClientReport report;
  };
  struct Link {
    std::optional<std::uint64_t> client;  // none: refused
    std::shared_ptr<Peer> peer;
    std::uint32_t version = kProtocolVersion;  // that it speaks
    bool welcomed = false;
    std::uint64_t began = 0;               // the step that was open when it came
    std::uint64_t sent = 0;                // the newest model it was given
    std::uint64_t answered = 0;            // 1 + the last step it answered on this connection
    std::size_t earlier = 0;               // answers to steps before it came
    std::optional<std::uint64_t> counted;  // the newest of its updates on the disk, if not told
    std::deque<std::string> notes;
    std::optional<Ending> ending;
  };
  /// Holds the mutex; wakes, without it, who has something to take.
  class Locked {
   public:
    explicit Locked(Rounds& rounds) : rounds_(rounds), lock_(rounds.mutex_) {}
    ~Locked() {
      const auto wake = std::exchange(rounds_.wake_, {});
      lock_.unlock();
      for (const auto& peer : wake) peer->Wake();
    }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;

    std::unique_lock<std::mutex>& lock() { return lock_; }

   private:
    Rounds& rounds_;
    std::unique_lock<std::mutex> lock_;
  };

  /// A step that has ended and is not known to be on the disk.
  struct Pending {
    std::vector<double> state;
    std::vector<CountedUpdate> counted;
    std::vector<Rejections> rejected;
    Time first_answer;
  };

  std::uint64_t Enrol(const std::string& name);
  std::uint64_t Know(const std::string& name);
  std::optional<Ending> Refusal(const std::string& name, const Hello& hello, Time now) const;
  void End(Link& link, Ending::Kind kind, const std::string& reason);
  void Detach(Link& link);
  static void CheckGiven(const Link& link, std::uint64_t step);
  void Violation(Link& link, std::uint64_t step, const BrokenRule& broken, Time now);
  bool Waited(const Client& client) const;  ///< in the open step, if it is connected
  /// It has nothing to do with the federation yet: it came, and went before it sent anything.
  bool IsAbsent(const Client& client) const {
    return options_.roster.empty() && !client.session && client.answered == 0;
  }
  std::size_t Expected() const { return clients_.size() - absent_; }
  bool Due(Time now) const;
  void EndStepIfDue(Time now);
  void WriteStep(std::unique_lock<std::mutex>& lock, Time now);
  void Publish();
  std::shared_ptr<const std::string> ChangeSince(std::uint64_t step);
  void Log(const std::string& name, const char* event, const std::string& detail);
  bool uses_late() const { return options_.use_late || options_.asynchronous; }
  bool finished() const { return options_.steps > 0 && told_.step >= options_.steps; }

  const ModelShape shape_;
  ConfigurationTexts configuration_;
  ConfigurationTexts old_configuration_;  // for clients of version 2: they compare every text
  std::string too_new_;                   // or why there is none
  const RoundsOptions options_;

  mutable std::mutex mutex_;  // for all that follows
  Store& store_;
  Coordinator coordinator_;
  Broadcast told_;                         // the model that is committed; clients may have it
  std::vector<std::uint64_t> changed_at_;  // per block: the step whose model changed it
  std::map<std::uint64_t, std::shared_ptr<const std::string>> changes_;  // to told_, by step
  std::unordered_map<std::string, std::uint64_t> numbers_;
  std::vector<Client> clients_;
  std::unordered_map<Session, Link> links_;
  Session next_session_ = 1;
  std::size_t connected_ = 0;
  std::size_t unanswered_ = 0;          // connected, and waited for
  std::size_t absent_ = 0;              // of the clients
  std::size_t answering_ = 0;           // clients with an update in counted_
  std::vector<CountedUpdate> counted_;  // in the open step
  Time first_answer_{};                 // when the first of these came
  std::optional<Pending> pending_;      // then the coordinator is a step ahead of told_
  bool writing_ = false;                // the store is in use, without the mutex
  std::condition_variable written_;
  std::vector<StoredEvent> events_;     // that wait for the store
  std::vector<StoredEvent> in_flight_;  // that are being written
  std::function<void()> due_;
  Time try_again_{};
  RoundsStatus counts_;
  std::vector<std::shared_ptr<Peer>> wake_;
};

/// Hears what happens, as it happens. Called with the rounds' mutex held: must be quick, must not
/// throw, and must not call back.
class RoundsObserver {
 public:
  virtual ~RoundsObserver() = default;
  /// A line of the audit log.
  virtual void Event(const std::string& client, const std::string& event,
                     const std::string& detail) = 0;
  /// A step is on the disk; its first update came at `first`.
  virtual void StepEnded(std::uint64_t step, std::size_t participants, Rounds::Time first) = 0;
};

}  // namespace polykern
