#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "polykern/core/packed_kernels.h"

namespace polykern {

/// Working memory of EvaluateKernels. One per thread; grows to what is needed and is then reused.
struct FeatureScratch {
  std::vector<FloatLanes> angle;       ///< of a few clients and kernels
  std::vector<FloatLanes> unwanted;    ///< features of a kernel beside one that is wanted
  std::vector<FloatLanes> theta;       ///< sines' and cosines' parts apart
  std::vector<FloatLanes> base;        ///< angles of a draw that all kernels share
  std::vector<std::uint32_t> places;   ///< per client and kernel: where wanted features go
  std::vector<std::size_t> starts;     ///< sparse samples: per client, where its columns begin
  std::vector<std::uint32_t> columns;  ///< those that are not 0
  std::vector<float> values;           ///< what is in them
  bool backwards = false;              ///< the order of the last call
};

/// The samples of a cohort and what is to be computed from them.
struct FeatureJob {
  std::size_t clients = 0;
  std::span<const float> x;      ///< clients x dimension
  std::span<const float> theta;  ///< kernels x 2D: sines first, then cosines, as in (6)
  /// Client c wants the features of the kernels wanted[first[c]] .. wanted[first[c + 1] - 1], which
  /// must be distinct. Both empty: none are wanted.
  std::span<const std::size_t> first;
  std::span<const std::uint32_t> wanted;
  std::span<float> f;  ///< out: clients x kernels, f_i = theta_i . z_i(x)
  std::span<float> z;  ///< out: wanted.size() x 2D
};

/// Random features (6) and per-kernel predictions of a whole cohort, fused: z is written only where
/// it is wanted. A client's numbers are the same operations in the same order whatever cohort it is
/// computed in, and the same bits on every machine with fused multiply-add:
///   angle_j = fma chain over the dimensions, times 1 / length for kernels that share a draw;
///   sine and cosine within 1e-7;
///   f = (4 fma chains, each of every fourth feature, added pairwise) / sqrt(D).
/// Cohorts whose samples are mostly 0 take a path that leaves the zeros out, with the same bits.
/// Threads may share everything but `scratch` and the outputs. Never fails; a non-finite x gives
/// non-finite outputs for its own client only.
void EvaluateKernels(const PackedKernels& packed, const FeatureJob& job, FeatureScratch& scratch);

}  // namespace polykern
