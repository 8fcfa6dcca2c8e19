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
        rule_(algorithm.definition().problem.dimension),
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
      AlgorithmOptions own = options_;
      own.ridge = TrackingRule::kRidge;
      own.forgetting = TrackingRule::kForgetting;
      const auto known = Known(c);
      if (known[0] > 0) LearnRegression(own, Z(c), labels[c] - p, Regression(c));
      known[0] += 1;
      known[1] = labels[c];
      known[2] = p;
      for (std::size_t i = 0; i < rule_.inputs; ++i) known[3 + i] = static_cast<double>(X(c)[i]);
    }
  }

  double Last(std::size_t c) const {
    return Known(c)[0] > 0 ? Known(c)[1] : tracked_->predictions()[c];
  }
  Floats Z(std::size_t c) const {
    const double p = tracked_->predictions()[c];
    const double error = Known(c)[0] > 0 ? Last(c) - Known(c)[2] : 0;
    Floats z = {static_cast<float>(error), static_cast<float>(Last(c) - p),
                static_cast<float>(p - kMiddleOfLabels), 1};
    for (std::size_t i = 0; i < rule_.inputs; ++i) {
      const float before = Known(c)[0] > 0 ? static_cast<float>(Known(c)[3 + i]) : X(c)[i];
      z.push_back(std::clamp(X(c)[i] - before, -1.0F, 1.0F));
    }
    for (std::size_t i = 0; i < rule_.inputs; ++i) z.push_back(std::clamp(X(c)[i], -1.0F, 1.0F));
    return z;
  }
  Floats F(std::size_t c) const {
    const double p = tracked_->predictions()[c];
    const bool speaks = Known(c)[0] >= rule_.listening();
    const double fitted = p + (speaks ? Dot(Regression(c).subspan(1, rule_.width()), Z(c)) : 0);
    return {static_cast<float>(p), static_cast<float>(std::clamp(Last(c), 0.0, 1.0)),
            static_cast<float>(std::clamp(fitted, 0.0, 1.0))};
  }

  std::span<double> MixtureState(std::size_t c) const { return {samples().state[c], kMixtureSize}; }
  std::span<const float> X(std::size_t c) const {
    return MatrixRow(samples().x, c, samples().x.size() / clients());
  }
  /// Labels so far, the last one, what was predicted for it, and its inputs; then the regression.
  std::span<double> Known(std::size_t c) const {
    return {Regression(c).data() - rule_.known(), rule_.known()};
  }
  std::span<double> Regression(std::size_t c) const {
    const std::size_t size = RegressionSize(rule_.width());
    return {samples().state[c] + algorithm_.state_size() - size, size};
  }

  static constexpr std::size_t kMixtureSize = TrackingRule::kExperts + 1;

  const Algorithm& algorithm_;
  const AlgorithmOptions& options_;
  TrackingRule rule_;
  std::unique_ptr<CohortStep> tracked_;
  std::vector<double*> states_;
};

}  // namespace

std::unique_ptr<CohortStep> NewTrackingStep(const Algorithm& algorithm,
                                            std::unique_ptr<CohortStep> tracked) {
  return std::make_unique<TrackingStep>(algorithm, std::move(tracked));
}

}  // namespace polykern::scalar
