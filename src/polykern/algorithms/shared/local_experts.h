#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "polykern/algorithms/shared/cohort_features.h"
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
  LocalExperts(const KernelBank& bank, double ridge, double forgetting, bool listen);

  /// The most features per kernel such that `kernels` experts take at most `bytes` of a client's
  /// memory, at most `most`; 0 if not even one fits.
  static std::size_t FittingFeatures(std::size_t kernels, std::size_t bytes, std::size_t most);

  std::size_t experts() const { return experts_; }
  /// Numbers of a client's state, which start at 0.
  std::size_t StateSize() const { return experts() * squares_.StateSize(); }

  /// As if every label had been `factor` times as far from a constant base.
  void ScaleLabels(double factor, std::span<double> state) const;

  /// One client's predictions. `state` is its StateSize() numbers; the features are of the bank and
  /// the client's cohort.
  void Predict(std::size_t client, double base, std::span<const double> state,
               const CohortFeatures& features, std::span<float> predictions) const;
  /// The label arrives, after Predict with the same base. `scratch` grows to what is needed.
  void Learn(std::size_t client, double base, double label, const CohortFeatures& features,
             std::span<double> state, std::vector<double>& scratch) const;

 private:
  std::size_t experts_;
  RecursiveLeastSquares squares_;
  double listening_;  // samples
};

}  // namespace polykern
