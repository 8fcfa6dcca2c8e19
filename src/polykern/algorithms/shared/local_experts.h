#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "polykern/algorithms/algorithm.h"
#include "polykern/core/kernel_bank.h"
#include "polykern/core/recursive_least_squares.h"

namespace polykern {

/// Private experts of a client: for each kernel of a bank a ridge regression of what a base
/// prediction leaves over, recursively, in the client's own state. An expert's prediction is the
/// base plus its correction, clipped to [0, 1]. Immutable: threads may share it.
///
/// An expert that may listen first corrects nothing until it has seen as many samples as it has
/// parameters. What it would say before is mostly noise, and a mixture that has no losses yet to
/// tell experts apart believes it: on Naval and Air that alone costs 10 to 20 % of the error.
class LocalExperts {
 public:
  /// listen: there is a base worth having, so listen first.
  LocalExperts(std::shared_ptr<const KernelBank> bank, double ridge, double forgetting,
               bool listen);

  /// The most features per kernel such that `kernels` experts take at most `bytes` of a client's
  /// memory, at most `most`; 0 if not even one fits.
  static std::size_t FittingFeatures(std::size_t kernels, std::size_t bytes, std::size_t most);

  std::size_t experts() const { return bank_->kernels(); }
  /// Numbers of a client's state, which start at 0.
  std::size_t StateSize() const { return experts() * squares_.StateSize(); }

  /// As if every label had been `factor` times as far from a constant base.
  void ScaleLabels(double factor, std::span<double> state) const;

  /// The features of every expert and client, to w.z; w.f is overwritten.
  void EvaluateFeatures(const Samples& samples, Workspace& w) const;
  /// One client's predictions, to `predictions`. `state` is its StateSize() numbers.
  void Predict(std::size_t client, double base, std::span<const double> state, const Workspace& w,
               std::span<float> predictions) const;
  /// The label arrives, after Predict with the same base.
  void Learn(std::size_t client, double base, double label, std::span<double> state,
             Workspace& w) const;

 private:
  std::span<const float> Features(std::size_t client, std::size_t expert, const Workspace& w) const;

  std::shared_ptr<const KernelBank> bank_;
  RecursiveLeastSquares squares_;
  double listening_;  // samples
};

}  // namespace polykern
