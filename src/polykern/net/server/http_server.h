#pragma once

#include <functional>
#include <memory>
#include <string>

#include "polykern/net/transport/http_head.h"
#include "polykern/net/transport/tls.h"

namespace polykern {

/// The certificate that a visitor showed and TLS has verified; null: none.
using HttpPeer = std::shared_ptr<X509>;

/// Answers a request: a whole answer (HttpAnswer). Must not throw anything but Error, which is
/// answered as a bad request, nor take long.
using HttpHandler = std::function<std::string(const HttpHead& request, const HttpPeer& peer)>;

/// HTTP, a request for each connection, without bodies of requests. What visitors can make it keep
/// and do is bounded: so many at once, of whom the oldest makes way, and a time for each. Listens
/// from construction to destruction, on a thread of its own, on which the handler is called.
class HttpServer {
 public:
  /// `listen`: HOST:PORT, or PORT alone: on the loopback; port 0: one that is free. Without `tls`
  /// it is plain. Throws Error, with the option's name, if that cannot be listened on.
  HttpServer(const std::string& option, const std::string& listen, const TlsContext& tls,
             HttpHandler handle);
  /// On a socket in the file system, plain, for this user alone; it replaces a socket that
  /// already exists. Throws Error.
  HttpServer(const std::string& path, HttpHandler handle);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// HOST:PORT, with the port it got; or the path.
  const std::string& address() const { return address_; }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::string address_;
  std::string path_;
};

}  // namespace polykern
