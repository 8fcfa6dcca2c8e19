#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "polykern/data/samples/waiting_samples.h"

namespace polykern {

/// Samples that were predicted for several steps ahead, in their order: each waits for the label
/// that comes with a later one. Use it from one thread.
class Forecasts {
 public:
  /// `ahead` is at least 1, `dimension` what a sample has of inputs.
  Forecasts(std::size_t ahead, std::size_t dimension) : ahead_(ahead), dimension_(dimension) {}

  /// Adds a sample; returns the one whose label comes with it, if there is one.
  std::optional<WaitingSample> Add(WaitingSample sample);

  /// All of them as numbers, and back with every bit; numbers of another dimension are left alone.
  std::vector<double> Save() const;
  void Load(std::span<const double> saved);

 private:
  std::size_t ahead_;
  std::size_t dimension_;
  std::deque<WaitingSample> samples_;  // the oldest first; ahead_ - 1 at most
};

}  // namespace polykern
