#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "polykern/net/rounds/front.h"
#include "polykern/net/rounds/rounds_core.h"

namespace polykern {

/// Clients of one of several front ends: they come from others, go to others, and leave. Clients
/// are named by their places here, unless a number is asked for.
class SharedClients {
 public:
  explicit SharedClients(RoundsCore& core) : core_(core) {}

  /// It came, with what it said of its key for masks.
  void Claim(std::uint64_t client, const std::string& mask_key);
  /// It is not connected any more.
  void NoteLeft(std::uint64_t client);
  /// Its certificate is another one.
  void NoteCertificate(std::uint64_t client) { noted_.insert(client); }
  /// Others must be told whether clients that are away may still come in.
  void AskWhoMayComeIn(const std::function<bool(const ClientNote&)>& may_come_in) {
    may_come_in_ = may_come_in;
  }
  /// Others may have taken clients away meanwhile.
  void Doubt() { confirm_ = true; }

  /// Is there something to say at once?
  bool HasNews(RoundsTime now) const;
  /// Other front ends wait for some of them.
  bool are_wanted() const { return !wanted_.empty(); }
  /// Adds what is to be said of clients; with those that others may have from now on, if any may
  /// go.
  void Tell(FrontWork& work, bool may_release);
  /// It was said; `settled`: with the partial sum that it came with, if there was one.
  void NoteTold(const FrontWork& work, bool settled, RoundsTime now);
  void TakeIn(const FrontNews& news);

  /// Says on a connection why it ends.
  void End(Link& link, const Ending& ending);
  /// Its connection, if it has one, ends; what is known of it is asked for when it comes again.
  void Return(std::uint64_t client, const Ending& ending);

 private:
  void TakeClaimed(const FrontClient& claimed);
  void ForgetReleased(const std::vector<std::uint64_t>& released);
  void DropUnhanded();

  RoundsCore& core_;
  std::unordered_map<std::uint64_t, std::uint64_t> places_ = {};  // by number
  std::map<std::uint64_t, std::string> claims_ = {};  // not known to be here yet; and its mask key
  bool new_claims_ = false;
  RoundsTime claimed_{};                    // the last time that clients were claimed
  std::vector<std::uint64_t> wanted_ = {};  // numbers of those that others want
  std::set<std::uint64_t> left_ = {};       // others do not know yet that they may have them
  std::set<std::uint64_t> noted_ = {};      // others do not know their certificates yet
  std::function<bool(const ClientNote&)> may_come_in_ = {};  // to be asked of those that are away
  bool confirm_ = false;                                     // others may have taken clients away
};

/// Clients that came here come back, at once, and send again what does not count.
inline const Ending kComeAgain{Ending::Kind::kStopping,
                               "this front end lost its database, and with it what you sent"};
inline const Ending kElsewhere{Ending::Kind::kReplaced, "a newer connection took its place"};

}  // namespace polykern
