#pragma once

#include <cstddef>
#include <cstdint>

namespace polykern {

/// pof-newton at the size of Air: what a step costs the clients and the server.
struct NewtonTimes {
  static constexpr std::size_t kClients = 240;         ///< K
  static constexpr std::size_t kDimension = 14;        ///< d
  static constexpr std::size_t kFeatures = 100;        ///< D
  static constexpr std::size_t kKernelsPerUpload = 5;  ///< M

  double clients = 0;              ///< microseconds a step, all clients on one thread
  double server = 0;               ///< microseconds a step, the server on one thread
  double floor = 0;                ///< microseconds: the flops of the same step at the peak
  double all_threads = 0;          ///< microseconds a step, the server on all threads
  double peak = 0;                 ///< flops per second in double precision
  double messages_per_kernel = 0;  ///< of the kernels that had any, mean
};

/// Steps for about so long; of times the best step counts, and the floor is that of the step with
/// the best ratio.
NewtonTimes MeasureNewton(std::size_t threads, double seconds, std::uint64_t seed);

}  // namespace polykern
