#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "bench/bench_report.h"
#include "polykern/sim/fleet.h"

namespace polykern {

/// Whole steps of POF-MKL on a device, data and scores included, with so many clients of a
/// synthetic fleet, beside what the device can do at best: a table, or JSON. `steps` of each run
/// are timed.
std::string MeasureDevice(const FleetDevice& device, std::size_t clients, std::size_t steps,
                          std::uint64_t seed, BenchFormat format);

}  // namespace polykern
