#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "polykern/algorithms/algorithm.h"
#include "polykern/core/kernel_bank.h"

namespace polykern {

/// What a client does before the label comes, in every algorithm that sends a bin of M kernels
/// drawn by private weights: steps 6, 2 and 3 of docs/algorithm.md. Step 6 stands first: the bins
/// depend only on the weights before step 5, so drawing early changes nothing and lets step 2 keep
/// the features of the chosen kernels alone. Immutable: threads may share it.
class KernelChoice {
 public:
  /// seed: of the clients' draws.
  KernelChoice(std::shared_ptr<const KernelBank> bank, std::size_t per_upload, double exploration,
               std::uint64_t seed);

  std::size_t kernels() const { return bank_->kernels(); }     ///< N
  std::size_t width() const { return bank_->feature_size(); }  ///< F
  ModelShape shape() const { return {kernels(), width(), per_upload_}; }

  /// Leaves in w: the clients' weights, as `algorithm` has them (Algorithm::Weights), f_i =
  /// theta_i . z_i(x) of every kernel, and in the updates the chosen kernels with their features.
  /// The first N numbers of a client's state are its cumulative losses.
  void Run(const Algorithm& algorithm, const Broadcast& broadcast, const Samples& samples,
           Workspace& w) const;

 private:
  std::shared_ptr<const KernelBank> bank_;
  std::size_t per_upload_;  // M
  double exploration_;      // xi
  std::uint64_t seed_;
};

}  // namespace polykern
