#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "polykern/algorithms/algorithm.h"
#include "polykern/core/kernel_bank.h"

namespace polykern {

/// The features of every client and kernel, to w.z; w.f becomes room for as many predictions.
void EvaluateEveryFeature(const KernelBank& bank, const Samples& samples, Workspace& w);

/// The part that Local and eM-KOFL share: every client has a theta_i of its own for every kernel,
/// kernels x width doubles in its state, and steps them all. A cohort's features take
/// clients x kernels x width floats of the workspace. Immutable: threads may share it.
class PrivateKernels {
 public:
  PrivateKernels(std::shared_ptr<const KernelBank> bank, const Loss& loss, double regularization);

  std::size_t kernels() const { return bank_->kernels(); }
  std::size_t width() const { return bank_->feature_size(); }
  std::size_t theta_size() const { return kernels() * width(); }

  /// The features of every kernel and client, to w.z, and room for their predictions in w.f.
  void EvaluateFeatures(const Samples& samples, Workspace& w) const;
  /// w.z of one client and kernel.
  std::span<const float> Features(std::size_t client, std::size_t kernel, const Workspace& w) const;
  /// f_i = theta_i . z_i for every kernel of one client, to w.f.
  void PredictKernels(std::size_t client, std::span<const double> theta, Workspace& w) const;
  /// L_i of one client, to w.kernel_losses, and theta_i = keep * theta_i - rate * slope_i z_i.
  void Step(std::size_t client, double label, double keep, double rate, std::span<double> theta,
            Workspace& w) const;

 private:
  std::shared_ptr<const KernelBank> bank_;
  Loss loss_;
  double regularization_;
};

}  // namespace polykern
