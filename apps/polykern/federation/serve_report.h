// What `polykern serve` tells its operator, beside the log of the rounds.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "polykern/net/server/hosted_server.h"

namespace polykern {

/// Says once of each step that stands still which clients it waits for.
class Watch {
 public:
  void Look(const RoundsStatus& status, ServerLog& log);

 private:
  std::uint64_t step_ = 0;
  std::uint64_t answered_ = 0;
  std::chrono::steady_clock::time_point since_{};  // the last answer, or the step
  bool reported_ = false;
};

/// What the server prints when it starts.
void Announce(HostedServer& server, const HostedServerOptions& options);

/// What it prints when it ends.
void Conclude(HostedServer& server);

/// One line for the service manager.
std::string ServiceStatus(const ServerView& view);

}  // namespace polykern
