#include "polykern/core/experts.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "polykern/core/vector_ops.h"

namespace polykern {
namespace {

/// With squared loss on [0, 1] the aggregating algorithm's best rate; its regret is ln N / 2.
constexpr double kAggregatingRate = 2;

}  // namespace

void HedgeWeights(std::span<const double> losses, double rate, std::span<double> weights) {
  assert(!losses.empty() && losses.size() == weights.size());
  SoftMin(losses, rate, weights);
}

double AdaHedge::Rate(std::size_t experts) const {
  return gap_ > 0 ? pace_ * std::log(static_cast<double>(experts)) / gap_
                  : std::numeric_limits<double>::infinity();
}

void AdaHedge::Weights(std::span<const double> losses, std::span<double> weights) const {
  HedgeWeights(losses, Rate(losses.size()), weights);
}

void AdaHedge::Learn(std::span<const double> step_losses, std::span<const double> weights,
                     std::span<double> losses) {
  const double rate = Rate(losses.size());
  double mean = 0;
  for (std::size_t i = 0; i < losses.size(); ++i) mean += weights[i] * step_losses[i];
  // The mix loss -ln(sum_i w_i exp(-eta l_i)) / eta; with an infinite rate, how far the best moved.
  const double before = *std::ranges::min_element(losses);
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < losses.size(); ++i) {
    losses[i] += step_losses[i];
    if (weights[i] > 0) least = std::min(least, step_losses[i]);
  }
  double mix = 0;
  if (std::isinf(rate)) {
    mix = *std::ranges::min_element(losses) - before;
  } else {
    double sum = 0;
    for (std::size_t i = 0; i < losses.size(); ++i) {
      if (weights[i] > 0) sum += weights[i] * std::exp(-rate * (step_losses[i] - least));
    }
    mix = least - std::log(sum) / rate;
  }
  gap_ += std::max(0.0, mean - mix);  // rounding must not make the gap shrink
}

std::span<const Name<Weighting>> NamesOf(Weighting) {
  static constexpr Name<Weighting> kNames[] = {{Weighting::kAdaHedge, "adahedge"},
                                               {Weighting::kHedge, "hedge"},
                                               {Weighting::kAggregating, "aggregating"}};
  return kNames;
}

void Mixture::Weights(std::span<const double> state, std::span<double> weights) const {
  const double rate = weighting_ == Weighting::kHedge ? rate_
                      : weighting_ == Weighting::kAdaHedge
                          ? AdaHedge(state[experts_], pace_).Rate(experts_)
                          : kAggregatingRate;
  HedgeWeights(Losses(state), rate, weights);
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
