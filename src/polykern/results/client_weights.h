#pragma once

#include <cstddef>
#include <vector>

#include "polykern/data/stream.h"

namespace polykern {

/// Whose weights a run shows, and when: few enough of both for a file that people look at, however
/// many clients and steps there are. A plain value.
struct WeightPlan {
  static constexpr std::size_t kMostClients = 100;
  static constexpr std::size_t kMostTraced = 4;
  static constexpr std::size_t kMostSteps = 60;

  std::vector<std::size_t> clients = {};  ///< evenly from all, ordered by site
  std::vector<std::size_t> traced = {};   ///< evenly from these: shown over time
  std::vector<std::size_t> steps = {};    ///< evenly: when the traced ones are shown

  WeightPlan() = default;
  explicit WeightPlan(const Stream& stream);
};

/// The weights of a plan's clients in one run, or their mean over several.
struct ClientWeights {
  std::vector<double> trace = {};  ///< steps x traced x kernels
  std::vector<double> last = {};   ///< clients x kernels, after the last step
};

}  // namespace polykern
