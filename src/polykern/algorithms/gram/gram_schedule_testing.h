#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "polykern/algorithms/gram/gram_schedule.h"

namespace polykern {

// For the tests of the schedule of pof-gram.

inline SampleCount Counts(double samples, std::uint64_t unknowns_each) {
  const auto whole = static_cast<std::uint64_t>(samples);
  return {whole, whole * unknowns_each};
}

/// The expert of a turn whose sums tell of samples that were in none before.
inline std::uint32_t Smallest(const GramGrid& grid, std::span<const std::uint32_t> turn) {
  return *std::ranges::min_element(turn, {}, [&](std::uint32_t e) { return grid.SizeOf(e); });
}

inline std::vector<double> Even(const GramGrid& grid) {
  return std::vector<double>(grid.experts(), 1 / static_cast<double>(grid.experts()));
}

}  // namespace polykern
