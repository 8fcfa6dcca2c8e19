#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "polykern/algorithms/engine.h"
#include "polykern/core/losses.h"
#include "polykern/core/random_features.h"

namespace polykern {

/// The features of every kernel for every client of a cohort, where clients have models of their
/// own: clients x kernels x width floats. One per thread.
class CohortFeatures {
 public:
  /// The kernels must outlive it.
  explicit CohortFeatures(const PackedKernels& kernels) : kernels_(kernels) {}

  std::size_t kernels() const { return kernels_.kernels(); }
  std::size_t width() const { return kernels_.feature_size(); }

  void Evaluate(const Samples& samples);
  std::span<const float> Of(std::size_t client, std::size_t kernel) const {
    return MatrixRow(z_, client * kernels() + kernel, width());
  }

  /// f_i = theta_i . z_i of every kernel for one client, whose theta is kernels x width.
  void Predict(std::size_t client, std::span<const double> theta, std::span<float> f) const;

 private:
  const PackedKernels& kernels_;
  FeatureScratch scratch_;
  std::vector<float> z_;
  std::vector<float> no_theta_;  // all 0
  std::vector<float> f_;         // of no theta
  std::vector<std::size_t> first_;
  std::vector<std::uint32_t> every_;
};

/// What Local's and eM-KOFL's clients do with every theta_i of their own.
struct PrivateStep {
  Loss loss;
  double regularization = 0;  ///< lambda
  double keep = 1;            ///< what a step leaves of theta
  double rate = 0;            ///< eta

  /// L_i of one client from f_i, and theta_i = keep theta_i - rate slope_i z_i.
  void Learn(std::size_t client, double label, std::span<const float> f,
             const CohortFeatures& features, std::span<double> theta,
             std::span<double> losses) const;
};

}  // namespace polykern
