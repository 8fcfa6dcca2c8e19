#pragma once

#include <algorithm>
#include <span>

#include "polykern/algorithms/options.h"
#include "polykern/core/losses.h"
#include "polykern/scalar/client_step_internal.h"
#include "polykern/scalar/experts_internal.h"

namespace polykern::scalar {

inline constexpr double kMiddleOfLabels = 0.5;

/// Private experts: a regression of what a base prediction leaves over, for each kernel of a bank.
class PrivateRegressions {
 public:
  /// listen: they say nothing before they have seen as many samples as they have parameters.
  PrivateRegressions(const KernelBank& bank, const AlgorithmOptions& options, bool listen)
      : bank_(bank), options_(options), listen_(listen) {}

  Floats Predict(double base, std::span<const float> x, std::span<const double> state) const {
    Floats f;
    for (std::size_t i = 0; i < bank_.kernels(); ++i) {
      const auto own = MatrixRow(state, i, Size());
      const bool speaks = !listen_ || own[0] >= static_cast<double>(bank_.feature_size());
      const double correction = Dot(own.subspan(1, bank_.feature_size()), Z(i, x));
      f.push_back(static_cast<float>(std::clamp(base + (speaks ? correction : 0), 0.0, 1.0)));
    }
    return f;
  }
  void Learn(double base, double label, std::span<const float> x, std::span<double> state) const {
    for (std::size_t i = 0; i < bank_.kernels(); ++i) {
      LearnRegression(options_, Z(i, x), label - base, MatrixRow(state, i, Size()));
    }
  }

 private:
  Floats Z(std::size_t i, std::span<const float> x) const { return Features(WavesOf(bank_, i, x)); }
  std::size_t Size() const { return RegressionSize(bank_.feature_size()); }

  const KernelBank& bank_;
  const AlgorithmOptions& options_;
  bool listen_;
};

/// Squared losses of all predictions.
inline Doubles LossesOf(const Loss& loss, const Floats& f, double label) {
  Doubles losses;
  for (const float each : f) losses.push_back(loss.Value(static_cast<double>(each), label));
  return losses;
}

}  // namespace polykern::scalar
