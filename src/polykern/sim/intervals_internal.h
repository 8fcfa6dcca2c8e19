#pragma once

#include <cstdint>

#include "polykern/core/interval.h"
#include "polykern/sim/simulation.h"

namespace polykern {

/// A client's interval, and how its intervals fared so far.
struct Simulation::Intervals {
  explicit Intervals(double coverage) : tracker(coverage) {}

  IntervalTracker tracker;
  std::int64_t counted = 0;
  std::int64_t covered = 0;
  double width = 0;
};

}  // namespace polykern
