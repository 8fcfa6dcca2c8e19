#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "polykern/algorithms/algorithm.h"
#include "polykern/net/configuration.h"

namespace polykern {

/// A federation that began from another one has that one's last model in its configuration, and
/// clients use it beside what they learn (algorithms/shared/frozen.h): on its own columns, in its
/// own ranges. Servers need nothing of it. Pure functions.

/// So many federations back, at most.
inline constexpr std::size_t kMostEarlierFederations = 3;

/// The federation's algorithm as its clients have it. Throws Error as MakeAlgorithm does, and if
/// the earlier model does not fit: it has a column that this federation lacks, say.
std::unique_ptr<Algorithm> MakeClientAlgorithm(const FederationConfiguration& configuration);

/// Of a client of the algorithm that has learnt nothing; `weights`: see ExportedModel. Throws Error
/// if there are as many as there are no experts.
std::vector<double> StartingState(const Algorithm& algorithm, std::span<const double> weights);

/// What differs between two configurations, in words, but for masks that have begun since.
std::string DifferencesButEpoch(ConfigurationTexts one, ConfigurationTexts other);

/// How a federation has to do with the one that an agent knows.
enum class Descent {
  kNone,
  kFrom,  ///< it began from it, but does not know all that was before it
  kWhole  ///< it began from it: its clients' states are that one's at their end
};
/// Throws Error if the model that it began from cannot be read.
Descent DescentOf(const FederationConfiguration& configuration, const ConfigurationTexts& known);

}  // namespace polykern
