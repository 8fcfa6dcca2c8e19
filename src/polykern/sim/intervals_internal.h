#pragma once

#include <cstdint>

#include "polykern/core/interval.h"

namespace polykern {

/// A simulated client's interval, and how its intervals fared so far.
struct ClientIntervals {
  explicit ClientIntervals(double coverage) : tracker(coverage) {}

  IntervalTracker tracker;
  std::int64_t counted = 0;
  std::int64_t covered = 0;
  double width = 0;
};

}  // namespace polykern
