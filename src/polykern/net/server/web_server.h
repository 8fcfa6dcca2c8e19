#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "polykern/net/rounds/rounds_status.h"
#include "polykern/net/server/server_view.h"

namespace polykern {

/// The files of the page, which were made when the program was built; all live for ever.
struct WebPage {
  std::string_view html = {};
  std::string_view script = {};
  std::string_view style = {};
};

struct WebOptions {
  std::string listen = {};  ///< HOST:PORT, or PORT alone: on the loopback; empty: no page
  /// File with a token that lets its holder in; it is made if missing. Empty: no token
  /// does.
  std::string token = {};
  std::vector<std::string> viewers = {};  ///< whose certificates do; empty: every client's
  WebPage page = {};
};

/// A federation in a browser: read-only, over TLS, for visitors with a client's valid certificate
/// or a token (as the password of any user, or as a bearer's). `/` is a page that asks `state`,
/// JSON that is made once a second at most, however many ask. Listens from construction to
/// destruction, on threads of its own.
class WebServer {
 public:
  /// What there is to see. Called from any thread, and must not throw.
  struct Look {
    std::function<ServerView()> server;
    std::function<std::vector<ClientView>()> clients;
  };

  /// `certificates`, `keys`: as in ServerOptions. Throws Error if these, the token or the address
  /// cannot be used. `tell` gets a line for the log, once a second at most, when visitors were
  /// turned away.
  WebServer(const WebOptions& options, const std::string& certificates, const std::string& keys,
            Look look, std::function<void(const std::string& line)> tell);
  ~WebServer();
  WebServer(const WebServer&) = delete;
  WebServer& operator=(const WebServer&) = delete;

  /// HOST:PORT, with the port it got.
  const std::string& address() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// What the page shows of these clients: how many there are, of which version, and the first of
/// them, those that keep others waiting before the rest. A JSON object.
std::string ClientsForPage(std::vector<ClientView> clients);

}  // namespace polykern
