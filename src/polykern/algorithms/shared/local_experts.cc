#include "polykern/algorithms/shared/local_experts.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/options.h"
#include "polykern/core/vector_ops.h"

namespace polykern {

LocalExperts::LocalExperts(const KernelBank& bank, std::vector<LocalRule> rules, double forgetting)
    : experts_(bank.kernels()),
      rules_(std::move(rules)),
      size_(RecursiveLeastSquares(bank.feature_size(), 1, 1).StateSize()) {
  for (LocalRule& rule : rules_) {
    rule.listening *= static_cast<double>(bank.feature_size());  // in samples from here on
  }
  for (std::size_t i = 0; i < experts_; ++i) {
    squares_.emplace_back(bank.feature_size(), RuleOf(i).ridge,
                          ForgettingOf(forgetting, i, rules_.size()));
  }
}

double LocalExperts::ForgettingOf(double forgetting, std::size_t i, std::size_t rules) {
  if (forgetting != kAutoForgetting) return forgetting;
  return kFactors[(i / rules + 2 * (i % rules)) % std::size(kFactors)];
}

std::size_t LocalExperts::FittingFeatures(std::size_t kernels, std::size_t bytes,
                                          std::size_t most) {
  const auto fit = [&](std::size_t features) {
    return kernels * sizeof(double) * RecursiveLeastSquares(2 * features, 1, 1).StateSize() <=
           bytes;
  };
  std::size_t features = 0;  // upwards: `most` may be anything
  while (features < most && fit(features + 1)) ++features;
  return features;
}

void LocalExperts::ScaleLabels(double factor, std::span<double> state) const {
  for (std::size_t i = 0; i < experts_; ++i) {
    SquaresOf(i).ScaleLabels(factor, MatrixRow(state, i, size_));
  }
}

void LocalExperts::Predict(std::size_t client, double base, std::span<const double> state,
                           const CohortFeatures& features, std::span<float> predictions) const {
  for (std::size_t i = 0; i < experts_; ++i) {
    const RecursiveLeastSquares& squares = SquaresOf(i);
    const auto own = MatrixRow(state, i, size_);
    double f = base;
    if (squares.Samples(own) >= RuleOf(i).listening) {
      f = BaseOf(RuleOf(i), base) + Dot(squares.Theta(own), features.Of(client, i));
    }
    predictions[i] = static_cast<float>(std::clamp(f, 0.0, 1.0));
  }
}

void LocalExperts::Learn(std::size_t client, double base, double label,
                         const CohortFeatures& features, std::span<double> state,
                         std::vector<double>& scratch, bool based) const {
  for (std::size_t i = 0; i < experts_; ++i) {
    if (!based && !RuleOf(i).alone) continue;
    const RecursiveLeastSquares& squares = SquaresOf(i);
    scratch.resize(2 * squares.width());
    const auto own = MatrixRow(state, i, size_);
    const auto z = features.Of(client, i);
    squares.Learn(z, label - BaseOf(RuleOf(i), base), Dot(squares.Theta(own), z), own, scratch);
  }
}

}  // namespace polykern
