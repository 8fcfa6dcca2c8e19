#pragma once

#include <memory>

#include "polykern/algorithms/algorithm.h"

namespace polykern {

/// eM-KOFL: a client keeps a private theta_ki for every kernel and steps them all:
/// theta_ki = (1 - 2 lambda) theta_ki - eta loss'(f_ki, y) z_i. In each step everyone draws the
/// same kernel I from the server's p and the seed; a client predicts with its own theta_kI, and
/// sends it after the step, beside the losses of all kernels. The server averages what it gets, and
/// p_i is proportional to exp(-eta sum of all L_ki). The average goes out with the next step, and
/// replaces theta_kI of those clients that helped to make it and take part again, before they
/// predict. A client that misses a step keeps its own theta.
/// A client's state is 1 + the last step it took part in, the kernel it sent then, and theta.
/// Samples::uniforms do not matter: the draw is not a client's own.
/// Uses learning_rate, weight_rate (eta of p), regularization and loss of the options, which must
/// have passed CheckOptions.
std::unique_ptr<Algorithm> NewEmKofl(AlgorithmDefinition definition);

}  // namespace polykern
