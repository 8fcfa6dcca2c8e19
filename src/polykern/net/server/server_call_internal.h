#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "polykern/net/pki/admission.h"
#include "polykern/net/rounds/rounds.h"
#include "polykern/net/transport/web_socket.h"
#include "polykern/net/wire.h"

namespace polykern {

/// What the rounds are told.
inline Rounds::Time Now() {
  return std::chrono::steady_clock::now();
}

/// Bytes of all connections, ever.
struct TrafficCount {
  std::atomic<std::uint64_t> in{0};
  std::atomic<std::uint64_t> out{0};
};

/// One connection of one client, as FederationServer sees it: between a WebSocket and the rounds.
/// Its loop's thread runs it; any thread may call Wake, EndSoon and SilentSince.
class ServerCall final : public WebSocket::Handler,
                         public Peer,
                         public std::enable_shared_from_this<ServerCall> {
 public:
  /// Who decides whom to let in. Called on the loop's thread.
  class Doorkeeper {
   public:
    virtual ~Doorkeeper() = default;
    /// The connection is open: the call is to Begin, TurnAway or End. `name`: who it says it is.
    virtual void Opened(ServerCall& call, const std::string& name) = 0;
    /// It has ended, open or not.
    virtual void Closed(ServerCall& call, const Ending& ending) = 0;
  };

  ServerCall(Loop& loop, Rounds& rounds, TrafficCount& traffic, Doorkeeper& doorkeeper)
      : loop_(loop), rounds_(rounds), traffic_(traffic), doorkeeper_(doorkeeper) {}

  /// It lives until the connection ends, even if others hold it.
  void Start(WebSocket::Socket socket, const TlsContext& tls, const WebSocketOptions& options);

  /// Its certificate; null: none was shown.
  std::shared_ptr<X509> Peer() const { return connection_->Peer(); }
  /// What the doorkeeper found out, before any other code sees the call.
  AdmissionResult who = {};
  std::shared_ptr<X509> certificate = {};  // which TLS has as well

  // One of these follows Opened.

  void Begin() { begun_ = true; }
  void End(const Ending& ending);
  /// The last message is when to come back.
  void TurnAway(const Busy& busy);

  /// Has it said no hello, though it began before that time?
  bool SilentSince(Rounds::Time time) const { return !greeted_ && began_ < time; }
  void EndSoon(const Ending& ending);
  /// Ends it at once, without a word.
  void DropSoon(const Ending& ending);

  void Wake() override;

  void Opened(const std::string& name) override { doorkeeper_.Opened(*this, name); }
  void Received(std::string message) override;
  void Sent() override { Pump(); }
  void Broke(const std::string& why) override;
  void Closed(const Ending& ending) override;

 private:
  void Handle(ClientMessage message);
  void Pump();
  void Send(const std::shared_ptr<const std::string>& message);

  Loop& loop_;
  Rounds& rounds_;
  TrafficCount& traffic_;
  Doorkeeper& doorkeeper_;
  const Rounds::Time began_ = Now();
  std::atomic<bool> greeted_{false};
  std::atomic<bool> woken_{false};
  std::shared_ptr<WebSocket> connection_;  // null once it has ended
  std::optional<SessionId> session_;
  bool begun_ = false;
};

}  // namespace polykern
