#pragma once

#include <memory>

#include "polykern/algorithms/algorithm.h"

namespace polykern {

/// Local: POF-MKL's client alone, with a private theta_i of its own, every kernel stepped:
/// theta_i -= eta g_i, weights by (12). Nothing is sent, nothing is received.
/// A client's state is its N cumulative losses, and theta.
/// Uses learning_rate, weight_rate, regularization and loss of the options, which must have passed
/// CheckOptions.
std::unique_ptr<Algorithm> NewLocal(AlgorithmDefinition definition);

}  // namespace polykern
