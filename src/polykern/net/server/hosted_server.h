#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "polykern/algorithms/algorithm.h"
#include "polykern/core/error.h"
#include "polykern/net/configuration.h"
#include "polykern/net/front/step_ender.h"
#include "polykern/net/rounds/release_opener.h"
#include "polykern/net/rounds/rounds.h"
#include "polykern/net/server/metrics_server.h"
#include "polykern/net/server/server.h"
#include "polykern/net/server/server_log.h"
#include "polykern/net/server/server_view.h"
#include "polykern/net/server/web_server.h"
#include "polykern/net/store/store.h"

namespace polykern {

/// Everything a federation's server can be told.
struct HostedServerOptions {
  FederationConfiguration federation = {};  ///< CompleteForStore says what it is
  std::string store = "store.db";           ///< its URL (open_store.h)
  RoundsOptions rounds = {};                ///< their observer is the log
  ServerOptions server = {};
  ServerLogOptions log = {};
  std::string helper = {};   ///< HOST:PORT of who takes masks off; needed where there are some
  std::string metrics = {};  ///< see MetricsServer; empty: none
  WebOptions web = {};       ///< needs certificates
  std::string control = {};  ///< path of a socket, see control.h; empty: none
  std::string version = {};  ///< of polykern, for people
  OptionSpelling spelling = KeySpelling;  ///< of options in ServerView::trouble
};

/// A federation's server with all that belongs to it: algorithm, store, log, rounds, the door, and
/// metrics. It serves from construction to destruction, on threads of its own.
///
/// The constructor throws Error if anything does not fit; an address that cannot be right is
/// refused before a store is made. Nothing else throws. Any thread may call anything.
class HostedServer {
 public:
  explicit HostedServer(const HostedServerOptions& options);
  ~HostedServer();

  /// HOST:PORT, with the port it got.
  std::string address() const { return server_.address(); }
  /// The same of the metrics; empty: there are none.
  std::string metrics_address() const { return metrics_ ? metrics_->address() : ""; }
  /// The same of the page for browsers.
  std::string web_address() const { return web_ ? web_->address() : ""; }
  ServerView View() const;
  /// Takes over what may change while it runs; see Rounds::Change, which throws.
  void Change(const RoundsOptions& options);
  /// For what the caller does.
  ServerLog& log() { return log_; }

 private:
  const HostedServerOptions options_;
  const std::chrono::steady_clock::time_point began_;
  const std::unique_ptr<Algorithm> algorithm_;
  const std::uint64_t front_number_;    // 0: it is the only server
  const std::unique_ptr<Store> store_;  // a Front if it is not
  ServerLog log_;
  const std::unique_ptr<ReleaseOpener> opener_;  // null: sums are neither masked nor noisy
  Rounds rounds_;
  const std::unique_ptr<StepEnder> ender_;  // null: the rounds end steps
  const FederationServer server_;
  std::optional<MetricsServer> metrics_;
  std::optional<WebServer> web_;
  std::optional<HttpServer> control_;
};

}  // namespace polykern
