#pragma once

#include <cstdint>

#include "polykern/core/double_sum.h"
#include "polykern/results/row.h"
#include "polykern/sim/simulation.h"

namespace polykern {

/// What the clients that one worker takes through a step add to its results. Sums without an
/// order, so that they do not depend on who took whom.
struct alignas(64) Simulation::Totals {
  DoubleSum squared_error;
  DoubleSum regret;
  Traffic traffic;
  std::uint64_t fingerprint = 0;
  std::int64_t intervals = 0;
  std::int64_t covered = 0;

  void Add(const Totals& other) {
    squared_error.Merge(other.squared_error);
    regret.Merge(other.regret);
    traffic.Add(other.traffic);
    fingerprint += other.fingerprint;
    intervals += other.intervals;
    covered += other.covered;
  }
};

}  // namespace polykern
