#include "polykern/algorithms/paper/perfedavg.h"

#include <string>
#include <utility>

#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/shared/gradient_bounds.h"
#include "polykern/algorithms/shared/summing_server.h"
#include "polykern/core/error.h"
#include "polykern/core/network.h"
#include "polykern/core/random.h"
#include "polykern/core/vector_ops.h"

namespace polykern {
namespace {

constexpr std::size_t kHiddenUnits = 20;
constexpr double kDifference = 0.001;  // delta of the Hessian product

class PerFedAvg final : public Algorithm {
 public:
  explicit PerFedAvg(AlgorithmDefinition made_from)
      : Algorithm(std::move(made_from)),
        network_(ChooseLayers(definition().problem.dimension, definition().options.budget)),
        loss_(definition().options.MakeLoss()),
        shape_{1, network_.parameters(), 1} {}

  std::string_view name() const override { return "perfedavg"; }
  const ModelShape& shape() const override { return shape_; }
  const Loss& loss() const override { return loss_; }
  std::size_t experts() const override { return 0; }
  std::size_t state_size() const override { return 0; }

  /// No useful bound on a gradient follows for a network: only that on each number holds.
  std::string TroubleOf(const Broadcast& broadcast) const override {
    return GradientBounds(definition()).TroubleOf(shape_, broadcast);
  }

  std::unique_ptr<Server> NewServer() const override {
    ServerRule rule;
    rule.start = network_.DrawParameters({definition().problem.seed, Purpose::kNetwork});
    rule.apply = [rate = definition().options.meta_rate](const StepSums& sums, ServerState& state) {
      const double share = rate / sums.participants;
      for (std::size_t i = 0; i < state.model.size(); ++i) state.model[i] -= share * sums.values[i];
    };
    return NewSummingServer(shape_, std::move(rule));
  }
  std::unique_ptr<CohortStep> NewCpuStep() const override;

 private:
  class Step;

  Network network_;
  Loss loss_;
  ModelShape shape_;
};

class PerFedAvg::Step final : public CohortStep {
 public:
  explicit Step(const PerFedAvg& algorithm)
      : network_(algorithm.network_),
        loss_(algorithm.loss_),
        options_(algorithm.definition().options),
        w_(network_.parameters()),
        moved_(w_),
        step_(w_),
        above_(w_),
        below_(w_) {}

 private:
  void PredictCohort() override {
    predictions_.resize(clients());
    w_.assign(broadcast().model.begin(), broadcast().model.end());
    for (std::size_t c = 0; c < clients(); ++c) {
      predictions_[c] = network_.Forward(w_, Sample(c), activations_);
    }
  }

  void LearnLabels(std::span<const double> labels) override {
    const double alpha = options_.inner_rate;
    updates_.Begin(broadcast().step, samples().clients, 1);
    updates_.MakeRoom(w_.size());
    for (std::size_t c = 0; c < clients(); ++c) {
      const auto gradient_at = [&](std::span<const double> at, std::span<double> gradient) {
        const double f = network_.Forward(at, Sample(c), activations_);
        network_.Backward(at, loss_.Slope(f, labels[c]), activations_, gradient);
      };
      gradient_at(w_, step_);
      Move(-alpha);
      gradient_at(moved_, step_);
      if (options_.hessian_free) {
        Move(kDifference);
        gradient_at(moved_, above_);
        Move(-kDifference);
        gradient_at(moved_, below_);
        for (std::size_t i = 0; i < w_.size(); ++i) {
          step_[i] -= alpha * (above_[i] - below_[i]) / (2 * kDifference);
        }
      }
      RoundToFloat(step_, MatrixRow(updates_.values, c, w_.size()));
    }
  }

  /// moved = w + by * step.
  void Move(double by) {
    for (std::size_t i = 0; i < w_.size(); ++i) moved_[i] = w_[i] + by * step_[i];
  }
  std::span<const float> Sample(std::size_t c) const {
    return MatrixRow(samples().x, c, network_.layers().front());
  }

  const Network& network_;
  const Loss& loss_;
  const AlgorithmOptions& options_;
  std::vector<double> w_;
  std::vector<double> moved_;
  std::vector<double> step_;
  std::vector<double> above_;
  std::vector<double> below_;
  Network::Activations activations_;
};

std::unique_ptr<CohortStep> PerFedAvg::NewCpuStep() const {
  return std::make_unique<Step>(*this);
}

}  // namespace

std::vector<std::size_t> ChooseLayers(std::size_t inputs, std::size_t budget) {
  std::vector<std::size_t> layers = {inputs, kHiddenUnits, 1};
  if (Network::CountParameters(layers) <= budget) {
    while (Network::CountParameters(layers) <= budget)
      layers.insert(layers.end() - 1, kHiddenUnits);
    layers.erase(layers.end() - 2);
    return layers;
  }
  // inputs + 2 numbers for each unit of the only hidden layer, and one more.
  const std::size_t units = budget == 0 ? 0 : (budget - 1) / (inputs + 2);
  if (units == 0) {
    throw Error(OptionName("budget") + " is " + std::to_string(budget) +
                "; perfedavg's network takes at least " + std::to_string(inputs + 3) +
                " numbers for " + std::to_string(inputs) +
                " inputs: raise it, or choose other algorithms with " + OptionName("algorithm"));
  }
  return {inputs, units, 1};
}

std::unique_ptr<Algorithm> NewPerFedAvg(AlgorithmDefinition definition) {
  return std::make_unique<PerFedAvg>(std::move(definition));
}

}  // namespace polykern
