#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "polykern/net/store/store.h"
#include "polykern/net/wire.h"

namespace polykern {

/// The time that the rounds are given; they never read a clock.
using RoundsTime = std::chrono::steady_clock::time_point;

/// How many clients must have answered before a step may end: a number; a share of those that are
/// there, which are the connected without those that stay silent; or all: the roster, or without
/// one every client that is connected or has ever answered, unless it was revoked or forgotten.
struct Quorum {
  std::uint64_t count = 0;  ///< 0: the share counts
  double share = 0.8;       ///< in (0, 1]; 1: all

  static Quorum All() { return {.share = 1}; }
  bool all() const { return count == 0 && share == 1; }
  /// Of so many clients that are counted for it.
  std::uint64_t Of(std::uint64_t clients) const;
  bool operator==(const Quorum&) const = default;
};

/// "all", a number of clients, or a percentage like "80%". Throws Error for anything else.
Quorum ParseQuorum(std::string_view text);

/// Hears what happens, as it happens. Called with the rounds' mutex held: must be quick, must not
/// throw, and must not call back.
class RoundsObserver {
 public:
  virtual ~RoundsObserver() = default;
  /// A line of the audit log.
  virtual void Event(const std::string& client, const std::string& event,
                     const std::string& detail) = 0;
  /// A step is on the disk; its first update came at `first`.
  virtual void StepEnded(std::uint64_t step, std::size_t participants, RoundsTime first) = 0;
};

class Front;
class ReleaseOpener;

struct RoundsOptions {
  Quorum quorum = {};
  /// Where the quorum is a share, no step ends with fewer answers, unless the roster has fewer.
  std::uint64_t least_clients = 2;
  /// After a step's first update, the step ends when a quorum has answered and either every
  /// connected client has, or this much time has passed. A client that let it pass is not waited
  /// for again before it has sent something: a silent client costs one deadline. When so many fall
  /// silent at once that the rest is not the share asked for, it costs two.
  std::chrono::milliseconds deadline{10'000};
  /// Updates for steps that have ended count in the open one, and in its quorum; else they are
  /// dropped. For algorithms with AlgorithmTraits::takes_late_updates.
  bool use_late = false;
  /// No rounds: every update is applied as it comes, late or not, and quorum and deadline mean
  /// nothing. A step is what came while the one before it was written. For the same algorithms.
  bool asynchronous = false;
  std::uint64_t steps = 0;  ///< the federation ends after so many; 0: never
  /// The only clients, numbered in this order; empty: all that have a certificate, as they come.
  std::vector<std::string> roster = {};
  std::size_t most_clients = 10'000;    ///< enrolled, unless there is a roster
  std::size_t most_connected = 10'000;  ///< at one time; others are told when to come back
  /// When a client for which there is no room should come back.
  std::chrono::milliseconds retry_earliest{1'000};
  std::chrono::milliseconds retry_latest{30'000};
  std::size_t most_violations = 5;        ///< so many, and a client is sent away
  std::chrono::milliseconds ban{60'000};  ///< for so long
  RoundsObserver* observer = nullptr;     ///< hears of everything; must outlive the rounds
  /// Of masked or noisy sums; null: they are neither. Must outlive the rounds.
  ReleaseOpener* opener = nullptr;
  /// This server is one of several front ends: another process ends steps. Must outlive the rounds,
  /// and is their store. Null: it is the only one.
  Front* front = nullptr;

  bool uses_late() const { return use_late || asynchronous; }
  /// If any client is missing, nothing can be opened.
  bool needs_everybody() const;
  /// How many clients must answer a step; `there` are those that have, or are still waited for,
  /// `expected` the clients that a quorum of all means.
  std::uint64_t Needed(std::uint64_t there, std::uint64_t expected) const;
  Busy RetryWindow(const std::string& reason) const;
};

/// One line for people: the quorum, the deadline and the limits.
std::string DescribeRounds(const RoundsOptions& options);

/// Throws Error unless rounds of this algorithm can continue with a store's clients, and can end.
void CheckRounds(const RoundsOptions& options, std::string_view algorithm,
                 std::span<const StoredClient> stored);

}  // namespace polykern
