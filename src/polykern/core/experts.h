#pragma once

#include <cstddef>
#include <span>

#include "polykern/core/names.h"

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

/// How a client turns the losses of its experts into weights.
enum class Weighting {
  kHedge,        ///< constant rate
  kAdaHedge,     ///< a rate that follows the losses
  kAggregating,  ///< Vovk's aggregating algorithm for squared loss and experts in [0, 1]
};

std::span<const Name<Weighting>> NamesOf(Weighting);

/// A mixture of experts under squared loss, by one of the rules. What it learns lives in the
/// client's state: StateSize numbers, which start at 0. Immutable: threads may share it.
class Mixture {
 public:
  /// rate: of kHedge; with predictions and labels in [0, 1] a rate of at most 1/2 keeps the regret
  /// below ln N / rate for ever, since squared loss is 1/2-exp-concave there.
  /// pace: of kAdaHedge.
  Mixture(std::size_t experts, Weighting weighting, double rate, double pace = 1)
      : experts_(experts), weighting_(weighting), rate_(rate), pace_(pace) {}

  std::size_t experts() const { return experts_; }
  /// The experts' cumulative losses, and AdaHedge's mixability gap.
  std::size_t StateSize() const { return experts_ + 1; }
  std::span<const double> Losses(std::span<const double> state) const {
    return state.first(experts_);
  }

  /// As if every prediction and label had been `factor` times as large; the weights do not change.
  /// Of kAdaHedge, which knows no unit of the losses.
  static void ScaleLabels(double factor, std::span<double> state) {
    for (double& value : state) value *= factor * factor;
  }

  void Weights(std::span<const double> state, std::span<double> weights) const;
  double Predict(std::span<const double> weights, std::span<const float> predictions) const;
  /// `weights` are those the step was played with.
  void Learn(std::span<const double> step_losses, std::span<const double> weights,
             std::span<double> state) const;

 private:
  std::size_t experts_;
  Weighting weighting_;
  double rate_;
  double pace_;
};

}  // namespace polykern
