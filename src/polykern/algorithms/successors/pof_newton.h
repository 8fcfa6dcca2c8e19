#pragma once

#include <memory>

#include "polykern/algorithms/algorithm.h"

namespace polykern {

/// The second-order successor of POF-MKL: the same features, private weights and choice of M
/// kernels, but the server solves every kernel's ridge regression (newton_server.h) and clients mix
/// clipped predictions by AdaHedge. A client's state is its mixture; with local experts (a
/// local_bank) also their mixture and what they learnt. docs/understand/pof-newton.md has the
/// derivation. Uses kernels_per_upload, exploration, weighting, weight_rate, ridge, forgetting,
/// refresh and the settings of local experts; options must have passed CheckAlgorithm. Squared loss
/// alone; labels are in [0, 1], others are clipped on their way to the server.
std::unique_ptr<Algorithm> NewPofNewton(AlgorithmDefinition definition);

}  // namespace polykern
