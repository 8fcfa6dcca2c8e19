#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "polykern/net/ending.h"
#include "polykern/net/wire.h"

namespace polykern {

/// Said to a client that is banned.
inline constexpr const char* kBanned = "refused for a while, after too many bad updates";

/// What a connection should do next: send a message, end, or nothing for now.
struct Outgoing {
  std::shared_ptr<const std::string> message = nullptr;  ///< shared: many clients get the same one
  std::optional<Ending> ending = {};
};

/// A connection as the rounds see it. Wake is called from any thread, without any lock, when
/// Rounds::Take may have something new. Held by shared_ptr because a wake may cross the
/// connection's end.
class Peer {
 public:
  virtual ~Peer() = default;
  virtual void Wake() = 0;
};

using SessionId = std::uint64_t;

/// What is known of one connection.
struct Link {
  std::optional<std::uint64_t> client = {};  ///< its number; none: refused, or ended
  std::shared_ptr<Peer> peer = nullptr;
  bool welcomed = false;
  bool received_ranges = false;  ///< those of its data, on this connection
  std::uint64_t began = 0;       ///< the step that was open when it came
  std::uint64_t sent = 0;        ///< the newest model it was given
  std::uint64_t next_step = 0;   ///< after the last one it answered on this connection
  std::size_t earlier = 0;       ///< answers to steps before it came
  std::optional<std::uint64_t> counted =
      {};  ///< the newest of its updates on the disk, if not told
  std::deque<std::string> replies = {};
  std::optional<Ending> ending = {};

  /// A client is given a step's model once and answers it once, in the order of the steps. However
  /// slow it is, its answers on one connection are to later and later steps, and all but a few to
  /// models that it was given there. Throws BrokenRule for anything else.
  void CheckAnswer(std::uint64_t step) const;
  void Answered(std::uint64_t step);
  /// Unless too many wait for a client that does not read.
  void Reply(std::string message);
};

/// The connections of a server, and which of them have something to take. One thread at a time.
class Links {
 public:
  SessionId Open(std::shared_ptr<Peer> peer, std::uint64_t step);
  /// Null if there is none.
  Link* Find(SessionId session);
  /// Its last messages are sent, and then its end.
  void End(Link& link, Ending ending);
  void Close(SessionId session) { links_.erase(session); }

  void Wake(const Link& link) { woken_.push_back(link.peer); }
  void WakeClients();
  /// Every client gets another welcome.
  void WelcomeAgain();
  /// Those to wake, once, without any lock.
  std::vector<std::shared_ptr<Peer>> TakeWoken() { return std::exchange(woken_, {}); }

 private:
  std::unordered_map<SessionId, Link> links_;
  SessionId next_session_ = 1;
  std::vector<std::shared_ptr<Peer>> woken_;
};

}  // namespace polykern
