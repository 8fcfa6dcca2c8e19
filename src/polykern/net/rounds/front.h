#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "polykern/net/store/store.h"

namespace polykern {

/// A client of the federation, as all front ends know it.
struct FrontClient {
  std::string name = {};
  std::uint64_t number = 0;
  std::uint64_t next_step = 0;  ///< after the last one that it answered, at whichever front end
  bool here = false;            ///< it is this front end's
};

/// What a front end has added up for a step.
struct FrontPartial {
  std::uint64_t serial = 0;             ///< of this front end's: each is another one, and upwards
  std::uint64_t step = 0;               ///< that was open then
  std::vector<std::int64_t> sums = {};  ///< Coordinator::TakePartial
  std::vector<CountedUpdate> counted = {};  ///< of a client: later and later steps
  std::uint64_t clients = 0;                ///< of these, each once
  std::uint64_t newcomers = 0;              ///< of these, those that have never answered before
  std::int64_t age = 0;                     ///< milliseconds since the first of them
};

/// What a front end tells of itself. A plain value.
struct FrontReport {
  std::string address = {};     ///< HOST:PORT
  std::uint64_t step = 0;       ///< that its clients work on
  std::uint64_t connected = 0;  ///< clients
  std::uint64_t waiting = 0;    ///< of these, those whose answers it still waits for
  std::uint64_t held = 0;       ///< clients whose answers it has, and has not handed in
  std::uint64_t newcomers = 0;  ///< of these, those that have never answered
  bool asked = false;           ///< it has handed in all it had when it was asked for
  std::uint64_t accepted = 0;   ///< updates, since it was started

  bool operator==(const FrontReport&) const = default;
};

/// A front end as others see it.
struct FrontStatus {
  FrontReport report = {};
  bool leads = false;  ///< it is the one that ends steps
  bool here = false;   ///< it is this one
};

/// A federation with all of its front ends. A plain value.
struct FrontsStatus {
  std::vector<FrontStatus> fronts = {};  ///< that are there now
  std::uint64_t step = 0;                ///< the open one
  std::uint64_t enrolled = 0;            ///< clients
  std::uint64_t gone = 0;                ///< of these, not waited for
  std::uint64_t answered = 0;            ///< of these, in what was handed in for the open step
  std::uint64_t expected = 0;  ///< of these, those that are there or have ever answered; not gone
  std::uint64_t gone_unanswered = 0;  ///< gone, and not in what was handed in
};

struct RoundsOptions;
/// How many clients of all front ends must answer the open step. Overdue: its deadline has passed
/// twice, and clients that have not answered are not there.
std::uint64_t NeededOf(const FrontsStatus& all, const RoundsOptions& options, bool overdue);

/// A client that came to a front end. It is forgotten no more.
struct FrontClaim {
  std::string name = {};
  std::string mask_key = {};  ///< from its hello; for the opener of masked sums

  bool operator==(const FrontClaim&) const = default;
};

/// What a front end has to say.
struct FrontWork {
  std::uint64_t step = 0;  ///< the newest one that it knows
  FrontReport report = {};
  /// Clients that came. Those of another front end that is there become this one's when that one
  /// has given them up: until then they are claimed again and again.
  std::vector<FrontClaim> claims = {};
  /// Clients that were this one's when the database went away: are they still?
  std::vector<std::uint64_t> confirms = {};
  /// Numbers of clients that left, or that others want (FrontNews::wanted), with whom it has
  /// nothing to do any more once the partial below is taken: unless it is, they stay.
  std::vector<std::uint64_t> released = {};
  std::optional<FrontPartial> partial = {};
  std::vector<Rejections> rejected = {};  ///< since the last time
  std::vector<StoredEvent> events = {};
  /// Certificates that clients of this one have shown; other notes of them stay as they are.
  std::vector<NotedClient> certificates = {};
  /// Unless empty: whether a client that is not connected can come in with the certificate that it
  /// showed last. Who cannot is gone.
  std::function<bool(const ClientNote&)> may_come_in = {};
  std::size_t most_clients = 10'000;  ///< of the whole federation, without those that are gone
  bool writes = true;                 ///< false: it only wants to hear the news
};

/// What is new to a front end.
struct FrontNews {
  std::vector<FrontClient> claimed = {};  ///< are this one's
  std::vector<std::string> full = {};     ///< claims of clients for whom there is no room
  std::vector<FrontClient> confirmed = {};
  std::vector<std::uint64_t> wanted = {};  ///< by others: clients of this one
  /// Of the partial: true: it counts. False: its step is over, or a client in it is no longer this
  /// one's; `settled` says of each of its clients what is known of it instead.
  bool taken = false;
  std::vector<FrontClient> settled = {};
  bool over = false;                       ///< the step that it works on has ended
  std::optional<ResumePoint> newest = {};  ///< unless the step is known already
  bool asked = false;                      ///< hand in what there is: the deadline has passed
  std::optional<FrontsStatus> all = {};    ///< from time to time
  std::string clock = {};                  ///< what is wrong with this machine's; empty: nothing
};

/// This process's place among the front ends of a federation: several servers with one store. Each
/// adds up what its own clients send, and hands in partial sums; one of them ends steps.
///
/// As a store it is read like any other, takes new clients (those that are known already are left
/// out), events and notes, and no steps. One thread at a time, but for HasNews.
class Front : public Store {
 public:
  /// All of what is to be written, in one transaction (claims have their own), and what is new.
  /// Throws Error if the database is away, or takes nothing: then the same work can be told again,
  /// and counts once.
  virtual FrontNews Exchange(const FrontWork& work) = 0;
  /// Another front end has said something since the last Exchange. Any thread.
  virtual bool HasNews() const = 0;
  /// From here on `wake` is called, from any thread, when another front end says something; null:
  /// no more, and it is not being called.
  virtual void OnNews(std::function<void()> wake) = 0;
};

}  // namespace polykern
