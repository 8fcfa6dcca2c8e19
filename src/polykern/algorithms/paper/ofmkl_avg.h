#pragma once

#include <memory>

#include "polykern/algorithms/algorithm.h"

namespace polykern {

/// OFMKL-Avg: OFSKL's step for every kernel of the bank, and the plain mean of their predictions. A
/// client sends every kernel and keeps nothing.
/// Uses learning_rate, regularization and loss of the options, which must have passed CheckOptions.
std::unique_ptr<Algorithm> NewOfmklAvg(AlgorithmDefinition definition);

}  // namespace polykern
