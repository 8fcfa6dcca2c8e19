#pragma once

#include <functional>
#include <memory>
#include <string>

#include "polykern/net/transport/http_head.h"

namespace polykern {

/// Answers a request: a whole answer (HttpAnswer). Must not throw anything but Error, which is
/// answered as a bad request, nor take long.
using HttpHandler = std::function<std::string(const HttpHead& request)>;

/// Plain HTTP, a request for each connection, without bodies of requests. Listens from construction
/// to destruction, on a thread of its own, on which the handler is called.
class HttpServer {
 public:
  /// Port 0: one that is free. Throws Error, with the system's words, if that cannot be listened
  /// on.
  HttpServer(const std::string& host, const std::string& port, HttpHandler handle);
  /// On a socket in the file system, for this user alone; a socket that is there already is
  /// nobody's any more.
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
