#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "bench/bench_gram.h"
#include "bench/bench_growth.h"
#include "bench/bench_newton.h"
#include "bench/bench_race.h"
#include "bench/numpy_twin.h"

namespace polykern {

/// A setting that was measured.
struct BenchRow {
  BenchSetting setting;
  BenchTimes times;
  double nonzero_inputs = 0;  ///< per row, mean
  std::optional<NumpyTimes> numpy;
};

/// Everything one run of `polykern bench` measured; parts that were not asked for are empty.
struct BenchReport {
  std::size_t threads = 0;
  std::string target;  ///< the vector unit
  std::vector<BenchRow> rows;
  std::vector<std::string> left_out;  ///< a line for each setting that could not run
  std::vector<GrowthTable> growth;
  std::optional<FleetTimes> fleet;
  std::optional<NewtonTimes> newton;  ///< unset: not measured
  std::optional<GramTimes> gram;      ///< the same
};

enum class BenchFormat { kText, kMarkdown, kJson };

std::string FormatReport(const BenchReport& report, BenchFormat format);

}  // namespace polykern
