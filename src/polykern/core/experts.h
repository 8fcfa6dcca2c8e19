#pragma once

#include <cstddef>
#include <span>

namespace polykern {

/// Weights of experts (here: kernels) from their cumulative losses. Hedge with rate eta gives
/// expert i the weight exp(-eta L_i) / sum_j exp(-eta L_j); keeping L_i instead of the weights
/// themselves is the log-space form of (12), which cannot underflow on long streams.
/// rate may be 0 (equal weights) or infinite (all weight on the best). Pure; never fails.
void HedgeWeights(std::span<const double> losses, double rate, std::span<double> weights);

/// AdaHedge (De Rooij, van Erven, Gruenwald, Koolen 2014): Hedge that needs neither the horizon nor
/// the range of the losses. A client keeps one number beside the cumulative losses.
class AdaHedge {
 public:
  /// pace: how fast it comes to trust the best experts, beside the paper's 1.
  explicit AdaHedge(double mixability_gap = 0, double pace = 1)
      : gap_(mixability_gap), pace_(pace) {}

  /// pace ln N / gap: infinite until the first loss that tells the experts apart.
  double Rate(std::size_t experts) const;
  void Weights(std::span<const double> losses, std::span<double> weights) const;

  /// Adds one step's losses to the cumulative ones. `weights` are those the step was played with.
  void Learn(std::span<const double> step_losses, std::span<const double> weights,
             std::span<double> losses);

  double mixability_gap() const { return gap_; }

 private:
  double gap_;
  double pace_;
};

}  // namespace polykern
