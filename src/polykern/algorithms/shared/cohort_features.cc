#include "polykern/algorithms/shared/cohort_features.h"

#include "polykern/core/vector_ops.h"

namespace polykern {

void CohortFeatures::Evaluate(const Samples& samples) {
  const std::size_t clients = samples.clients.size();
  f_.resize(clients * kernels());
  z_.resize(clients * kernels() * width());
  no_theta_.assign(kernels() * width(), 0);
  every_.resize(clients * kernels());
  for (std::size_t slot = 0; slot < every_.size(); ++slot) {
    every_[slot] = static_cast<std::uint32_t>(slot % kernels());
  }
  first_.resize(clients + 1);
  for (std::size_t c = 0; c <= clients; ++c) first_[c] = c * kernels();
  EvaluateKernels(kernels_, {clients, samples.x, no_theta_, first_, every_, f_, z_}, scratch_);
}

void CohortFeatures::Predict(std::size_t client, std::span<const double> theta,
                             std::span<float> f) const {
  for (std::size_t i = 0; i < kernels(); ++i) {
    f[i] = static_cast<float>(Dot(MatrixRow(theta, i, width()), Of(client, i)));
  }
}

void PrivateStep::Learn(std::size_t client, double label, std::span<const float> f,
                        const CohortFeatures& features, std::span<double> theta,
                        std::span<double> losses) const {
  loss.Values(f, label, losses);
  for (std::size_t i = 0; i < f.size(); ++i) {
    const auto theta_i = MatrixRow(theta, i, features.width());
    losses[i] += regularization * SumOfSquares(theta_i);
    const double slope = loss.Slope(static_cast<double>(f[i]), label);
    ScaleAndAdd(theta_i, keep, -rate * slope, features.Of(client, i));
  }
}

}  // namespace polykern
