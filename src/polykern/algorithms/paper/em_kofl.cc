#include "polykern/algorithms/paper/em_kofl.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/shared/cohort_features.h"
#include "polykern/algorithms/shared/gradient_bounds.h"
#include "polykern/algorithms/shared/summing_server.h"
#include "polykern/core/random.h"
#include "polykern/core/subset.h"
#include "polykern/core/vector_ops.h"

namespace polykern {
namespace {

/// Of a client's state; theta follows.
enum : std::size_t {
  kLastStep = 0,    // 1 + the last step it took part in; 0: none
  kLastKernel = 1,  // which kernel it sent then
  kHead = 2,
};

class EmKofl final : public Algorithm {
 public:
  explicit EmKofl(AlgorithmDefinition made_from)
      : Algorithm(std::move(made_from)),
        packed_(*definition().bank),
        kernels_(packed_.kernels()),
        width_(packed_.feature_size()),
        loss_(definition().options.MakeLoss()),
        shape_{1, width_, 1, kernels_},
        learning_rate_(ResolveRate(definition().options.learning_rate, definition().problem)),
        keep_(1 - 2 * definition().options.regularization),
        bounds_(definition()) {}

  std::string_view name() const override { return "em-kofl"; }
  const ModelShape& shape() const override { return shape_; }
  const Loss& loss() const override { return loss_; }
  std::size_t experts() const override { return kernels_; }
  std::size_t state_size() const override { return kHead + kernels_ * width_; }
  std::size_t lasting_state() const override { return 0; }

  /// What is sent are a client's own parameters, or an average of such.
  void CheckContents(const Updates& updates, const Broadcast& broadcast) const override {
    bounds_.CheckParameters(shape_, updates, broadcast.step + 1, learning_rate_, keep_);
  }
  std::string TroubleOf(const Broadcast& broadcast) const override {
    return bounds_.TroubleOf(shape_, broadcast);
  }

  std::unique_ptr<Server> NewServer() const override {
    ServerRule rule;
    rule.weights = kernels_;
    rule.weight_rate = ResolveRate(definition().options.weight_rate, definition().problem);
    rule.apply = [](const StepSums& sums, ServerState& state) {
      for (std::size_t j = 0; j < state.model.size(); ++j) {
        state.model[j] = sums.values[j] / sums.participants;
      }
      for (std::size_t i = 0; i < state.losses.size(); ++i) state.losses[i] += sums.losses[i];
    };
    return NewSummingServer(shape_, std::move(rule));
  }
  std::unique_ptr<CohortStep> NewCpuStep() const override;

 private:
  class Step;

  PackedKernels packed_;
  std::size_t kernels_;  // N
  std::size_t width_;    // F
  Loss loss_;
  ModelShape shape_;
  double learning_rate_;  // eta
  double keep_;           // of theta, in a step
  GradientBounds bounds_;
};

class EmKofl::Step final : public CohortStep {
 public:
  explicit Step(const EmKofl& algorithm)
      : n_(algorithm.kernels_),
        width_(algorithm.width_),
        seed_(algorithm.definition().problem.seed),
        features_(algorithm.packed_),
        step_{algorithm.loss_, algorithm.definition().options.regularization, algorithm.keep_,
              algorithm.learning_rate_} {}

 private:
  void PredictCohort() override {
    const std::size_t drawn = Drawn();
    average_.assign(broadcast().model.begin(), broadcast().model.end());
    features_.Evaluate(samples());
    predictions_.resize(clients());
    kernel_predictions_.resize(clients() * n_);
    for (std::size_t c = 0; c < clients(); ++c) {
      const auto f = MatrixRow(kernel_predictions_, c, n_);
      features_.Predict(c, Theta(c), f);
      if (TakesAverage(samples().state[c])) {  // Learn will put it into the state
        const auto kernel = static_cast<std::size_t>(samples().state[c][kLastKernel]);
        f[kernel] = static_cast<float>(Dot(average_, features_.Of(c, kernel)));
      }
      predictions_[c] = static_cast<double>(f[drawn]);
    }
  }

  void LearnLabels(std::span<const double> labels) override {
    const std::size_t drawn = Drawn();
    // The block is the one average; everyone knows which kernel it is of.
    updates_.Begin(broadcast().step, samples().clients, 1);
    updates_.MakeRoom(width_);
    kernel_losses_.resize(clients() * n_);
    for (std::size_t c = 0; c < clients(); ++c) {
      double* state = samples().state[c];
      const std::span<double> theta = Theta(c);
      if (TakesAverage(state)) {
        const auto kernel = static_cast<std::size_t>(state[kLastKernel]);
        std::ranges::copy(broadcast().model, MatrixRow(theta, kernel, width_).begin());
      }
      step_.Learn(c, labels[c], MatrixRow(kernel_predictions_, c, n_), features_, theta,
                  MatrixRow(kernel_losses_, c, n_));
      state[kLastStep] = static_cast<double>(broadcast().step + 1);
      state[kLastKernel] = static_cast<double>(drawn);
      RoundToFloat(MatrixRow(theta, drawn, width_), MatrixRow(updates_.values, c, width_));
    }
    updates_.losses.assign(kernel_losses_.begin(), kernel_losses_.end());
  }

  std::size_t Drawn() const {
    return DrawIndex(broadcast().weights,
                     Random(seed_, Purpose::kSharedKernel, 0, broadcast().step).Uniform());
  }
  bool TakesAverage(const double* state) const {
    return broadcast().step > 0 && state[kLastStep] == static_cast<double>(broadcast().step);
  }
  std::span<double> Theta(std::size_t c) const { return {samples().state[c] + kHead, n_ * width_}; }

  std::size_t n_;      // N
  std::size_t width_;  // F
  std::uint64_t seed_;
  CohortFeatures features_;
  PrivateStep step_;
  std::vector<double> average_;
};

std::unique_ptr<CohortStep> EmKofl::NewCpuStep() const {
  return std::make_unique<Step>(*this);
}

}  // namespace

std::unique_ptr<Algorithm> NewEmKofl(AlgorithmDefinition definition) {
  return std::make_unique<EmKofl>(std::move(definition));
}

}  // namespace polykern
