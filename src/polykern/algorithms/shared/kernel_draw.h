#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "polykern/algorithms/engine.h"

namespace polykern {

/// Step 6 of docs/understand/algorithm.md in every algorithm that sends a bin of M kernels drawn by
/// private weights: Algorithm 1 (core/subset.h), with a uniform number of the client's own.
/// Immutable: threads may share it.
class KernelDraw {
 public:
  /// seed: of the clients' draws.
  KernelDraw(std::size_t per_upload, double exploration, std::uint64_t seed)
      : per_upload_(per_upload), exploration_(exploration), seed_(seed) {}

  std::size_t per_upload() const { return per_upload_; }  ///< M
  /// xi / m (10): that of the least likely bin of so many kernels, at least.
  double LeastProbability(std::size_t kernels) const {
    return exploration_ / static_cast<double>((kernels + per_upload_ - 1) / per_upload_);
  }

  /// Draws for client c of the samples, whose cumulative losses are the first numbers of its state.
  /// Kernels and their probability go to the updates, which have begun with per_upload() blocks for
  /// each client, behind those of the clients before it.
  void Draw(const Samples& samples, std::size_t c, std::span<const double> weights,
            std::vector<std::uint32_t>& scratch, Updates& updates) const;

 private:
  std::size_t per_upload_;
  double exploration_;  // xi
  std::uint64_t seed_;
};

}  // namespace polykern
