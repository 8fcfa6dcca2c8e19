// pof-newton and local-rls, as docs/understand/pof-newton.md has them.

#include <algorithm>
#include <optional>

#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/successors/newton_server.h"
#include "polykern/core/random.h"
#include "polykern/scalar/client_step_internal.h"
#include "polykern/scalar/experts_internal.h"
#include "polykern/scalar/regressions_internal.h"

namespace polykern::scalar {
namespace {

class LocalRlsStep final : public ClientStep {
 public:
  explicit LocalRlsStep(const Algorithm& algorithm)
      : ClientStep(algorithm), local_(bank(), options_, {{.ridge = options_.ridge}}) {}

 private:
  Prediction PredictClient(std::size_t c) const override {
    const Floats f = local_.Predict(kMiddleOfLabels, X(c), LocalState(c));
    return {MixtureOf(options_, MixtureWeights(options_, MixtureState(c)), f), f};
  }
  void LearnClient(std::size_t c, double label) override {
    const Floats f = local_.Predict(kMiddleOfLabels, X(c), LocalState(c));
    const Doubles losses = LossesOf(loss(), f, label);
    for (const double each : losses) Score(each);
    LearnMixture(options_, losses, MixtureWeights(options_, MixtureState(c)), MixtureState(c));
    local_.Learn(kMiddleOfLabels, label, X(c), LocalState(c));
  }

  std::span<double> MixtureState(std::size_t c) const { return State(c).first(kernels_ + 1); }
  std::span<double> LocalState(std::size_t c) const { return State(c).subspan(kernels_ + 1); }

  PrivateRegressions local_;
};

class PofNewtonStep final : public ClientStep {
 public:
  explicit PofNewtonStep(const Algorithm& algorithm) : ClientStep(algorithm) {
    const auto& local = algorithm.definition().local_bank;
    if (local == nullptr) return;
    local_.emplace(*local, options_,
                   std::vector<LocalRule>{{.ridge = options_.ridge, .listening = 1}});
    outer_size_ = 2 + local->kernels();
  }

 private:
  Prediction PredictClient(std::size_t c) const override {
    const Floats f = ClippedF(c);
    const double base = MixtureOf(options_, MixtureWeights(options_, MixtureState(c)), f);
    if (!local_) return {base, f};
    return {MixtureOf(options_, MixtureWeights(options_, OuterState(c)), OuterF(c, base)), f};
  }

  void LearnClient(std::size_t c, double label) override {
    const Floats f = ClippedF(c);
    const Doubles weights = MixtureWeights(options_, MixtureState(c));
    const double base = MixtureOf(options_, weights, f);
    const std::size_t per_upload = KernelsPerUpload(options_);
    const Choice choice = ChooseKernels(MixtureState(c).first(kernels_), weights, per_upload,
                                        options_.exploration.value_or(kNewtonExploration),
                                        per_upload < kernels_ ? Uniform(c, Purpose::kSubset) : 0);
    updates_.probability[c] = choice.probability;
    const auto length = static_cast<float>(LengthOf(std::clamp(label, 0.0, 1.0) - kMiddleOfLabels));
    for (const std::uint32_t i : choice.kernels) {
      Floats z = Z(c, i);
      for (float& value : z) value *= length;
      Send(i, z);
    }
    const Doubles losses = LossesOf(loss(), f, label);
    for (const double each : losses) Score(each);
    LearnMixture(options_, losses, weights, MixtureState(c));
    if (!local_) return;
    LearnMixture(options_, LossesOf(loss(), OuterF(c, base), label),
                 MixtureWeights(options_, OuterState(c)), OuterState(c));
    local_->Learn(base, label, X(c), LocalState(c));
  }

  /// From the middle of the labels' range, and within it.
  Floats ClippedF(std::size_t c) const {
    Floats f = F(c);
    for (float& each : f) {
      each = std::clamp(each + static_cast<float>(kMiddleOfLabels), 0.0F, 1.0F);
    }
    return f;
  }
  /// The federated prediction, and the private experts'.
  Floats OuterF(std::size_t c, double base) const {
    Floats f = local_->Predict(base, X(c), LocalState(c));
    f.insert(f.begin(), static_cast<float>(base));
    return f;
  }
  std::span<double> MixtureState(std::size_t c) const { return State(c).first(kernels_ + 1); }
  std::span<double> OuterState(std::size_t c) const {
    return State(c).subspan(kernels_ + 1, outer_size_);
  }
  std::span<double> LocalState(std::size_t c) const {
    return State(c).subspan(kernels_ + 1 + outer_size_);
  }

  std::optional<PrivateRegressions> local_;
  std::size_t outer_size_ = 0;
};

}  // namespace

std::unique_ptr<CohortStep> NewPofNewtonStep(const Algorithm& algorithm) {
  return std::make_unique<PofNewtonStep>(algorithm);
}
std::unique_ptr<CohortStep> NewLocalRlsStep(const Algorithm& algorithm) {
  return std::make_unique<LocalRlsStep>(algorithm);
}

}  // namespace polykern::scalar
