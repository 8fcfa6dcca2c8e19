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
  explicit ClientIntervals(double coverage) : tracker(coverage) {}

  IntervalTracker tracker;
  std::int64_t counted = 0;
  std::int64_t covered = 0;
  double width = 0;

  static constexpr std::size_t kNumbers = 7;
  /// All of it as so many numbers, and back.
  void AppendTo(std::vector<double>& saved) const {
    for (const double number : tracker.Save()) saved.push_back(number);
    saved.insert(saved.end(), {static_cast<double>(counted), static_cast<double>(covered), width});
  }
  void Load(std::span<const double> saved) {
    tracker = IntervalTracker::Load(saved.first(4));
    counted = static_cast<std::int64_t>(saved[4]);
    covered = static_cast<std::int64_t>(saved[5]);
    width = saved[6];
  }
};

/// What was predicted for a step that is still to come.
struct Forecast {
  double f = 0;
  std::optional<double> radius = {};
};

}  // namespace polykern
