#pragma once

#include <cstddef>
#include <string>

#include "bench/bench_setting.h"

namespace polykern {

/// What bench/pof_mkl_numpy.py, which is built into this program, says of a job.
struct NumpyTimes {
  double microseconds = 0;  ///< per sample, one thread
  std::size_t steps = 0;    ///< that it ran
  double mse = 0;           ///< over these steps
  double engine_mse = 0;    ///< ours: the same rows, frequencies and draws
};

/// The given interpreter if it has NumPy, else Debian's; throws Error, saying what to install, if
/// neither has.
std::string FindNumpy(const std::string& python);

/// Runs the script on the job's own rows and frequencies for about so long, but at least one step.
/// Throws Error if it fails.
NumpyTimes TimeNumpy(const BenchJob& job, const std::string& python, double seconds);

}  // namespace polykern
