#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "polykern/core/kernel_bank.h"

namespace polykern {

/// No kernel wanted at this place.
inline constexpr std::uint32_t kNoKernel = UINT32_MAX;

/// Working memory of EvaluateKernels. One per thread; grows to what is needed and is then reused.
struct FeatureScratch {
  std::vector<FloatLanes> x;          ///< samples of some clients, transposed
  std::vector<FloatLanes> f;          ///< their predictions
  std::vector<FloatLanes> theta;      ///< theta, kernels side by side
  std::vector<float*> slots;          ///< per kernel and lane: where wanted features go
  std::vector<std::uint64_t> wanted;  ///< per kernel: the lanes that want its features
};

/// The samples of a cohort and what is to be computed from them.
struct FeatureJob {
  std::size_t clients = 0;
  std::span<const float> x;      ///< clients x dimension
  std::span<const float> theta;  ///< kernels x 2D: sines first, then cosines, as in (6)
  /// Kernels whose features are kept: clients x wanted_per_client, distinct per client; kNoKernel
  /// leaves a place empty.
  std::span<const std::uint32_t> wanted;
  std::size_t wanted_per_client = 0;
  std::span<float> f;  ///< out: clients x kernels, f_i = theta_i . z_i(x)
  std::span<float> z;  ///< out: clients x wanted_per_client x 2D; empty places are not written
};

/// Random features (6) and per-kernel predictions of a whole cohort, fused: z is written only where
/// it is wanted. A client's numbers are the same operations in the same order whatever cohort it is
/// computed in, and the same bits on every machine with fused multiply-add:
///   angle_j = fma chain over the dimensions; sine and cosine within 1e-7;
///   f = (sum over groups of four features of their fma chain) / sqrt(D).
/// Threads may share everything but `scratch` and the outputs. Never fails; a non-finite x gives
/// non-finite outputs for its own client only.
void EvaluateKernels(const KernelBank& bank, const FeatureJob& job, FeatureScratch& scratch);

}  // namespace polykern
