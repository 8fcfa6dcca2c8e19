// A client that knows its last label, as algorithms/shared/tracking.h has it.

#include <algorithm>
#include <utility>

#include "polykern/algorithms/shared/tracking.h"
#include "polykern/scalar/client_step_internal.h"
#include "polykern/scalar/experts_internal.h"
#include "polykern/scalar/regressions_internal.h"

namespace polykern::scalar {
namespace {

class TrackingStep final : public CohortStep {
 public:
  TrackingStep(const Algorithm& algorithm, std::unique_ptr<CohortStep> tracked)
      : algorithm_(algorithm),
        options_(algorithm.definition().options),
        tracked_(std::move(tracked)) {}

 private:
  void PredictCohort() override {
    states_.clear();
    for (double* state : samples().state) states_.push_back(state + kMixtureSize);
    Samples own = samples();
    own.state = states_;
    tracked_->Predict(broadcast(), own);
    kernel_predictions_.assign(tracked_->kernel_predictions().begin(),
                               tracked_->kernel_predictions().end());
    predictions_.clear();
    for (std::size_t c = 0; c < clients(); ++c) {
      predictions_.push_back(MixtureOf(options_, MixtureWeights(options_, MixtureState(c)), F(c)));
    }
  }

  void LearnLabels(std::span<const double> labels) override {
    updates_ = tracked_->Learn(labels, answering());
    kernel_losses_.assign(tracked_->kernel_losses().begin(), tracked_->kernel_losses().end());
    for (std::size_t c = 0; c < clients(); ++c) {
      const double p = tracked_->predictions()[c];
      LearnMixture(options_, LossesOf(algorithm_.loss(), F(c), labels[c]),
                   MixtureWeights(options_, MixtureState(c)), MixtureState(c));
      AlgorithmOptions rule = options_;
      rule.ridge = TrackingRule::kRidge;
      rule.forgetting = TrackingRule::kForgetting;
      const auto known = Known(c);
      if (known[0] > 0) LearnRegression(rule, Z(c), labels[c] - p, Regression(c));
      known[0] += 1;
      known[1] = labels[c];
      known[2] = p;
    }
  }

  double Last(std::size_t c) const {
    return Known(c)[0] > 0 ? Known(c)[1] : tracked_->predictions()[c];
  }
  Floats Z(std::size_t c) const {
    const double p = tracked_->predictions()[c];
    const double error = Known(c)[0] > 0 ? Last(c) - Known(c)[2] : 0;
    return {static_cast<float>(error), static_cast<float>(Last(c) - p),
            static_cast<float>(p - kMiddleOfLabels), 1};
  }
  Floats F(std::size_t c) const {
    const double p = tracked_->predictions()[c];
    const bool speaks = Known(c)[0] >= TrackingRule::kListening;
    const double fitted =
        p + (speaks ? Dot(Regression(c).subspan(1, TrackingRule::kWidth), Z(c)) : 0);
    return {static_cast<float>(p), static_cast<float>(std::clamp(Last(c), 0.0, 1.0)),
            static_cast<float>(std::clamp(fitted, 0.0, 1.0))};
  }

  std::span<double> MixtureState(std::size_t c) const { return {samples().state[c], kMixtureSize}; }
  /// Labels so far, the last one, and what was predicted for it; the regression comes last.
  std::span<double> Known(std::size_t c) const {
    return {samples().state[c] + algorithm_.state_size() - kRegressionSize - TrackingRule::kKnown,
            TrackingRule::kKnown};
  }
  std::span<double> Regression(std::size_t c) const {
    return {samples().state[c] + algorithm_.state_size() - kRegressionSize, kRegressionSize};
  }

  static constexpr std::size_t kMixtureSize = TrackingRule::kExperts + 1;
  static constexpr std::size_t kRegressionSize =
      1 + TrackingRule::kWidth + TrackingRule::kWidth * TrackingRule::kWidth;

  const Algorithm& algorithm_;
  const AlgorithmOptions& options_;
  std::unique_ptr<CohortStep> tracked_;
  std::vector<double*> states_;
};

}  // namespace

std::unique_ptr<CohortStep> NewTrackingStep(const Algorithm& algorithm,
                                            std::unique_ptr<CohortStep> tracked) {
  return std::make_unique<TrackingStep>(algorithm, std::move(tracked));
}

}  // namespace polykern::scalar
