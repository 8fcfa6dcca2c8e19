#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "polykern/net/postgresql/postgresql_internal.h"
#include "polykern/net/rounds/front.h"

namespace polykern {

// What front ends and the one that ends steps know of each other, in the tables of a federation. A
// front end is there as long as its connection holds the lock of its number. All throw what
// Connection throws.

/// A database that leaves a front end without an answer for so long is away; and it takes one that
/// says nothing for so long for dead.
inline constexpr std::chrono::seconds kFrontPatience{4};
/// So often a front end says something, if only that it is there.
inline constexpr std::chrono::seconds kFrontPulse{1};

/// A connection of a front end: it ends when either side hears nothing of the other.
Connection ConnectFront(const std::string& place);

/// What to say of a front end's clock beside the database's, in seconds since 1970; empty: they
/// agree well enough. No step depends on them.
std::string WrongClock(std::int64_t here, std::int64_t there);

/// Where front ends, or the one that ends steps, listen.
enum class Ears { kFronts, kEnder };
std::string ChannelOf(Connection& connection, Ears ears);
void Notify(Connection& connection, const std::string& channel, const std::string& words);

/// Its own lock, which no other connection has: one of an earlier connection is ended.
void LockFront(Connection& connection, std::uint64_t front);

/// The step that collects.
struct OpenStep {
  std::uint64_t step = 0;
  bool ready = false;
  bool asked = false;
};

/// All front ends that are there, and what is in parts of the open step.
struct FederationNow {
  OpenStep open = {};
  FrontsStatus all = {};
  std::uint64_t partials = 0;
  std::int64_t age = 0;  ///< milliseconds since the first answer, by the database's clock
};
FederationNow LookAt(Connection& connection, std::uint64_t own_front);

}  // namespace polykern
