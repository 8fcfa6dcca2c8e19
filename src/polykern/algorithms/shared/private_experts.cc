#include "polykern/algorithms/shared/private_experts.h"

#include "polykern/algorithms/engine.h"

namespace polykern {

void PrivateExperts::Predict(const Samples& samples, std::span<double> predictions) {
  features_.Evaluate(samples);
  base_.assign(predictions.begin(), predictions.end());
  f_.resize(base_.size() * n_);
  weights_.resize(base_.size() * n_);
  for (std::size_t c = 0; c < base_.size(); ++c) {
    const auto f = MatrixRow(f_, c, n_);
    const auto weights = MatrixRow(weights_, c, n_);
    f[0] = static_cast<float>(base_[c]);
    local_.Predict(c, base_[c], LocalState(samples, c), features_, f.subspan(1));
    outer_.Weights(OuterState(samples, c), weights);
    predictions[c] = outer_.Predict(weights, f);
  }
}

void PrivateExperts::Learn(const Samples& samples, std::size_t c, double label, bool based) {
  losses_.resize(n_);
  loss_.Values(MatrixRow(f_, c, n_), label, losses_);
  outer_.Learn(losses_, MatrixRow(weights_, c, n_), OuterState(samples, c));
  local_.Learn(c, base_[c], label, features_, LocalState(samples, c), scratch_, based);
}

}  // namespace polykern
