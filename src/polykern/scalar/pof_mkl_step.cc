// pof-mkl and pof-adagrad: Algorithm 2 of the paper, and the same with AdaHedge.

#include <cmath>
#include <optional>

#include "polykern/algorithms/engine.h"
#include "polykern/core/random.h"
#include "polykern/scalar/client_step_internal.h"
#include "polykern/scalar/experts_internal.h"

namespace polykern::scalar {
namespace {

class PofMklStep final : public ClientStep {
 public:
  using ClientStep::ClientStep;

 private:
  Prediction PredictClient(std::size_t c) const override {
    const Floats f = F(c);
    return {Dot(WeightsOf(c), f), f};  // (9)
  }

  void LearnClient(std::size_t c, double label) override {
    const std::size_t per_upload = options_.kernels_per_upload.value_or(1);
    const Floats f = F(c);
    const Doubles weights = WeightsOf(c);
    const Choice choice = ChooseKernels(State(c).first(kernels_), weights, per_upload,
                                        options_.exploration.value_or(1),
                                        per_upload < kernels_ ? Uniform(c, Purpose::kSubset) : 0);
    updates_.probability[c] = choice.probability;
    for (const std::uint32_t i : choice.kernels) {  // (11)
      SendGradient(c, i, f[i], label, LearningRate() / choice.probability);
    }
    Doubles losses;
    for (std::size_t i = 0; i < kernels_; ++i) losses.push_back(LossOf(i, f[i], label));
    for (const double each : losses) Score(each);
    if (adaptive()) {
      State(c)[kernels_] =
          LearnAdaHedge(losses, weights, State(c)[kernels_], State(c).first(kernels_));
    } else {
      for (std::size_t i = 0; i < kernels_; ++i) State(c)[i] += losses[i];  // (12)
    }
  }

  bool adaptive() const { return algorithm_.name() == "pof-adagrad"; }
  /// The given rate, or 1 / sqrt(T); or c / sqrt(t).
  double RateOf(const std::optional<double>& given) const {
    if (options_.schedule == Schedule::kConstant) return RateOr(given);
    return given.value_or(1) / std::sqrt(static_cast<double>(broadcast().step) + 1);
  }
  double LearningRate() const { return adaptive() ? 1 : RateOf(options_.learning_rate); }
  Doubles WeightsOf(std::size_t c) const {
    const double rate =
        adaptive() ? AdaHedgeRate(State(c)[kernels_], kernels_) : RateOf(options_.weight_rate);
    return SoftMin(State(c).first(kernels_), rate);
  }
};

}  // namespace

std::unique_ptr<CohortStep> NewPofMklStep(const Algorithm& algorithm) {
  return std::make_unique<PofMklStep>(algorithm);
}

}  // namespace polykern::scalar
