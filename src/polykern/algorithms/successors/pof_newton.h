#pragma once

#include <memory>
#include <span>

#include "polykern/algorithms/algorithm.h"
#include "polykern/algorithms/options.h"
#include "polykern/core/kernel_bank.h"

namespace polykern {

/// The second-order successor of POF-MKL: the same features, private weights and choice of M
/// kernels, but the server solves every kernel's ridge regression (newton_server.h) and clients mix
/// clipped predictions by AdaHedge. A client's state is its mixture; with local experts also
/// their mixture and what they learnt. docs/beyond.md has the derivation.
/// Uses kernels_per_upload, exploration, weighting, weight_rate, ridge, forgetting, refresh and the
/// settings of local experts; options must have passed CheckAlgorithm. Squared loss alone; labels
/// are in [0, 1], others are clipped on their way to the server.
/// local: the bank of the local experts; null: none.
std::unique_ptr<Algorithm> NewPofNewton(std::shared_ptr<const KernelBank> bank,
                                        std::shared_ptr<const KernelBank> local,
                                        const AlgorithmOptions& options, const Problem& problem);

/// What a user has without a federation: local experts alone, of all kernels, mixed the same way.
/// Sends nothing. Uses weighting, weight_rate, ridge and forgetting.
std::unique_ptr<Algorithm> NewLocalRls(std::shared_ptr<const KernelBank> bank,
                                       const AlgorithmOptions& options, const Problem& problem);

/// Makes a client's state of local-rls over this bank, with AdaHedge, what it would be had every
/// label been `factor` times as far from 1/2, to rounding: so the range that is mapped to [0, 1]
/// can grow around its middle while a stream runs. Predictions that were clipped stay so.
void ScaleLabels(const std::shared_ptr<const KernelBank>& bank, double factor,
                 std::span<double> state);

}  // namespace polykern
