#include "polykern/algorithms/paper/pof_mkl.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/shared/gradient_bounds.h"
#include "polykern/algorithms/shared/kernel_draw.h"
#include "polykern/core/experts.h"
#include "polykern/core/random_features.h"
#include "polykern/core/vector_ops.h"

namespace polykern {
namespace {

class PofMkl final : public Algorithm {
 public:
  PofMkl(AlgorithmDefinition made_from, PofMklRule rule)
      : Algorithm(std::move(made_from)),
        rule_(std::move(rule)),
        packed_(*definition().bank),
        draw_(definition().options.kernels_per_upload.value_or(1),
              definition().options.exploration.value_or(1), definition().problem.seed),
        kernels_(packed_.kernels()),
        width_(packed_.feature_size()),
        regularization_(definition().options.regularization),
        loss_(definition().options.MakeLoss()),
        shape_{kernels_, width_, draw_.per_upload()},
        bounds_(definition()) {}

  std::string_view name() const override { return rule_.name; }
  const ModelShape& shape() const override { return shape_; }
  const Loss& loss() const override { return loss_; }
  std::size_t experts() const override { return kernels_; }
  double weight_rate() const override {
    const auto& rate = rule_.weight_rate;
    return rate && rate->schedule == Schedule::kConstant ? rate->scale : 0;
  }
  std::size_t state_size() const override { return kernels_ + (rule_.weight_rate ? 0 : 1); }

  /// w_ik: (12) says log w_ik = -eta_k L_i, of the cumulative losses L_i.
  bool Weights(std::span<const double> state, std::uint64_t step,
               std::span<double> weights) const override {
    const auto losses = state.first(kernels_);
    if (rule_.weight_rate) {
      HedgeWeights(losses, rule_.weight_rate->At(step), weights);
    } else {
      AdaHedge(state[kernels_]).Weights(losses, weights);
    }
    return true;
  }

  /// No bin is drawn with a smaller probability than xi / m (10).
  void CheckContents(const Updates& updates, const Broadcast& broadcast) const override {
    const double rate = rule_.learning_rate.At(broadcast.step) / draw_.LeastProbability(kernels_);
    bounds_.CheckSteps(shape_, updates, broadcast, [rate](std::uint32_t) { return rate; });
  }
  std::string TroubleOf(const Broadcast& broadcast) const override {
    return bounds_.TroubleOf(shape_, broadcast);
  }

  std::unique_ptr<Server> NewServer() const override {  // (13)
    return NewSummingServer(shape_, rule_.server);
  }
  std::unique_ptr<CohortStep> NewCpuStep() const override;

 private:
  class Step;

  PofMklRule rule_;
  PackedKernels packed_;
  KernelDraw draw_;
  std::size_t kernels_;    // N
  std::size_t width_;      // F
  double regularization_;  // lambda
  Loss loss_;
  ModelShape shape_;
  GradientBounds bounds_;
};

/// What the clients of a cohort do in one step of Algorithm 2. The step numbers are those of
/// docs/understand/algorithm.md, the equations' those of the paper.
class PofMkl::Step final : public CohortStep {
 public:
  explicit Step(const PofMkl& algorithm)
      : algorithm_(algorithm), n_(algorithm.kernels_), width_(algorithm.width_) {}

 private:
  /// 1. theta_i is in the broadcast.
  void PredictCohort() override {
    weights_.resize(clients() * n_);
    updates_.Begin(broadcast().step, samples().clients, algorithm_.draw_.per_upload());
    for (std::size_t c = 0; c < clients(); ++c) {
      const auto w = MatrixRow(weights_, c, n_);
      algorithm_.Weights({samples().state[c], algorithm_.state_size()}, broadcast().step, w);
      // 6. Subset choice: Algorithm 1, with the probabilities (10). It depends only on the weights
      // before 5, so drawing early changes nothing and lets 2 keep the features of the chosen
      // kernels alone.
      algorithm_.draw_.Draw(samples(), c, w, order_, updates_);
    }
    updates_.MakeRoom(width_);
    // 2. Features z_i(x) (6), kept where they are chosen, and 3. f_i = theta_i . z_i(x).
    kernel_predictions_.resize(clients() * n_);
    EvaluateKernels(algorithm_.packed_,
                    {clients(), samples().x, broadcast().model, updates_.first, updates_.blocks,
                     kernel_predictions_, updates_.values},
                    features_);
    // 4. Combination (9): y_hat = sum_i w_ik f_i.
    predictions_.resize(clients());
    for (std::size_t c = 0; c < clients(); ++c) {
      predictions_[c] = Dot(MatrixRow(weights_, c, n_), MatrixRow(kernel_predictions_, c, n_));
    }
  }

  void LearnLabels(std::span<const double> labels) override {
    norms_.resize(n_);
    for (std::size_t i = 0; i < n_; ++i)
      norms_[i] = SumOfSquares(MatrixRow(broadcast().model, i, width_));
    kernel_losses_.resize(clients() * n_);
    slopes_.resize(n_);
    along_z_.resize(updates_.blocks.size());
    along_theta_.resize(updates_.blocks.size());
    const double eta = algorithm_.rule_.learning_rate.At(broadcast().step);
    for (std::size_t c = 0; c < clients(); ++c) {
      // 5. The label arrives: L_i = loss(f_i, y) + lambda ||theta_i||^2, and the weights (12).
      const auto f = MatrixRow(kernel_predictions_, c, n_);
      const auto losses = MatrixRow(kernel_losses_, c, n_);
      algorithm_.loss_.Values(f, labels[c], losses);
      AddLosses(losses, MatrixRow(weights_, c, n_), samples().state[c]);
      // 7. Local update (11): s_i = (eta / p) (slope z_i + 2 lambda theta_i) of the chosen kernels,
      // here the two factors.
      const auto chosen = updates_.BlocksOf(c);
      const auto along_z = std::span(along_z_).subspan(updates_.first[c], chosen.size());
      const auto along_theta = std::span(along_theta_).subspan(updates_.first[c], chosen.size());
      const double rate = eta / updates_.probability[c];
      for (std::size_t i = 0; i < chosen.size(); ++i) along_z[i] = f[chosen[i]];
      algorithm_.loss_.Slopes(along_z, labels[c], slopes_);
      for (std::size_t i = 0; i < chosen.size(); ++i) {
        along_z[i] = static_cast<float>(rate * slopes_[i]);
      }
      std::ranges::fill(along_theta, static_cast<float>(rate * 2 * algorithm_.regularization_));
    }
    ScaleAndAddRows(along_z_, {along_theta_, updates_.blocks, broadcast().model}, width_,
                    updates_.values);
  }

  /// (12): log w_ik = -eta_k L_i, so adding to the cumulative loss is the update. `losses` become
  /// L_i of this step.
  void AddLosses(std::span<double> losses, std::span<const double> weights, double* state) const {
    if (algorithm_.rule_.weight_rate) {
      AddScaledAndSum(norms_, algorithm_.regularization_, losses, {state, n_});
      return;
    }
    for (std::size_t i = 0; i < n_; ++i) losses[i] += algorithm_.regularization_ * norms_[i];
    AdaHedge hedge(state[n_]);
    hedge.Learn(losses, weights, {state, n_});
    state[n_] = hedge.mixability_gap();
  }

  const PofMkl& algorithm_;
  std::size_t n_;      // N
  std::size_t width_;  // F
  FeatureScratch features_;
  std::vector<double> weights_;  // clients x N
  std::vector<double> norms_;    // ||theta_i||^2
  std::vector<double> slopes_;
  std::vector<std::uint32_t> order_;
  std::vector<float> along_z_;  // factors of the features in the updates, and of theta
  std::vector<float> along_theta_;
};

std::unique_ptr<CohortStep> PofMkl::NewCpuStep() const {
  return std::make_unique<Step>(*this);
}

}  // namespace

std::unique_ptr<Algorithm> NewPofMkl(AlgorithmDefinition definition) {
  const AlgorithmOptions& options = definition.options;
  const auto rate = [&](const std::optional<double>& given) {
    return options.schedule == Schedule::kAnytime
               ? Rate{given.value_or(1), Schedule::kAnytime}
               : Rate{ResolveRate(given, definition.problem), Schedule::kConstant};
  };
  PofMklRule rule{"pof-mkl", rate(options.learning_rate), rate(options.weight_rate), {}};
  return NewPofMkl(std::move(definition), std::move(rule));
}

std::unique_ptr<Algorithm> NewPofMkl(AlgorithmDefinition definition, PofMklRule rule) {
  return std::make_unique<PofMkl>(std::move(definition), std::move(rule));
}

}  // namespace polykern
