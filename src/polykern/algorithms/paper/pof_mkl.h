#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "polykern/algorithms/algorithm.h"
#include "polykern/algorithms/shared/summing_server.h"

namespace polykern {

/// POF-MKL, Algorithm 2 of the paper: a shared theta_i per kernel, a private mix of kernels per
/// client, and at most M kernels sent per step. A client's state is its N cumulative losses.
/// Uses kernels_per_upload, exploration, learning_rate, weight_rate, schedule, regularization and
/// loss of the options, which must have passed CheckOptions. Rates that are unset become
/// 1 / sqrt(horizon); with Schedule::kAnytime 1 / sqrt(t), and the horizon may be 0.
std::unique_ptr<Algorithm> NewPofMkl(AlgorithmDefinition definition);

/// What others that are POF-MKL otherwise do in their own way.
struct PofMklRule {
  std::string_view name;  ///< must outlive the algorithm
  Rate learning_rate;     ///< eta: a client sends (eta / p) (slope z_i + 2 lambda theta_i)
  /// eta_k, Hedge's rate of the weights. Unset: AdaHedge, whose mixability gap is one number more
  /// in a client's state.
  std::optional<Rate> weight_rate;
  ServerRule server;  ///< in place of (13)
};

/// Uses kernels_per_upload, exploration, regularization and loss of the options.
std::unique_ptr<Algorithm> NewPofMkl(AlgorithmDefinition definition, PofMklRule rule);

}  // namespace polykern
