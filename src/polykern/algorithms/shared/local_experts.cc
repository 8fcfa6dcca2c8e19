#include "polykern/algorithms/shared/local_experts.h"

#include <algorithm>

#include "polykern/core/vector_ops.h"

namespace polykern {

LocalExperts::LocalExperts(const KernelBank& bank, double ridge, double forgetting, bool listen)
    : experts_(bank.kernels()),
      squares_(bank.feature_size(), ridge, forgetting),
      listening_(listen ? static_cast<double>(bank.feature_size()) : 0) {}

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
    squares_.ScaleLabels(factor, MatrixRow(state, i, squares_.StateSize()));
  }
}

void LocalExperts::Predict(std::size_t client, double base, std::span<const double> state,
                           const CohortFeatures& features, std::span<float> predictions) const {
  for (std::size_t i = 0; i < experts_; ++i) {
    const auto own = MatrixRow(state, i, squares_.StateSize());
    const bool speaks = squares_.Samples(own) >= listening_;
    const double correction = speaks ? Dot(squares_.Theta(own), features.Of(client, i)) : 0;
    predictions[i] = static_cast<float>(std::clamp(base + correction, 0.0, 1.0));
  }
}

void LocalExperts::Learn(std::size_t client, double base, double label,
                         const CohortFeatures& features, std::span<double> state,
                         std::vector<double>& scratch) const {
  scratch.resize(2 * squares_.width());
  for (std::size_t i = 0; i < experts_; ++i) {
    const auto own = MatrixRow(state, i, squares_.StateSize());
    const auto z = features.Of(client, i);
    squares_.Learn(z, label - base, Dot(squares_.Theta(own), z), own, scratch);
  }
}

}  // namespace polykern
