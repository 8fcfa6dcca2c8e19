#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "polykern/core/interval.h"

namespace polykern {

/// A simulated client's interval, and how its intervals fared so far.
struct ClientIntervals {
  ClientIntervals(double coverage, std::size_t inputs) : tracker(coverage, inputs) {}

  IntervalTracker tracker;
  std::int64_t counted = 0;
  std::int64_t covered = 0;
  double width = 0;

  std::size_t StateSize() const { return 3 + tracker.StateSize(); }
  /// All of it as so many numbers, and back.
  void AppendTo(std::vector<double>& saved) const {
    saved.insert(saved.end(), {static_cast<double>(counted), static_cast<double>(covered), width});
    for (const double number : tracker.Save()) saved.push_back(number);
  }
  void Load(std::span<const double> saved, std::size_t inputs) {
    counted = static_cast<std::int64_t>(saved[0]);
    covered = static_cast<std::int64_t>(saved[1]);
    width = saved[2];
    tracker = IntervalTracker::Load(saved.subspan(3), inputs);
  }
};

/// What was predicted for a step that is still to come.
struct Forecast {
  double f = 0;
  std::optional<Interval> interval = {};
};

}  // namespace polykern
