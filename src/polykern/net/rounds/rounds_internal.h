#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "polykern/net/rounds/front.h"
#include "polykern/net/rounds/rounds.h"

namespace polykern {

/// Clients that came here come back, at once, and send again what does not count.
inline const Ending kComeAgain{Ending::Kind::kStopping,
                               "this front end lost its database, and with it what you sent"};
inline const Ending kElsewhere{Ending::Kind::kReplaced, "a newer connection took its place"};

/// What rounds of one of several front ends know beside what all rounds know (rounds_front.cc,
/// rounds_front_clients.cc). Clients are named by their places here, unless a number is asked for.
struct Rounds::Shared {
  explicit Shared(Front& there) : front(there) {}

  Front& front;
  std::unordered_map<std::uint64_t, std::uint64_t> places = {};  // by number
  std::map<std::uint64_t, std::string> claims = {};  // not known to be here yet; and its mask key
  bool new_claims = false;
  std::vector<std::uint64_t> wanted = {};  // numbers of those that others want
  std::set<std::uint64_t> left = {};       // others do not know yet that they may have them
  std::set<std::uint64_t> noted = {};      // others do not know their certificates yet
  std::function<bool(const ClientNote&)> may_come_in = {};  // to be asked of those that are away
  bool confirm = false;                                     // others may have taken clients away
  bool asked = false;                                       // for what there is of the open step
  bool over = false;  // it has ended, and the next one is being made

  std::uint64_t serial = 0;
  std::optional<FrontPartial> partial = {};      // is being handed in
  std::vector<CountedUpdate> partial_from = {};  // its updates
  std::vector<std::int64_t> late_sums = {};      // that were not in time, and count next time
  std::vector<CountedUpdate> late_from = {};
  std::vector<CountedUpdate> handed_in = {};  // of the open step, all of them
  std::vector<Rejections> rejected = {};      // by number
  std::vector<StoredEvent> events = {};

  std::string address = {};
  FrontReport reported = {};
  Time spoke{};                   // the last time that anything was said
  Time claimed{};                 // the last time that clients were claimed
  Time try_again{};               // not before
  std::optional<Time> away = {};  // since when
  bool told_away = false;         // clients
  FrontsStatus all = {};
};

}  // namespace polykern
