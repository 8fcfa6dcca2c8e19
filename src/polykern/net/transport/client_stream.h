#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "polykern/net/ending.h"
#include "polykern/net/transport/http_head.h"
#include "polykern/net/transport/loop.h"
#include "polykern/net/transport/tls.h"

namespace polykern {

struct ClientStreamOptions {
  std::string server = {};   ///< HOST:PORT
  TlsContext tls = nullptr;  ///< null: none
  std::string name = {};     ///< who this is, for a server that asks for no certificate
  std::chrono::milliseconds keepalive{10'000};
  const char* target = kJoinTarget;  ///< where the server's WebSockets are opened
  std::size_t longest_message = std::numeric_limits<int>::max();  ///< that it may send
  /// Before anything is sent: why this certificate (PEM) of the server is not good enough; empty:
  /// it is. On the loop's thread. Null: TLS has seen to it.
  std::function<std::string(const std::string& certificate)> judge = nullptr;
};

/// One connection of a client to its server, from the hello to the end. Any thread may call
/// anything. The loop must outlive it.
class ClientStream {
 public:
  /// What is done with it. Called from the loop's thread.
  class Handler {
   public:
    virtual ~Handler() = default;
    /// A message arrived. False: the connection is not needed any longer, and ends.
    virtual bool Received(std::string_view bytes) = 0;
    /// The last call: the stream may be destroyed from now on.
    virtual void Ended(const Ending& ending) = 0;
  };

  ClientStream(Loop& loop, const ClientStreamOptions& options, Handler& handler);
  ~ClientStream();
  ClientStream(const ClientStream&) = delete;
  ClientStream& operator=(const ClientStream&) = delete;

  /// Call it once; Ended will be called in any case.
  void Begin(std::string hello);
  /// What waits to be sent is replaced; dropped before Begin and once the connection has ended.
  void Send(std::string bytes);
  /// Likewise, for what matters less: it goes when nothing else waits.
  void SendLowPriority(std::string bytes);
  /// What is on its way is still sent.
  void Cancel();

 private:
  class Session;
  Loop& loop_;
  const std::shared_ptr<Session> session_;
};

}  // namespace polykern
