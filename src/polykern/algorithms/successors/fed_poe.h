#pragma once

#include <memory>

#include "polykern/algorithms/algorithm.h"

namespace polykern {

/// Fed-POE (Ghari and Shen, NeurIPS 2024), which POF-MKL's authors put after it. A client has two
/// models of the same features: the federated one, of which it steps and sends every kernel as
/// OFMKL-Avg does, and one of its own, which it alone steps as Local does. In each it weighs the
/// kernels by Hedge (12), and two more of Hedge's weights mix the two predictions. The server needs
/// only sums.
/// Experts are the N federated kernels, and then the client's own N. A client's state is the
/// cumulative losses of the N federated kernels and of the two mixtures, and then Local's state.
/// Uses learning_rate, weight_rate (of all weights), regularization and loss of the options, which
/// must have passed CheckOptions.
std::unique_ptr<Algorithm> NewFedPoe(AlgorithmDefinition definition);

}  // namespace polykern
