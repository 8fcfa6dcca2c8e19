#pragma once

#include <memory>
#include <span>

#include "polykern/algorithms/algorithm.h"
#include "polykern/core/kernels.h"

namespace polykern {

/// What a user has without a federation: pof-newton's local experts alone, of all kernels, mixed
/// the same way. Sends nothing. Uses weighting, weight_rate, ridge and forgetting.
std::unique_ptr<Algorithm> NewLocalRls(AlgorithmDefinition definition);

/// Makes a client's state of local-rls over this bank, with AdaHedge, what it would be had every
/// label been `factor` times as far from 1/2, to rounding: so the range that is mapped to [0, 1]
/// can grow around its middle while a stream runs. Predictions that were clipped stay so.
void ScaleLabels(const KernelBank& bank, double factor, std::span<double> state);

}  // namespace polykern
