#pragma once

#include <memory>

#include "polykern/algorithms/algorithm.h"

namespace polykern {

/// FOMD-OMS (NeurIPS 2024): each client holds two kernels in a step, I drawn from the server's p
/// and J from all others alike, predicts with I, and sends both steps and losses. With P_i = p_i (N
/// - 2) / (N - 1) + 1 / (N - 1), the probability that a client holds kernel i: theta_i =
/// Proj(theta_i - (eta / K) sum_k g_ki / P_i) onto norm <= U, and p_i *= exp(-eta_w (1/K) sum_k
/// L_ki / P_i). Clients keep nothing. Uses learning_rate, weight_rate (eta_w), projection_radius
/// (U), regularization and loss of the options, which must have passed CheckOptions. The bank must
/// have at least two kernels.
std::unique_ptr<Algorithm> NewFomdOms(AlgorithmDefinition definition);

}  // namespace polykern
