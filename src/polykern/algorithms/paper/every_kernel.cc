#include "polykern/algorithms/paper/every_kernel.h"

#include <utility>
#include <vector>

#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/shared/gradient_bounds.h"
#include "polykern/algorithms/shared/summing_server.h"
#include "polykern/core/random_features.h"
#include "polykern/core/vector_ops.h"

namespace polykern {
namespace {

class EveryKernel final : public Algorithm {
 public:
  EveryKernel(std::string_view name, Mix mix, AlgorithmDefinition made_from)
      : Algorithm(std::move(made_from)),
        name_(name),
        mix_(mix),
        packed_(*definition().bank),
        kernels_(packed_.kernels()),
        width_(packed_.feature_size()),
        regularization_(definition().options.regularization),
        loss_(definition().options.MakeLoss()),
        shape_{kernels_, width_, kernels_, mix == Mix::kServer ? kernels_ : 0, mix == Mix::kServer},
        learning_rate_(ResolveRate(definition().options.learning_rate, definition().problem)),
        equal_(kernels_, 1 / static_cast<double>(kernels_)),
        bounds_(definition()) {}

  std::string_view name() const override { return name_; }
  const ModelShape& shape() const override { return shape_; }
  const Loss& loss() const override { return loss_; }
  std::size_t experts() const override { return kernels_; }
  std::size_t state_size() const override { return 0; }

  void CheckContents(const Updates& updates, const Broadcast& broadcast) const override {
    bounds_.CheckSteps(shape_, updates, broadcast,
                       [this](std::uint32_t) { return learning_rate_; });
  }
  std::string TroubleOf(const Broadcast& broadcast) const override {
    return bounds_.TroubleOf(shape_, broadcast);
  }

  std::unique_ptr<Server> NewServer() const override {
    if (mix_ == Mix::kEqual) return NewSummingServer(shape_);
    ServerRule rule;
    rule.weights = kernels_;
    rule.weight_rate = ResolveRate(definition().options.weight_rate, definition().problem);
    rule.apply = [](const StepSums& sums, ServerState& state) {
      SubtractMean(sums, state);
      for (std::size_t i = 0; i < state.losses.size(); ++i) {
        state.losses[i] += sums.losses[i] / sums.participants;
      }
    };
    return NewSummingServer(shape_, std::move(rule));
  }
  std::unique_ptr<CohortStep> NewCpuStep() const override;

 private:
  class Step;

  std::string_view name_;
  Mix mix_;
  PackedKernels packed_;
  std::size_t kernels_;    // N
  std::size_t width_;      // F
  double regularization_;  // lambda
  Loss loss_;
  ModelShape shape_;
  double learning_rate_;  // eta
  std::vector<double> equal_;
  GradientBounds bounds_;
};

class EveryKernel::Step final : public CohortStep {
 public:
  explicit Step(const EveryKernel& algorithm)
      : algorithm_(algorithm), n_(algorithm.kernels_), width_(algorithm.width_) {}

 private:
  void PredictCohort() override {
    updates_.Begin(broadcast().step, samples().clients, n_);
    updates_.MakeRoom(width_);
    for (std::size_t at = 0; at < updates_.blocks.size(); ++at) {
      updates_.blocks[at] = static_cast<std::uint32_t>(at % n_);
    }
    kernel_predictions_.resize(clients() * n_);
    EvaluateKernels(algorithm_.packed_,
                    {clients(), samples().x, broadcast().model, updates_.first, updates_.blocks,
                     kernel_predictions_, updates_.values},
                    features_);
    const std::span<const double> weights =
        algorithm_.mix_ == Mix::kEqual ? algorithm_.equal_ : broadcast().weights;
    predictions_.resize(clients());
    for (std::size_t c = 0; c < clients(); ++c) {
      predictions_[c] = Dot(weights, MatrixRow(kernel_predictions_, c, n_));
    }
  }

  void LearnLabels(std::span<const double> labels) override {
    const double eta = algorithm_.learning_rate_;
    const double lambda = algorithm_.regularization_;
    norms_.resize(n_);
    for (std::size_t i = 0; i < n_; ++i)
      norms_[i] = SumOfSquares(MatrixRow(broadcast().model, i, width_));
    kernel_losses_.resize(clients() * n_);
    slopes_.resize(n_);
    along_z_.resize(clients() * n_);
    along_theta_.assign(clients() * n_, static_cast<float>(eta * 2 * lambda));
    for (std::size_t c = 0; c < clients(); ++c) {
      const auto f = MatrixRow(kernel_predictions_, c, n_);
      const auto losses = MatrixRow(kernel_losses_, c, n_);
      algorithm_.loss_.Values(f, labels[c], losses);
      algorithm_.loss_.Slopes(f, labels[c], slopes_);
      for (std::size_t i = 0; i < n_; ++i) {
        losses[i] += lambda * norms_[i];
        along_z_[c * n_ + i] = static_cast<float>(eta * slopes_[i]);
      }
    }
    if (algorithm_.shape_.losses_per_update > 0) {
      updates_.losses.assign(kernel_losses_.begin(), kernel_losses_.end());
    }
    ScaleAndAddRows(along_z_, {along_theta_, updates_.blocks, broadcast().model}, width_,
                    updates_.values);
  }

  const EveryKernel& algorithm_;
  std::size_t n_;      // N
  std::size_t width_;  // F
  FeatureScratch features_;
  std::vector<double> norms_;  // ||theta_i||^2
  std::vector<double> slopes_;
  std::vector<float> along_z_;  // factors of the features in the updates, and of theta
  std::vector<float> along_theta_;
};

std::unique_ptr<CohortStep> EveryKernel::NewCpuStep() const {
  return std::make_unique<Step>(*this);
}

}  // namespace

std::unique_ptr<Algorithm> NewEveryKernel(std::string_view name, Mix mix,
                                          AlgorithmDefinition definition) {
  return std::make_unique<EveryKernel>(name, mix, std::move(definition));
}

}  // namespace polykern
