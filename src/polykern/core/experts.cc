#include "polykern/core/experts.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "polykern/core/vector_ops.h"

namespace polykern {

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

}  // namespace polykern
