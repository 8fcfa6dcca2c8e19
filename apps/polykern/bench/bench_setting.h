#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "polykern/algorithms/algorithm.h"
#include "polykern/core/kernels.h"
#include "polykern/data/stream.h"

namespace polykern {

/// A size at which speed is measured: POF-MKL, squared loss, xi = 1, Gaussian kernels of the
/// paper's dictionary.
struct BenchSetting {
  std::string name;
  std::size_t dimension = 14;          ///< d
  std::size_t kernels = 51;            ///< N
  std::size_t features = 100;          ///< D
  std::size_t kernels_per_upload = 1;  ///< M
  std::size_t clients = 23;            ///< K
};

inline constexpr std::size_t kBenchSteps = 500;

/// The paper's four data sets by size, WEC also with its other uploads. "uji" has real rows.
std::span<const BenchSetting> BenchSettings();

/// A setting with the things that are not timed: rows in memory, frequencies, the algorithm.
/// Immutable: any number of threads may use it.
struct BenchJob {
  BenchSetting setting;
  std::shared_ptr<const Stream> stream;
  std::shared_ptr<const KernelBank> bank;
  std::unique_ptr<const Algorithm> algorithm;
  double nonzero_inputs = 0;  ///< per row, mean
};

/// Rows drawn from the seed, scaled as in the paper: the longest has norm 1, labels are in [0, 1].
BenchJob MakeBenchJob(const BenchSetting& setting, std::uint64_t seed,
                      std::size_t steps = kBenchSteps);

/// The same on a stream that exists.
BenchJob MakeBenchJob(const BenchSetting& setting, std::shared_ptr<const Stream> stream,
                      std::uint64_t seed);

/// The UJI rows below data_dir, shifted so that "not detected" is 0; none if they are not there.
std::shared_ptr<const Stream> OpenUji(const std::string& data_dir, std::uint64_t seed);

}  // namespace polykern
