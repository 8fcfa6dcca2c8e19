#include "polykern/algorithms/shared/local_experts.h"

#include <algorithm>
#include <cmath>

#include "polykern/algorithms/shared/private_kernels.h"
#include "polykern/core/vector_ops.h"

namespace polykern {

LocalExperts::LocalExperts(std::shared_ptr<const KernelBank> bank, double ridge, double forgetting,
                           bool listen)
    : bank_(std::move(bank)),
      squares_(bank_->feature_size(), ridge, forgetting),
      listening_(listen ? static_cast<double>(bank_->feature_size()) : 0) {}

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
  const std::size_t size = squares_.StateSize();
  for (std::size_t i = 0; i < experts(); ++i) {
    squares_.ScaleLabels(factor, state.subspan(i * size, size));
  }
}

void LocalExperts::EvaluateFeatures(const Samples& samples, Workspace& w) const {
  EvaluateEveryFeature(*bank_, samples, w);
}

std::span<const float> LocalExperts::Features(std::size_t client, std::size_t expert,
                                              const Workspace& w) const {
  const std::size_t width = squares_.width();
  return std::span(w.z).subspan((client * experts() + expert) * width, width);
}

void LocalExperts::Predict(std::size_t client, double base, std::span<const double> state,
                           const Workspace& w, std::span<float> predictions) const {
  for (std::size_t i = 0; i < experts(); ++i, state = state.subspan(squares_.StateSize())) {
    const auto own = state.first(squares_.StateSize());
    const bool speaks = squares_.Samples(own) >= listening_;
    const double correction = speaks ? Dot(squares_.Theta(own), Features(client, i, w)) : 0;
    predictions[i] = static_cast<float>(std::clamp(base + correction, 0.0, 1.0));
  }
}

void LocalExperts::Learn(std::size_t client, double base, double label, std::span<double> state,
                         Workspace& w) const {
  w.numbers.resize(2 * squares_.width());
  for (std::size_t i = 0; i < experts(); ++i, state = state.subspan(squares_.StateSize())) {
    const auto own = state.first(squares_.StateSize());
    const auto z = Features(client, i, w);
    squares_.Learn(z, label - base, Dot(squares_.Theta(own), z), own, w.numbers);
  }
}

}  // namespace polykern
