#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "polykern/core/metrics.h"
#include "polykern/results/row.h"

namespace polykern {

/// What tables and figures show of a finished run. A plain value.
struct PaperRun {
  std::size_t steps = 0;
  std::size_t repetitions = 0;  ///< those that finished
  bool diverged = false;
  Spread mse = {};     ///< over the feature draws
  Spread regret = {};  ///< over the clients; NaN without experts to compare with
  double microseconds_per_sample = 0;
  std::vector<double> curve_steps = {};
  std::vector<double> curve_regret = {};  ///< so far, at these steps
};

/// A run that a table or figure shows; `carried`: clients keep their weights through the feature
/// draws.
struct WantedRun {
  Row row = {};
  bool carried = false;
};

/// Finds a run of one data set.
using FindRun = std::function<PaperRun(const Row& row, bool carried)>;

}  // namespace polykern
