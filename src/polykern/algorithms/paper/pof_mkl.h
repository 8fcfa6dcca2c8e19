#pragma once

#include <memory>

#include "polykern/algorithms/algorithm.h"
#include "polykern/algorithms/options.h"
#include "polykern/core/kernel_bank.h"

namespace polykern {

/// POF-MKL, Algorithm 2 of the paper: a shared theta_i per kernel, a private mix of kernels per
/// client, and at most M kernels sent per step. A client's state is its N cumulative losses.
/// Uses kernels_per_upload, exploration, learning_rate, weight_rate, schedule, regularization and
/// loss of the options, which must have passed CheckOptions. Rates that are unset become
/// 1 / sqrt(horizon); with Schedule::kAnytime 1 / sqrt(t), and the horizon may be 0.
std::unique_ptr<Algorithm> NewPofMkl(std::shared_ptr<const KernelBank> bank,
                                     const AlgorithmOptions& options, const Problem& problem);

}  // namespace polykern
