#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "polykern/algorithms/algorithm.h"

namespace polykern {

/// The layers of PerFedAvg's network: as many hidden layers of 20 units as keep it within `budget`
/// parameters; if not even one fits, one hidden layer as wide as fits. Throws Error if not even one
/// unit fits.
std::vector<std::size_t> ChooseLayers(std::size_t inputs, std::size_t budget);

/// PerFedAvg: a fully connected ReLU network w, trained to be good one gradient step later. A
/// client predicts with w, and from its one sample sends, with v = w - alpha grad(w), grad(v)
/// (first order) or grad(v) - alpha H grad(v), the product with the Hessian of w by central
/// differences (hessian_free). The server: w -= beta mean of them. Clients keep nothing. Uses
/// budget, hessian_free, inner_rate (alpha), meta_rate (beta) and loss of the options, which must
/// have passed CheckOptions; w starts at random, from the seed. Throws Error as ChooseLayers.
std::unique_ptr<Algorithm> NewPerFedAvg(AlgorithmDefinition definition);

}  // namespace polykern
