#include "polykern/algorithms/successors/pof_newton.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/shared/kernel_draw.h"
#include "polykern/algorithms/shared/local_experts.h"
#include "polykern/algorithms/shared/mixture.h"
#include "polykern/algorithms/shared/private_experts.h"
#include "polykern/algorithms/successors/newton_server.h"
#include "polykern/core/kernels.h"
#include "polykern/core/random_features.h"

namespace polykern {
namespace {

constexpr double kMiddle = 0.5;          // of the labels' range: predicted before anything is known
constexpr double kNormTolerance = 0.01;  // of messages, whose numbers are rounded to float

/// Of messages whose lengths tell labels of [0, 1].
ModelShape WithLengths(ModelShape shape) {
  shape.least_norm = LengthOf(-kMiddle) - kNormTolerance;
  shape.most_norm = LengthOf(1 - kMiddle) + kNormTolerance;
  return shape;
}

class PofNewton final : public Algorithm {
 public:
  explicit PofNewton(AlgorithmDefinition made_from)
      : Algorithm(std::move(made_from)),
        packed_(*definition().bank),
        draw_(KernelsPerUpload(definition().options),
              definition().options.exploration.value_or(kNewtonExploration),
              definition().problem.seed),
        shape_(WithLengths({packed_.kernels(), packed_.feature_size(), draw_.per_upload()})),
        mixture_(MixtureOf(packed_.kernels())),
        outer_(MixtureOf(1)) {
    if (definition().local_bank == nullptr) return;
    const KernelBank& bank = *definition().local_bank;
    const AlgorithmOptions& options = definition().options;
    packed_local_.emplace(bank);
    local_.emplace(bank, std::vector<LocalRule>{{.ridge = options.ridge, .listening = 1}},
                   options.forgetting);
    outer_ = MixtureOf(1 + bank.kernels());
  }

  std::string_view name() const override { return "pof-newton"; }
  const ModelShape& shape() const override { return shape_; }
  const Loss& loss() const override { return loss_; }
  std::size_t experts() const override { return shape_.blocks; }
  std::size_t state_size() const override {
    return lasting_state() + (local_ ? local_->StateSize() : 0);
  }
  std::size_t lasting_state() const override {
    return mixture_.StateSize() + (local_ ? outer_.StateSize() : 0);
  }
  bool Weights(std::span<const double> state, std::uint64_t,
               std::span<double> weights) const override {
    mixture_.Weights(state.first(mixture_.StateSize()), weights);
    return true;
  }

  std::unique_ptr<Server> NewServer() const override {
    const AlgorithmOptions& options = definition().options;
    return NewNewtonServer(shape_, {options.ridge, ServerForgetting(options), options.refresh});
  }
  std::unique_ptr<CohortStep> NewCpuStep() const override;

 private:
  class Step;
  Mixture MixtureOf(std::size_t experts) const {
    const AlgorithmOptions& options = definition().options;
    return {experts, options.weighting, options.weight_rate.value_or(kUnitRate)};
  }

  PackedKernels packed_;
  KernelDraw draw_;
  Loss loss_;  // squared
  ModelShape shape_;
  Mixture mixture_;  // of the federated kernels
  Mixture outer_;    // of their mixture and the local experts
  std::optional<PackedKernels> packed_local_;
  std::optional<LocalExperts> local_;
};

/// The step numbers are those of docs/understand/algorithm.md.
class PofNewton::Step final : public CohortStep {
 public:
  explicit Step(const PofNewton& algorithm)
      : algorithm_(algorithm),
        mixture_(algorithm.mixture_),
        n_(algorithm.shape_.blocks),
        width_(algorithm.shape_.width) {
    if (!algorithm.local_) return;
    private_.emplace(*algorithm.local_, algorithm.outer_, algorithm.loss_, *algorithm.packed_local_,
                     PrivateState{mixture_.StateSize(), algorithm.lasting_state()});
  }

 private:
  void PredictCohort() override {
    weights_.resize(clients() * n_);
    updates_.Begin(broadcast().step, samples().clients, algorithm_.draw_.per_upload());
    for (std::size_t c = 0; c < clients(); ++c) {  // 6, as POF-MKL's
      const auto weights = MatrixRow(weights_, c, n_);
      mixture_.Weights(MixtureState(c), weights);
      algorithm_.draw_.Draw(samples(), c, weights, order_, updates_);
    }
    updates_.MakeRoom(width_);
    // 2 and 3; predictions go from the middle of the labels' range, and stay within it.
    kernel_predictions_.resize(clients() * n_);
    EvaluateKernels(algorithm_.packed_,
                    {clients(), samples().x, broadcast().model, updates_.first, updates_.blocks,
                     kernel_predictions_, updates_.values},
                    features_);
    for (float& f : kernel_predictions_) {
      f = std::clamp(f + static_cast<float>(kMiddle), 0.0F, 1.0F);
    }
    // 4. Combination: of the kernels, and then with what private experts add to it.
    predictions_.resize(clients());
    for (std::size_t c = 0; c < clients(); ++c) {
      predictions_[c] =
          mixture_.Predict(MatrixRow(weights_, c, n_), MatrixRow(kernel_predictions_, c, n_));
    }
    if (private_) private_->Predict(samples(), predictions_);
  }

  void LearnLabels(std::span<const double> labels) override {
    kernel_losses_.resize(clients() * n_);
    for (std::size_t c = 0; c < clients(); ++c) {
      // 5. Weights.
      const auto losses = MatrixRow(kernel_losses_, c, n_);
      algorithm_.loss_.Values(MatrixRow(kernel_predictions_, c, n_), labels[c], losses);
      mixture_.Learn(losses, MatrixRow(weights_, c, n_), MixtureState(c));
      if (private_) private_->Learn(samples(), c, labels[c]);
      // 7. Local update: the features, as long as the label says.
      const auto length = static_cast<float>(LengthOf(std::clamp(labels[c], 0.0, 1.0) - kMiddle));
      const auto sent = std::span(updates_.values)
                            .subspan(updates_.first[c] * width_,
                                     (updates_.first[c + 1] - updates_.first[c]) * width_);
      for (float& value : sent) value *= length;
    }
  }

  std::span<double> MixtureState(std::size_t c) const {
    return {samples().state[c], mixture_.StateSize()};
  }

  const PofNewton& algorithm_;
  const Mixture& mixture_;
  std::size_t n_;      // N
  std::size_t width_;  // F
  FeatureScratch features_;
  std::vector<double> weights_;  // clients x N
  std::vector<std::uint32_t> order_;
  std::optional<PrivateExperts> private_;
};

std::unique_ptr<CohortStep> PofNewton::NewCpuStep() const {
  return std::make_unique<Step>(*this);
}

}  // namespace

std::unique_ptr<Algorithm> NewPofNewton(AlgorithmDefinition definition) {
  assert(definition.options.loss == LossKind::kSquared);
  return std::make_unique<PofNewton>(std::move(definition));
}

}  // namespace polykern
