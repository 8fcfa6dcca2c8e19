#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "polykern/net/agent/agent.h"

namespace polykern {

/// What to tell the operator of an agent that does not wait for its server: each change once.
/// Knows no clock. Use it from one thread.
class ServerNews {
 public:
  /// One line, of an Error's kind (core/error.h: it may name options); empty: nothing new.
  std::string Next(const AgentStatus& status);

 private:
  bool joined_ = false;
  std::string why_away_;  // while the server is
};

/// When to tell of something that may happen often: the first time at once, later once a minute. Is
/// told what time it is. Use it from one thread.
class Tally {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// `count`: how often it has happened so far. True: tell of it now.
  bool IsDue(std::uint64_t count, Time now);

 private:
  std::uint64_t reported_ = 0;  // of the count
  Time last_;
};

/// What to tell of lines that cannot be used: of a few all, of many one a second. Is told what time
/// it is. Use it from one thread.
class BadLines {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr int kAtOnce = 20;

  /// Of a line that is skipped; empty: it is only counted, and the next one tells of it.
  std::string Next(const std::string& problem, Time now);

 private:
  int reported_ = 0;
  std::uint64_t unreported_ = 0;
  Time last_;
};

/// What to tell a caller that waits for an agent's server, and when to stop waiting. Is told what
/// time it is. Use it from one thread.
class Patience {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// `give_up`: seconds without a connection; 0: never.
  Patience(double give_up, Time now) : give_up_(give_up), began_(now), connected_(now) {}

  /// Such lines to tell, each reason once. Throws Error when there was no connection for too long.
  std::vector<std::string> Next(const AgentStatus& status, Time now);

 private:
  const double give_up_;
  const Time began_;
  Time connected_;  // last
  bool told_to_wait_ = false;
  std::string trouble_;  // that was told last
};

}  // namespace polykern
