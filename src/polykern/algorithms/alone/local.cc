#include "polykern/algorithms/alone/local.h"

#include <utility>
#include <vector>

#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/shared/cohort_features.h"
#include "polykern/algorithms/shared/summing_server.h"
#include "polykern/core/experts.h"
#include "polykern/core/vector_ops.h"

namespace polykern {
namespace {

class Local final : public Algorithm {
 public:
  explicit Local(AlgorithmDefinition made_from)
      : Algorithm(std::move(made_from)),
        packed_(*definition().bank),
        kernels_(packed_.kernels()),
        loss_(definition().options.MakeLoss()),
        learning_rate_(ResolveRate(definition().options.learning_rate, definition().problem)),
        weight_rate_(ResolveRate(definition().options.weight_rate, definition().problem)) {}

  std::string_view name() const override { return "local"; }
  const ModelShape& shape() const override { return shape_; }
  const Loss& loss() const override { return loss_; }
  std::size_t experts() const override { return kernels_; }
  double weight_rate() const override { return weight_rate_; }
  std::size_t state_size() const override { return kernels_ + theta_size(); }
  std::size_t lasting_state() const override { return kernels_; }
  bool Weights(std::span<const double> state, std::uint64_t,
               std::span<double> weights) const override {
    HedgeWeights(state.first(kernels_), weight_rate_, weights);
    return true;
  }

  std::unique_ptr<Server> NewServer() const override { return NewSummingServer(shape_); }
  std::unique_ptr<CohortStep> NewCpuStep() const override;

 private:
  class Step;
  std::size_t theta_size() const { return kernels_ * packed_.feature_size(); }

  PackedKernels packed_;
  std::size_t kernels_;  // N
  Loss loss_;
  double learning_rate_;  // eta
  double weight_rate_;    // eta_k
  ModelShape shape_;      // no model at all
};

class Local::Step final : public CohortStep {
 public:
  explicit Step(const Local& algorithm)
      : algorithm_(algorithm),
        n_(algorithm.kernels_),
        features_(algorithm.packed_),
        step_{algorithm.loss_, algorithm.definition().options.regularization,
              1 - 2 * algorithm.learning_rate_ * algorithm.definition().options.regularization,
              algorithm.learning_rate_} {}

 private:
  void PredictCohort() override {
    features_.Evaluate(samples());
    predictions_.resize(clients());
    kernel_predictions_.resize(clients() * n_);
    weights_.resize(n_);
    for (std::size_t c = 0; c < clients(); ++c) {
      const auto f = MatrixRow(kernel_predictions_, c, n_);
      features_.Predict(c, Theta(c), f);
      HedgeWeights({samples().state[c], n_}, algorithm_.weight_rate_, weights_);
      predictions_[c] = Dot(weights_, f);  // (9)
    }
  }

  void LearnLabels(std::span<const double> labels) override {
    updates_.Begin(broadcast().step, samples().clients, 0);
    updates_.MakeRoom(0);
    kernel_losses_.resize(clients() * n_);
    for (std::size_t c = 0; c < clients(); ++c) {
      const auto losses = MatrixRow(kernel_losses_, c, n_);
      step_.Learn(c, labels[c], MatrixRow(kernel_predictions_, c, n_), features_, Theta(c), losses);
      for (std::size_t i = 0; i < n_; ++i) samples().state[c][i] += losses[i];  // (12)
    }
  }

  std::span<double> Theta(std::size_t c) const {
    return {samples().state[c] + n_, algorithm_.theta_size()};
  }

  const Local& algorithm_;
  std::size_t n_;  // N
  CohortFeatures features_;
  PrivateStep step_;
  std::vector<double> weights_;
};

std::unique_ptr<CohortStep> Local::NewCpuStep() const {
  return std::make_unique<Step>(*this);
}

}  // namespace

std::unique_ptr<Algorithm> NewLocal(AlgorithmDefinition definition) {
  return std::make_unique<Local>(std::move(definition));
}

}  // namespace polykern
