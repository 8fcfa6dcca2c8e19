#pragma once

#include <cstddef>
#include <span>

#include "polykern/algorithms/options.h"

namespace polykern {

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
  /// Makes a state at its start one with these weights, but for rounding; none is less than 1e-9.
  void SetWeights(std::span<const double> weights, std::span<double> state) const;
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
