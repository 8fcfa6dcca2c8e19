#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "polykern/algorithms/registry.h"

namespace polykern {

// For tests only: updates by hand, and what to compare.

inline constexpr std::size_t kDimension = 3;

inline std::unique_ptr<Algorithm> NewAlgorithm() {
  AlgorithmOptions options;
  options.kernels = 7;
  options.features = 5;
  options.kernels_per_upload = 3;
  options.exploration = 0.4;
  options.learning_rate = options.weight_rate = 0.3;
  return MakeAlgorithm("pof-mkl", options, {kDimension, 100, 17});
}

/// One client's update: one block of one value throughout.
inline Updates From(const Algorithm& algorithm, std::uint64_t step, std::uint64_t client,
                    std::uint32_t block, float value) {
  Updates updates;
  updates.step = step;
  updates.clients = {client};
  updates.first = {0, 1};
  updates.blocks = {block};
  updates.values.assign(algorithm.shape().width, value);
  return updates;
}

/// Several of them as one cohort.
inline Updates Joined(const std::vector<Updates>& parts) {
  Updates all;
  all.Clear();
  all.step = parts.front().step;
  for (const Updates& part : parts) {
    all.clients.insert(all.clients.end(), part.clients.begin(), part.clients.end());
    all.blocks.insert(all.blocks.end(), part.blocks.begin(), part.blocks.end());
    all.values.insert(all.values.end(), part.values.begin(), part.values.end());
    all.first.push_back(all.blocks.size());
  }
  return all;
}

inline std::vector<std::uint64_t> BitsOf(const std::vector<double>& values) {
  std::vector<std::uint64_t> bits;
  bits.reserve(values.size());
  for (const double value : values) bits.push_back(std::bit_cast<std::uint64_t>(value));
  return bits;
}

}  // namespace polykern
