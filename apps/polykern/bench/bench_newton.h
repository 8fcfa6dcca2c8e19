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
  static constexpr std::size_t kSteps = 500;           ///< T of a run with the usual refresh

  // Microseconds a step:
  double clients = 0;      ///< all clients on one thread
  double server = 0;       ///< the server on one thread, solving every kernel that has new samples
  double floor = 0;        ///< the flops of the same step at the peak
  double all_threads = 0;  ///< `server` on all threads
  double usual = 0;        ///< the server on one thread with the usual refresh, mean of a run
  double mean_floor = 0;   ///< the flops of its steps, solving every kernel, at the peak
  double peak = 0;         ///< flops per second in double precision
  double messages_per_kernel = 0;  ///< of the kernels that had any, mean
};

/// Steps for about so long; of times the best step counts, and the floor is that of the step with
/// the best ratio.
NewtonTimes MeasureNewton(std::size_t threads, double seconds, std::uint64_t seed);

}  // namespace polykern
