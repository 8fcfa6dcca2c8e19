#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "polykern/algorithms/algorithm.h"
#include "polykern/algorithms/options.h"
#include "polykern/algorithms/shared/summing_server.h"
#include "polykern/core/kernel_bank.h"

namespace polykern {

/// What tells the algorithms apart whose clients mix all kernels by private weights and send a
/// bin of M of them, drawn by these weights.
struct ChosenKernelsRule {
  std::string_view name;  ///< must outlive the algorithm
  Rate learning_rate;     ///< a client sends (rate / p) (slope z_i + 2 lambda theta_i)
  /// Hedge's rate of the weights; a client's state is its N cumulative losses. Unset: AdaHedge,
  /// whose mixability gap is one number more.
  std::optional<Rate> weight_rate;
  ServerRule server;
};

/// Uses kernels_per_upload, exploration, regularization and loss of the options, which must have
/// passed CheckOptions.
std::unique_ptr<Algorithm> NewChosenKernels(ChosenKernelsRule rule,
                                            std::shared_ptr<const KernelBank> bank,
                                            const AlgorithmOptions& options,
                                            const Problem& problem);

}  // namespace polykern
