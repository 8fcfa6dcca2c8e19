#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace polykern {

/// What a step of pof-gram costs clients and server, beside other algorithms of this kind, all with
/// their defaults and on one thread.
struct GramTimes {
  static constexpr std::size_t kClients = 240;   ///< K: Air's
  static constexpr std::size_t kDimension = 14;  ///< d
  static constexpr std::size_t kCrowd = 4;       ///< times as many clients, for one more row

  struct Line {
    std::string algorithm = {};
    std::size_t clients = 0;
    // Microseconds of processor time, means over all steps:
    double client_step = 0;  ///< one client: predict, learn, make its message
    double message = 0;      ///< the server: check a message and add it up
    double commit = 0;       ///< the server: the end of a step
    /// The server's share of a step.
    double Server() const { return static_cast<double>(clients) * message + commit; }
  };
  std::vector<Line> lines = {};  ///< pof-newton, pof-gram, pof-gram with the crowd, fed-poe
  std::size_t steps = 0;
};

/// 200 steps a second, from 20 to a run of 500; the lines take turns.
GramTimes MeasureGram(double seconds, std::uint64_t seed);

}  // namespace polykern
