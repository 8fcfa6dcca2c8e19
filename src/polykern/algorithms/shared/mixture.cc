#include "polykern/algorithms/shared/mixture.h"

#include <algorithm>
#include <cmath>

#include "polykern/core/experts.h"
#include "polykern/core/vector_ops.h"

namespace polykern {
namespace {

/// With squared loss on [0, 1] the aggregating algorithm's best rate; its regret is ln N / 2.
constexpr double kAggregatingRate = 2;

}  // namespace

void Mixture::Weights(std::span<const double> state, std::span<double> weights) const {
  const double rate = weighting_ == Weighting::kHedge ? rate_
                      : weighting_ == Weighting::kAdaHedge
                          ? AdaHedge(state[experts_], pace_).Rate(experts_)
                          : kAggregatingRate;
  HedgeWeights(Losses(state), rate, weights);
}

void Mixture::SetWeights(std::span<const double> weights, std::span<double> state) const {
  constexpr double kLeast = 1e-9;
  constexpr double kUsualRate = 16;  // AdaHedge's after some hundreds of steps
  double rate = weighting_ == Weighting::kHedge ? rate_ : kAggregatingRate;
  if (weighting_ == Weighting::kAdaHedge) {
    rate = kUsualRate;
    state[experts_] = pace_ * std::log(static_cast<double>(experts_)) / rate;
  }
  if (rate == 0) return;  // all are weighed alike, whatever happens
  for (std::size_t i = 0; i < experts_; ++i) {
    state[i] = -std::log(std::max(weights[i], kLeast)) / rate;
  }
}

double Mixture::Predict(std::span<const double> weights, std::span<const float> predictions) const {
  if (weighting_ != Weighting::kAggregating) return Dot(weights, predictions);
  // The substitution function: halfway between what the mixture would lose at the ends.
  double at_0 = 0;
  double at_1 = 0;
  for (std::size_t i = 0; i < experts_; ++i) {
    const auto f = static_cast<double>(predictions[i]);
    at_0 += weights[i] * std::exp(-kAggregatingRate * f * f);
    at_1 += weights[i] * std::exp(-kAggregatingRate * (1 - f) * (1 - f));
  }
  return std::clamp(0.5 + std::log(at_1 / at_0) / (2 * kAggregatingRate), 0.0, 1.0);
}

void Mixture::Learn(std::span<const double> step_losses, std::span<const double> weights,
                    std::span<double> state) const {
  const auto losses = state.first(experts_);
  if (weighting_ == Weighting::kAdaHedge) {
    AdaHedge ada(state[experts_], pace_);
    ada.Learn(step_losses, weights, losses);
    state[experts_] = ada.mixability_gap();
  } else {
    for (std::size_t i = 0; i < experts_; ++i) losses[i] += step_losses[i];
  }
}

}  // namespace polykern
