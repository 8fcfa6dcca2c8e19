#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/bench_setting.h"

namespace polykern {

/// One size, measured in turn with the size it is compared to.
struct GrowthPoint {
  std::size_t value = 0;
  double microseconds = 0;       ///< per sample, one thread
  double base_microseconds = 0;  ///< the same at the base size, in the same minutes
  double bytes = 0;              ///< allocated beyond the data: clients, scores, model, workspace
  double bytes_per_client = 0;
};

struct GrowthTable {
  std::string parameter;  ///< K, N, D or d
  std::vector<GrowthPoint> points;
};

/// What the growth tables vary, one parameter at a time: d = 14, N = 51, D = 20, M = 25, K = 1000.
const BenchSetting& GrowthBase();

/// The parameters and the values each one takes.
struct GrowthPlan {
  std::string parameter;
  std::size_t BenchSetting::*field;
  std::vector<std::size_t> values;
};
std::span<const GrowthPlan> GrowthPlans();

/// The base with its rows.
BenchJob MakeGrowthBase(std::uint64_t seed);

/// Time and memory at one value, `seconds` of time for it and for the base each.
GrowthPoint MeasureGrowth(const BenchJob& base_job, const GrowthPlan& plan, std::size_t value,
                          double seconds, std::uint64_t seed);

/// Many clients against few: the synthetic fleet, generated as it is read, d = 14, N = 51, D = 20,
/// M = 25.
struct FleetTimes {
  static constexpr std::size_t kFewClients = 10000;
  std::size_t clients = 0;
  std::size_t steps = 0;
  std::size_t threads = 0;
  double microseconds = 0;          ///< per client-step, wall time on all threads
  double few_microseconds = 0;      ///< the same with kFewClients
  double reading_microseconds = 0;  ///< of these, making up the samples
  double bytes_per_client = 0;      ///< growth of resident memory at its peak
};

FleetTimes MeasureFleet(std::size_t clients, std::size_t steps, std::size_t threads,
                        std::uint64_t seed);

}  // namespace polykern
