#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "polykern/core/error.h"
#include "polykern/net/helper/helper_ledger.h"

namespace polykern {

struct HelperServerOptions {
  std::string listen = "127.0.0.1:7434";  ///< HOST:PORT; port 0: one that is free
  std::string certificates = "helper";    ///< its own folder (polykern pki helper)
  std::string keys = {};                  ///< folder of helper.key and mask.key; empty: the same
  std::string log = "helper.db";          ///< its memory (helper_log.h)
  HelperRules rules = {};
  /// No encryption, and everyone is who they say: for trials on one machine, on the loopback. Its
  /// mask key is then beside the log.
  bool insecure = false;
  std::chrono::milliseconds hello_time{10'000};  ///< a connection must say hello by then
  std::chrono::milliseconds keepalive{10'000};   ///< a silent peer is asked whether it is there
};

/// What a helper has done since it was started.
struct HelperCounts {
  std::uint64_t answered = 0;  ///< releases, each once
  std::uint64_t repeated = 0;  ///< answers that were given again
  std::uint64_t refused = 0;   ///< requests
};

/// The helper of a federation's masked sums: listens for its server, and for no one else, from
/// construction to destruction, on a thread of its own. Letting a client in costs little: few
/// connections, the oldest of which makes way.
///
/// The constructor throws Error if certificates or the log cannot be used or the address cannot be
/// listened on. Nothing else throws. Any thread may call anything.
class HelperServer {
 public:
  /// What happens, in words for people: names, counts and sets, never data. Called from the
  /// helper's thread.
  using Tell = std::function<void(const std::string& event, const std::string& detail)>;

  HelperServer(const HelperServerOptions& options, Tell tell);
  ~HelperServer();
  HelperServer(const HelperServer&) = delete;
  HelperServer& operator=(const HelperServer&) = delete;

  /// HOST:PORT, with the port it got.
  std::string address() const;
  std::string name() const;
  HelperCounts counts() const;
  /// The newest revocation list is not in force, or the disk is full; empty: all is well.
  std::string trouble() const;
  /// The log has failed: nothing is answered any more, and the process had better end.
  std::optional<Error> failure() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace polykern
