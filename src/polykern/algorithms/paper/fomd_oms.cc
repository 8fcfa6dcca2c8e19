#include "polykern/algorithms/paper/fomd_oms.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>
#include <vector>

#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/shared/gradient_bounds.h"
#include "polykern/algorithms/shared/summing_server.h"
#include "polykern/core/experts.h"
#include "polykern/core/random.h"
#include "polykern/core/random_features.h"
#include "polykern/core/subset.h"
#include "polykern/core/vector_ops.h"

namespace polykern {
namespace {

constexpr std::size_t kHeld = 2;  // kernels a client holds in a step: I and J

/// P_i, the probability that a client holds a kernel whose weight is p.
double HeldProbability(double p, std::size_t kernels) {
  const auto n = static_cast<double>(kernels);
  return p * (n - 2) / (n - 1) + 1 / (n - 1);
}

/// I and J from one uniform number: where it falls in the range of I is uniform again.
void DrawPair(std::span<const double> p, double uniform, std::span<std::uint32_t> pair) {
  const std::size_t first = DrawIndex(p, uniform);
  double below = 0;
  for (std::size_t i = 0; i < first; ++i) below += p[i];
  const double within = p[first] > 0 ? (uniform - below) / p[first] : 0;
  const auto others = static_cast<double>(p.size() - 1);
  const auto nth = static_cast<std::size_t>(std::clamp(within * others, 0.0, others - 1));
  pair[0] = static_cast<std::uint32_t>(first);
  pair[1] = static_cast<std::uint32_t>(nth < first ? nth : nth + 1);
}

void Project(std::span<double> theta, double radius) {
  const double norm = std::sqrt(SumOfSquares(theta));
  if (norm <= radius) return;
  for (double& value : theta) value *= radius / norm;
}

class FomdOms final : public Algorithm {
 public:
  explicit FomdOms(AlgorithmDefinition made_from)
      : Algorithm(std::move(made_from)),
        packed_(*definition().bank),
        kernels_(packed_.kernels()),
        width_(packed_.feature_size()),
        loss_(definition().options.MakeLoss()),
        shape_{kernels_, width_, kHeld, kHeld, true},
        learning_rate_(ResolveRate(definition().options.learning_rate, definition().problem)),
        bounds_(definition()) {
    assert(kernels_ >= kHeld);
  }

  std::string_view name() const override { return "fomd-oms"; }
  const ModelShape& shape() const override { return shape_; }
  const Loss& loss() const override { return loss_; }
  std::size_t experts() const override { return 0; }  // a client sees two kernels' losses only
  std::size_t state_size() const override { return 0; }

  void CheckContents(const Updates& updates, const Broadcast& broadcast) const override {
    bounds_.CheckSteps(shape_, updates, broadcast, [&](std::uint32_t kernel) {
      return learning_rate_ / HeldProbability(broadcast.weights[kernel], kernels_);
    });
  }
  std::string TroubleOf(const Broadcast& broadcast) const override {
    return bounds_.TroubleOf(shape_, broadcast);
  }

  std::unique_ptr<Server> NewServer() const override {
    const double eta_w = ResolveRate(definition().options.weight_rate, definition().problem);
    ServerRule rule;
    rule.weights = kernels_;
    rule.weight_rate = eta_w;
    rule.apply = [eta_w, radius = definition().options.projection_radius, width = width_](
                     const StepSums& sums, ServerState& state) {
      std::vector<double> p(state.losses.size());
      HedgeWeights(state.losses, eta_w, p);
      SubtractMean(sums, state);
      for (std::size_t i = 0; i < p.size(); ++i) {
        Project(MatrixRow(state.model, i, width), radius);
        state.losses[i] += sums.losses[i] / (sums.participants * HeldProbability(p[i], p.size()));
      }
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
  GradientBounds bounds_;
};

class FomdOms::Step final : public CohortStep {
 public:
  explicit Step(const FomdOms& algorithm)
      : algorithm_(algorithm),
        n_(algorithm.kernels_),
        width_(algorithm.width_),
        seed_(algorithm.definition().problem.seed),
        regularization_(algorithm.definition().options.regularization),
        learning_rate_(algorithm.learning_rate_) {}

 private:
  void PredictCohort() override {
    updates_.Begin(broadcast().step, samples().clients, kHeld);
    updates_.MakeRoom(width_);
    for (std::size_t c = 0; c < clients(); ++c) {
      const double uniform =
          samples().uniforms.empty()
              ? Random(seed_, Purpose::kOwnKernels, samples().clients[c], broadcast().step)
                    .Uniform()
              : samples().uniforms[c];
      DrawPair(broadcast().weights, uniform, MatrixRow(updates_.blocks, c, kHeld));
    }
    kernel_predictions_.resize(clients() * n_);
    EvaluateKernels(algorithm_.packed_,
                    {clients(), samples().x, broadcast().model, updates_.first, updates_.blocks,
                     kernel_predictions_, updates_.values},
                    features_);
    predictions_.resize(clients());
    for (std::size_t c = 0; c < clients(); ++c) {
      predictions_[c] =
          static_cast<double>(kernel_predictions_[c * n_ + updates_.blocks[c * kHeld]]);
    }
  }

  void LearnLabels(std::span<const double> labels) override {
    const std::size_t sent = updates_.blocks.size();
    updates_.losses.resize(sent);
    along_z_.resize(sent);
    along_theta_.resize(sent);
    for (std::size_t at = 0; at < sent; ++at) {
      const std::size_t c = at / kHeld;
      const std::size_t kernel = updates_.blocks[at];
      const double f = static_cast<double>(kernel_predictions_[c * n_ + kernel]);
      const auto theta = MatrixRow(broadcast().model, kernel, width_);
      const double rate = learning_rate_ / HeldProbability(broadcast().weights[kernel], n_);
      updates_.losses[at] = static_cast<float>(algorithm_.loss_.Value(f, labels[c]) +
                                               regularization_ * SumOfSquares(theta));
      along_z_[at] = static_cast<float>(rate * algorithm_.loss_.Slope(f, labels[c]));
      along_theta_[at] = static_cast<float>(rate * 2 * regularization_);
    }
    ScaleAndAddRows(along_z_, {along_theta_, updates_.blocks, broadcast().model}, width_,
                    updates_.values);
  }

  const FomdOms& algorithm_;
  std::size_t n_;      // N
  std::size_t width_;  // F
  std::uint64_t seed_;
  double regularization_;  // lambda
  double learning_rate_;   // eta
  FeatureScratch features_;
  std::vector<float> along_z_;  // factors of the features in the updates, and of theta
  std::vector<float> along_theta_;
};

std::unique_ptr<CohortStep> FomdOms::NewCpuStep() const {
  return std::make_unique<Step>(*this);
}

}  // namespace

std::unique_ptr<Algorithm> NewFomdOms(AlgorithmDefinition definition) {
  return std::make_unique<FomdOms>(std::move(definition));
}

}  // namespace polykern
