#pragma once

#include <memory>
#include <string_view>

#include "polykern/algorithms/algorithm.h"

namespace polykern {

/// Whose weights the kernels' predictions are combined with.
enum class Mix {
  kEqual,   ///< 1 / N each
  kServer,  ///< one vector for all clients, from the mean of their losses
};

/// What OFSKL, OFMKL-Avg and vM-KOFL share: one theta_i per kernel for all clients, of which every
/// client steps and sends every kernel, theta_i -= (eta / K) sum_k g_ik. Clients keep nothing.
/// `name` must outlive the algorithm.
std::unique_ptr<Algorithm> NewEveryKernel(std::string_view name, Mix mix,
                                          AlgorithmDefinition definition);

}  // namespace polykern
