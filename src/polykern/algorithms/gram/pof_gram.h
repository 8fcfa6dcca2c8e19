#pragma once

#include <memory>

#include "polykern/algorithms/algorithm.h"

namespace polykern {

/// The second-order successor whose server needs nothing but sums over the clients (gram_server.h):
/// experts are the kernels of a bank with several numbers of features (gram_grid.h). A client mixes
/// those that had a turn by AdaHedge, and in each step sends the sums, over what it has learnt from
/// since, of the experts that the broadcast names. Its state is its mixture, with local experts (a
/// local_bank) also theirs, and how much of its samples each expert has got. docs/beyond.md has the
/// derivation.
/// Uses budget, burst, disclosure, most_samples, pending_memory, exploration, weighting,
/// weight_rate, ridge, forgetting and the settings of local experts; options must have passed
/// CheckAlgorithm. The bank's features are the largest of GramGrid::kSizes that is wanted. Squared
/// loss alone; labels are in [0, 1], others are clipped on their way to the server.
std::unique_ptr<Algorithm> NewPofGram(AlgorithmDefinition definition);

}  // namespace polykern
