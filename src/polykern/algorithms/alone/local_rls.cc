#include "polykern/algorithms/alone/local_rls.h"

#include <cassert>
#include <utility>
#include <vector>

#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/shared/local_experts.h"
#include "polykern/algorithms/shared/mixture.h"
#include "polykern/algorithms/shared/summing_server.h"
#include "polykern/core/kernels.h"

namespace polykern {
namespace {

constexpr double kMiddleLabel = 0.5;  // of the labels' range

class LocalRls final : public Algorithm {
 public:
  explicit LocalRls(AlgorithmDefinition made_from)
      : Algorithm(std::move(made_from)),
        packed_(*definition().bank),
        local_(*definition().bank, {{.ridge = definition().options.ridge}},
               definition().options.forgetting),
        mixture_(local_.experts(), definition().options.weighting,
                 definition().options.weight_rate.value_or(kUnitRate)) {}

  std::string_view name() const override { return "local-rls"; }
  const ModelShape& shape() const override { return shape_; }
  const Loss& loss() const override { return loss_; }
  std::size_t experts() const override { return local_.experts(); }
  std::size_t state_size() const override { return mixture_.StateSize() + local_.StateSize(); }
  std::size_t lasting_state() const override { return mixture_.StateSize(); }
  bool Weights(std::span<const double> state, std::uint64_t,
               std::span<double> weights) const override {
    mixture_.Weights(state.first(mixture_.StateSize()), weights);
    return true;
  }

  std::unique_ptr<Server> NewServer() const override { return NewSummingServer(shape_); }
  std::unique_ptr<CohortStep> NewCpuStep() const override;

 private:
  class Step;

  PackedKernels packed_;
  LocalExperts local_;
  Mixture mixture_;
  Loss loss_;         // squared
  ModelShape shape_;  // no model at all
};

class LocalRls::Step final : public CohortStep {
 public:
  explicit Step(const LocalRls& algorithm)
      : local_(algorithm.local_),
        mixture_(algorithm.mixture_),
        loss_(algorithm.loss_),
        n_(local_.experts()),
        features_(algorithm.packed_) {}

 private:
  void PredictCohort() override {
    features_.Evaluate(samples());
    predictions_.resize(clients());
    kernel_predictions_.resize(clients() * n_);
    weights_.resize(clients() * n_);
    for (std::size_t c = 0; c < clients(); ++c) {
      const auto f = MatrixRow(kernel_predictions_, c, n_);
      const auto weights = MatrixRow(weights_, c, n_);
      local_.Predict(c, kMiddleLabel, LocalState(c), features_, f);
      mixture_.Weights(MixtureState(c), weights);
      predictions_[c] = mixture_.Predict(weights, f);
    }
  }

  void LearnLabels(std::span<const double> labels) override {
    updates_.Begin(broadcast().step, samples().clients, 0);
    updates_.MakeRoom(0);
    kernel_losses_.resize(clients() * n_);
    for (std::size_t c = 0; c < clients(); ++c) {
      const auto losses = MatrixRow(kernel_losses_, c, n_);
      loss_.Values(MatrixRow(kernel_predictions_, c, n_), labels[c], losses);
      mixture_.Learn(losses, MatrixRow(weights_, c, n_), MixtureState(c));
      local_.Learn(c, kMiddleLabel, labels[c], features_, LocalState(c), scratch_);
    }
  }

  std::span<double> MixtureState(std::size_t c) const {
    return {samples().state[c], mixture_.StateSize()};
  }
  std::span<double> LocalState(std::size_t c) const {
    return {samples().state[c] + mixture_.StateSize(), local_.StateSize()};
  }

  const LocalExperts& local_;
  const Mixture& mixture_;
  const Loss& loss_;
  std::size_t n_;  // N
  CohortFeatures features_;
  std::vector<double> weights_;  // clients x N
  std::vector<double> scratch_;
};

std::unique_ptr<CohortStep> LocalRls::NewCpuStep() const {
  return std::make_unique<Step>(*this);
}

}  // namespace

std::unique_ptr<Algorithm> NewLocalRls(AlgorithmDefinition definition) {
  assert(definition.options.loss == LossKind::kSquared);
  return std::make_unique<LocalRls>(std::move(definition));
}

void ScaleLabels(const KernelBank& bank, double factor, std::span<double> state) {
  const LocalExperts local(bank, {{}}, 1);
  const std::size_t mixture = state.size() - local.StateSize();
  Mixture::ScaleLabels(factor, state.first(mixture));
  local.ScaleLabels(factor, state.subspan(mixture));
}

}  // namespace polykern
