#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/options.h"
#include "polykern/algorithms/shared/local_experts.h"
#include "polykern/core/kernels.h"
#include "polykern/core/losses.h"
#include "polykern/scalar/client_step_internal.h"
#include "polykern/scalar/experts_internal.h"

namespace polykern::scalar {

inline constexpr double kMiddleOfLabels = 0.5;

/// Private experts (LocalExperts): a regression of what a base prediction leaves over, or of the
/// label itself, for each kernel of a bank.
class PrivateRegressions {
 public:
  PrivateRegressions(const KernelBank& bank, const AlgorithmOptions& options,
                     std::vector<LocalRule> rules)
      : bank_(bank), options_(options), rules_(std::move(rules)) {}

  Floats Predict(double base, std::span<const float> x, std::span<const double> state) const {
    Floats f;
    for (std::size_t i = 0; i < bank_.kernels(); ++i) {
      const auto own = MatrixRow(state, i, Size());
      const LocalRule& rule = rules_[i % rules_.size()];
      const auto width = static_cast<double>(bank_.feature_size());
      const double correction = Dot(own.subspan(1, bank_.feature_size()), Z(i, x));
      const bool speaks = own[0] >= rule.listening * width;
      const double each = (rule.alone ? kMiddleOfLabels : base) + correction;
      f.push_back(static_cast<float>(std::clamp(speaks ? each : base, 0.0, 1.0)));
    }
    return f;
  }
  void Learn(double base, double label, std::span<const float> x, std::span<double> state,
             bool based = true) const {
    for (std::size_t i = 0; i < bank_.kernels(); ++i) {
      const LocalRule& rule = rules_[i % rules_.size()];
      if (!based && !rule.alone) continue;
      AlgorithmOptions options = options_;
      options.ridge = rule.ridge;
      options.forgetting = LocalExperts::ForgettingOf(options_.forgetting, i, rules_.size());
      LearnRegression(options, Z(i, x), label - (rule.alone ? kMiddleOfLabels : base),
                      MatrixRow(state, i, Size()));
    }
  }

 private:
  Floats Z(std::size_t i, std::span<const float> x) const { return Features(WavesOf(bank_, i, x)); }
  std::size_t Size() const { return RegressionSize(bank_.feature_size()); }

  const KernelBank& bank_;
  const AlgorithmOptions& options_;
  std::vector<LocalRule> rules_;
};

/// Squared losses of all predictions.
inline Doubles LossesOf(const Loss& loss, const Floats& f, double label) {
  Doubles losses;
  for (const float each : f) losses.push_back(loss.Value(static_cast<double>(each), label));
  return losses;
}

}  // namespace polykern::scalar
