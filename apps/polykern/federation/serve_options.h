// What `polykern serve` can be told.
#pragma once

#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "polykern/net/server/declared_federation.h"
#include "polykern/net/server/hosted_server.h"

namespace polykern {

/// Everything `polykern serve` can be told.
struct ServeOptions {
  HostedServerOptions hosted;
  DeclaredFederation federation;
  std::string target_range;  ///< LOW:HIGH, or none
  std::string stale = "drop";
  std::string mode = "sync";
  bool has_rounds = false;  ///< a quorum or a deadline was given
  bool has_max_connected = false;
  double retry_earliest = 1;  ///< seconds
  double retry_latest = 30;   ///< seconds
  double deadline = 10;       ///< seconds
  double keepalive = 10;      ///< seconds
};

/// Adds the command with its options, which are bound to `o`.
CLI::App& AddServeOptions(CLI::App& program, const std::shared_ptr<ServeOptions>& o);

/// To be called once the command line was read: checks it, and fills in what follows from it.
/// Throws Error.
void CompleteServeOptions(ServeOptions& o);

}  // namespace polykern
