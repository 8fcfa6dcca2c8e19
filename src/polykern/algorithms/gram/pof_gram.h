#pragma once

#include <memory>
#include <vector>

#include "polykern/algorithms/algorithm.h"
#include "polykern/algorithms/shared/local_experts.h"

namespace polykern {

/// The second-order successor whose server needs only sums over the clients (gram_server.h):
/// experts are the kernels of a bank with several numbers of features (gram_grid.h). A client mixes
/// those that had a turn by AdaHedge, and in each step sends the sums, over what it has learnt from
/// since, of the experts that the broadcast names. Its state is its mixture, with local experts (a
/// local_bank) also theirs, and how much of its samples each expert has got.
/// docs/understand/pof-gram.md has the derivation. Uses budget, burst, disclosure, epsilon, delta,
/// releases, most_samples, pending_memory, exploration, weighting, weight_rate, ridge, forgetting
/// and the settings of local experts; options must have passed CheckAlgorithm. The bank's features
/// are the largest of GramGrid::kSizes that is wanted. Squared loss alone; labels are in [0, 1],
/// others are clipped on their way to the server. Its mixtures come to trust experts more slowly
/// than the paper's AdaHedge: experts are many, and change with every turn.
inline constexpr double kGramPace = 0.5;
/// With noise more slowly still: there the mean of many private experts is better than the best.
inline constexpr double kNoisyGramPace = 0.05;
double GramPaceOf(const AlgorithmOptions& options);

/// Of its local experts: in turn one that stays alone, so that a client never does worse than
/// without a federation, and one that corrects the federated prediction. With noise that knows
/// less, so of three two stay alone, one of them from its first sample on, and all have little
/// ridge: they are the only ones here that can follow a law closely. There the others listen for
/// two lengths, so that what they have to say takes the federation's place bit by bit.
std::vector<LocalRule> GramLocalRules(const AlgorithmOptions& options);

std::unique_ptr<Algorithm> NewPofGram(AlgorithmDefinition definition);

}  // namespace polykern
