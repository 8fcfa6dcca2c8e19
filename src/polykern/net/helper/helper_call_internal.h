#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "polykern/net/helper/helper_wire.h"
#include "polykern/net/transport/web_socket.h"

namespace polykern {

/// One connection to a helper: between a WebSocket and what the helper does with messages. The
/// loop's thread alone uses it.
class HelperCall final : public WebSocket::Handler,
                         public std::enable_shared_from_this<HelperCall> {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    /// It is open: why it is not let in; empty: it is.
    virtual std::string Opened(HelperCall& call) = 0;
    /// The answer to a message.
    virtual std::string Greeted(HelperCall& call, const HelperHello& hello) = 0;
    virtual std::string Asked(HelperCall& call, HelperQuestion question) = 0;
    virtual std::string Told(HelperCall& call, const HelperKeys& keys) = 0;
    /// It has ended, open or not.
    virtual void Closed(HelperCall& call, const Ending& ending) = 0;
  };

  HelperCall(Loop& loop, Owner& owner, std::string address)
      : loop_(loop), owner_(owner), address_(std::move(address)) {}

  /// It lives until the connection ends, even if others hold it.
  void Start(WebSocket::Socket socket, const TlsContext& tls, const WebSocketOptions& options);
  void End(const Ending& ending);
  /// At once, without a word.
  void Drop(const Ending& ending);

  const std::string& address() const { return address_; }
  std::string PeerCertificate() const { return connection_->PeerCertificate(); }
  bool greeted() const { return greeted_; }
  bool is_let_in() const { return let_in_; }
  Loop::Clock::time_point began() const { return began_; }

  void Opened(const std::string& name) override;
  void Received(std::string message) override;
  void Sent() override;
  void Broke(const std::string& why) override;
  void Closed(const Ending& ending) override;

 private:
  Loop& loop_;
  Owner& owner_;
  const std::string address_;
  const Loop::Clock::time_point began_ = Loop::Clock::now();
  bool let_in_ = false;
  bool greeted_ = false;
  std::shared_ptr<WebSocket> connection_;  // null once it has ended
  std::deque<std::string> answers_;        // that wait for the one on its way
};

}  // namespace polykern
