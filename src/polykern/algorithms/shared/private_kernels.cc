#include "polykern/algorithms/shared/private_kernels.h"

#include "polykern/core/random_features.h"
#include "polykern/core/vector_ops.h"

namespace polykern {

void EvaluateEveryFeature(const KernelBank& bank, const Samples& samples, Workspace& w) {
  const std::size_t clients = samples.clients.size();
  const std::size_t kernels = bank.kernels();
  w.f.resize(clients * kernels);
  w.z.resize(clients * kernels * bank.feature_size());
  w.no_theta.assign(kernels * bank.feature_size(), 0);
  w.chosen.resize(clients * kernels);
  for (std::size_t slot = 0; slot < w.chosen.size(); ++slot) {
    w.chosen[slot] = static_cast<std::uint32_t>(slot % kernels);
  }
  w.first.resize(clients + 1);
  for (std::size_t c = 0; c <= clients; ++c) w.first[c] = c * kernels;
  EvaluateKernels(bank, {clients, samples.x, w.no_theta, w.first, w.chosen, w.f, w.z}, w.features);
}

PrivateKernels::PrivateKernels(std::shared_ptr<const KernelBank> bank, const Loss& loss,
                               double regularization)
    : bank_(std::move(bank)), loss_(loss), regularization_(regularization) {}

void PrivateKernels::EvaluateFeatures(const Samples& samples, Workspace& w) const {
  w.kernel_losses.resize(samples.clients.size() * kernels());
  EvaluateEveryFeature(*bank_, samples, w);
}

std::span<const float> PrivateKernels::Features(std::size_t client, std::size_t kernel,
                                                const Workspace& w) const {
  return std::span(w.z).subspan((client * kernels() + kernel) * width(), width());
}

void PrivateKernels::PredictKernels(std::size_t client, std::span<const double> theta,
                                    Workspace& w) const {
  for (std::size_t i = 0; i < kernels(); ++i) {
    w.f[client * kernels() + i] =
        static_cast<float>(Dot(theta.subspan(i * width(), width()), Features(client, i, w)));
  }
}

void PrivateKernels::Step(std::size_t client, double label, double keep, double rate,
                          std::span<double> theta, Workspace& w) const {
  const auto f = std::span(w.f).subspan(client * kernels(), kernels());
  const auto losses = std::span(w.kernel_losses).subspan(client * kernels(), kernels());
  loss_.Values(f, label, losses);
  for (std::size_t i = 0; i < kernels(); ++i) {
    const auto theta_i = theta.subspan(i * width(), width());
    losses[i] += regularization_ * SumOfSquares(theta_i);
    const double slope = loss_.Slope(static_cast<double>(f[i]), label);
    ScaleAndAdd(theta_i, keep, -rate * slope, Features(client, i, w));
  }
}

}  // namespace polykern
