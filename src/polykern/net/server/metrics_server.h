#pragma once

#include <functional>
#include <memory>
#include <string>

#include "polykern/net/server/http_server.h"
#include "polykern/net/server/server_view.h"

namespace polykern {

/// Plain HTTP for a server's operators alone: no encryption, no names of
/// clients. /metrics is for Prometheus, /status is JSON, /healthz says "ok", or 503 and what is
/// wrong. Listens from construction to destruction, on a thread of its own.
class MetricsServer {
 public:
  /// HOST:PORT, or PORT alone: on the loopback; port 0: one that is free. `look` is called from any
  /// thread, and must not throw. Throws Error if the address cannot be listened on.
  MetricsServer(const std::string& listen, std::function<ServerView()> look);

  /// HOST:PORT, with the port it got.
  const std::string& address() const { return http_->address(); }

 private:
  std::unique_ptr<HttpServer> http_;
};

}  // namespace polykern
