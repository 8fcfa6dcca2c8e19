#include "polykern/algorithms/paper/chosen_kernels.h"

#include <algorithm>
#include <utility>

#include "polykern/algorithms/paper/kernel_choice.h"
#include "polykern/core/experts.h"
#include "polykern/core/vector_ops.h"

namespace polykern {
namespace {

class ChosenKernels final : public Algorithm {
 public:
  ChosenKernels(ChosenKernelsRule rule, std::shared_ptr<const KernelBank> bank,
                const AlgorithmOptions& options, const Problem& problem)
      : rule_(std::move(rule)),
        choice_(std::move(bank), options.kernels_per_upload.value_or(1),
                options.exploration.value_or(1), problem.seed),
        kernels_(choice_.kernels()),
        width_(choice_.width()),
        regularization_(options.regularization),
        loss_(options.MakeLoss()),
        shape_(choice_.shape()) {}

  std::string_view name() const override { return rule_.name; }
  const ModelShape& shape() const override { return shape_; }
  const Loss& loss() const override { return loss_; }
  std::size_t experts() const override { return kernels_; }
  double weight_rate() const override {
    const auto& rate = rule_.weight_rate;
    return rate && rate->schedule == Schedule::kConstant ? rate->scale : 0;
  }
  std::size_t state_size() const override { return kernels_ + (rule_.weight_rate ? 0 : 1); }
  std::unique_ptr<Server> NewServer() const override {
    return NewSummingServer(shape_, rule_.server);
  }

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

  // The step numbers are those of docs/algorithm.md.
  void Predict(const Broadcast& broadcast, const Samples& samples, Workspace& w) const override {
    choice_.Run(*this, broadcast, samples, w);  // 6, 2 and 3
    const std::size_t clients = samples.clients.size();
    w.predictions.resize(clients);
    // 4. Combination (9).
    for (std::size_t c = 0; c < clients; ++c) {
      const std::size_t at = c * kernels_;
      w.predictions[c] =
          Dot(std::span(w.weights).subspan(at, kernels_), std::span(w.f).subspan(at, kernels_));
    }
  }

  void Learn(const Broadcast& broadcast, const Samples& samples, std::span<const double> labels,
             Workspace& w) const override {
    MeasureNorms(broadcast, w);
    Updates& u = w.updates;
    w.kernel_losses.resize(samples.clients.size() * kernels_);
    w.slopes.resize(kernels_);
    w.along_z.resize(u.blocks.size());
    w.along_theta.resize(u.blocks.size());
    const double learning_rate = rule_.learning_rate.At(broadcast.step);
    for (std::size_t c = 0; c < samples.clients.size(); ++c) {
      const auto f = std::span(w.f).subspan(c * kernels_, kernels_);
      const auto losses = std::span(w.kernel_losses).subspan(c * kernels_, kernels_);
      loss_.Values(f, labels[c], losses);
      AddLosses(w.norms, losses, std::span(w.weights).subspan(c * kernels_, kernels_),
                samples.state[c]);
      // 7. Local update (11): s_i = (eta / p) (slope z_i + 2 lambda theta_i) for the chosen
      // kernels.
      const auto chosen = u.BlocksOf(c);
      const auto along_z = std::span(w.along_z).subspan(u.first[c], chosen.size());
      const auto along_theta = std::span(w.along_theta).subspan(u.first[c], chosen.size());
      const double rate = learning_rate / u.probability[c];
      for (std::size_t i = 0; i < chosen.size(); ++i) along_z[i] = f[chosen[i]];
      loss_.Slopes(along_z, labels[c], w.slopes);
      for (std::size_t i = 0; i < chosen.size(); ++i) {
        along_z[i] = static_cast<float>(rate * w.slopes[i]);
      }
      std::ranges::fill(along_theta, static_cast<float>(rate * 2 * regularization_));
    }
    ScaleAndAddRows(w.along_z, {w.along_theta, u.blocks, broadcast.model}, width_, u.values);
  }

 private:
  // 5. Weights (12): log w_i = -eta_k L_i, so adding to the cumulative loss is the update.
  void AddLosses(std::span<const double> norms, std::span<double> losses,
                 std::span<const double> weights, double* state) const {
    if (rule_.weight_rate) {
      AddScaledAndSum(norms, regularization_, losses, {state, kernels_});
      return;
    }
    for (std::size_t i = 0; i < kernels_; ++i) losses[i] += regularization_ * norms[i];
    AdaHedge hedge(state[kernels_]);
    hedge.Learn(losses, weights, {state, kernels_});
    state[kernels_] = hedge.mixability_gap();
  }

  void MeasureNorms(const Broadcast& broadcast, Workspace& w) const {
    w.norms.resize(kernels_);
    for (std::size_t i = 0; i < kernels_; ++i) {
      w.norms[i] = SumOfSquares(std::span(broadcast.model).subspan(i * width_, width_));
    }
  }

  ChosenKernelsRule rule_;
  KernelChoice choice_;
  std::size_t kernels_;    // N
  std::size_t width_;      // F
  double regularization_;  // lambda
  Loss loss_;
  ModelShape shape_;
};

}  // namespace

std::unique_ptr<Algorithm> NewChosenKernels(ChosenKernelsRule rule,
                                            std::shared_ptr<const KernelBank> bank,
                                            const AlgorithmOptions& options,
                                            const Problem& problem) {
  return std::make_unique<ChosenKernels>(std::move(rule), std::move(bank), options, problem);
}

}  // namespace polykern
