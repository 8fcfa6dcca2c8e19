#pragma once

#include <memory>

#include "polykern/algorithms/algorithm.h"

namespace polykern {

/// OFSKL: online gradient descent on one shared kernel, the only one of the bank:
/// theta -= (eta / K) sum_k g_k, y_hat = f. A client sends all of it and keeps nothing.
/// Uses learning_rate, regularization and loss of the options, which must have passed CheckOptions.
std::unique_ptr<Algorithm> NewOfskl(AlgorithmDefinition definition);

}  // namespace polykern
