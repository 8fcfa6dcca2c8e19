#pragma once

#include <memory>

#include "polykern/algorithms/algorithm.h"

namespace polykern {

/// POF-MKL without rates to choose: the same clients, but their weights are AdaHedge's, they send
/// the gradient itself, (1/p) (slope z_i + 2 lambda theta_i), and the server takes AdaGrad's steps
/// along the mean. It needs no horizon, and the server needs only sums over the clients, which
/// could be added up where it does not see them. A client's state is its N cumulative losses and
/// the mixability gap. Uses kernels_per_upload, exploration, learning_rate (AdaGrad's c; unset: 1),
/// regularization and loss of the options, which must have passed CheckOptions.
std::unique_ptr<Algorithm> NewPofAdagrad(AlgorithmDefinition definition);

}  // namespace polykern
