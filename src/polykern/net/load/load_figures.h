#pragma once

#include <cstdint>
#include <vector>

namespace polykern {

/// What was seen while it was measured. A client's latency is the time from its update to the next
/// model: the other clients, the server and the disk.
struct LoadFigures {
  double seconds = 0;
  std::uint64_t steps = 0;             ///< that ended
  std::uint64_t updates = 0;           ///< that a newer model has answered
  std::vector<double> latencies = {};  ///< seconds, of each of them, sorted
  std::uint64_t sent_bytes = 0;        ///< of messages, without the transport's own
  std::uint64_t received_bytes = 0;
  std::uint64_t rejected = 0;  ///< updates, since the beginning
};

/// The value below which a share of sorted numbers lies; 0 if there are none.
double Percentile(const std::vector<double>& sorted, double share);

}  // namespace polykern
