#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "polykern/net/rounds/release_opener.h"
#include "polykern/net/rounds/rounds_status.h"
#include "polykern/net/server/server.h"
#include "polykern/net/server/server_log.h"

namespace polykern {

/// A running server at one moment, as its operator sees it. A plain value.
struct ServerView {
  std::string algorithm = {};
  std::string version = {};  ///< of polykern
  double uptime_seconds = 0;
  RoundsStatus rounds = {};
  OpenerStatus opener = {};
  ServerTraffic traffic = {};
  std::optional<std::int64_t> certificate_expires = {};  ///< FederationServer::expires
  StepTimes step_times = {};
  std::uint64_t log_events_lost = 0;
  std::string trouble = {};  ///< why it does not work as it should; empty: it does
};

/// In Prometheus' text format.
std::string ToMetrics(const ServerView& view);

/// As a JSON object, on one line.
std::string ToJson(const ServerView& view);

}  // namespace polykern
