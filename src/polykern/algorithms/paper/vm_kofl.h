#pragma once

#include <memory>

#include "polykern/algorithms/algorithm.h"

namespace polykern {

/// vM-KOFL: OFMKL-Avg's steps, and a mean of the kernels with weights that the server keeps for
/// all: W_i *= exp(-eta mean_k L_ik). A client sends every kernel and its loss, and keeps nothing.
/// Uses learning_rate, weight_rate (eta of W), regularization and loss of the options, which must
/// have passed CheckOptions.
std::unique_ptr<Algorithm> NewVmKofl(AlgorithmDefinition definition);

}  // namespace polykern
