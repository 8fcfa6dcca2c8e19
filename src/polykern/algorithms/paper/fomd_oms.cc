#include "polykern/algorithms/paper/fomd_oms.h"

#include <algorithm>
#include <cassert>
#include <cmath>

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
  FomdOms(std::shared_ptr<const KernelBank> bank, const AlgorithmOptions& options,
          const Problem& problem)
      : bank_(std::move(bank)),
        kernels_(bank_->kernels()),
        width_(bank_->feature_size()),
        regularization_(options.regularization),
        radius_(options.projection_radius),
        loss_(options.MakeLoss()),
        seed_(problem.seed),
        shape_{kernels_, width_, kHeld, kHeld, true},
        learning_rate_(ResolveRate(options.learning_rate, problem)),
        weight_rate_(ResolveRate(options.weight_rate, problem)) {
    assert(kernels_ >= kHeld);
  }

  std::string_view name() const override { return "fomd-oms"; }
  const ModelShape& shape() const override { return shape_; }
  const Loss& loss() const override { return loss_; }
  std::size_t experts() const override { return 0; }  // a client sees two kernels' losses only
  double weight_rate() const override { return 0; }
  std::size_t state_size() const override { return 0; }

  std::unique_ptr<Server> NewServer() const override {
    ServerRule rule;
    rule.weights = kernels_;
    rule.weight_rate = weight_rate_;
    rule.apply = [rate = weight_rate_, radius = radius_, width = width_](const StepSums& sums,
                                                                         ServerState& state) {
      std::vector<double> p(state.losses.size());
      HedgeWeights(state.losses, rate, p);
      SubtractMean(sums, state);
      for (std::size_t i = 0; i < p.size(); ++i) {
        Project(std::span(state.model).subspan(i * width, width), radius);
        state.losses[i] += sums.losses[i] / (sums.participants * HeldProbability(p[i], p.size()));
      }
    };
    return NewSummingServer(shape_, std::move(rule));
  }

  void Predict(const Broadcast& broadcast, const Samples& samples, Workspace& w) const override {
    const std::size_t clients = samples.clients.size();
    w.predictions.resize(clients);
    w.f.resize(clients * kernels_);
    Updates& u = w.updates;
    u.Begin(broadcast.step, samples.clients, kHeld, width_);
    for (std::size_t c = 0; c < clients; ++c) {
      const double uniform =
          samples.uniforms.empty()
              ? Random(seed_, Purpose::kOwnKernels, samples.clients[c], broadcast.step).Uniform()
              : samples.uniforms[c];
      DrawPair(broadcast.weights, uniform, std::span(u.blocks).subspan(c * kHeld, kHeld));
    }
    EvaluateKernels(*bank_, {clients, samples.x, broadcast.model, u.first, u.blocks, w.f, u.values},
                    w.features);
    for (std::size_t c = 0; c < clients; ++c) {
      w.predictions[c] = static_cast<double>(w.f[c * kernels_ + u.blocks[c * kHeld]]);
    }
  }

  void Learn(const Broadcast& broadcast, const Samples&, std::span<const double> labels,
             Workspace& w) const override {
    Updates& u = w.updates;
    w.kernel_losses.clear();
    u.losses.resize(u.blocks.size());
    w.along_z.resize(u.blocks.size());
    w.along_theta.resize(u.blocks.size());
    for (std::size_t at = 0; at < u.blocks.size(); ++at) {
      const std::size_t c = at / kHeld;
      const std::size_t kernel = u.blocks[at];
      const double f = static_cast<double>(w.f[c * kernels_ + kernel]);
      const auto theta = std::span(broadcast.model).subspan(kernel * width_, width_);
      const double rate = learning_rate_ / HeldProbability(broadcast.weights[kernel], kernels_);
      u.losses[at] =
          static_cast<float>(loss_.Value(f, labels[c]) + regularization_ * SumOfSquares(theta));
      w.along_z[at] = static_cast<float>(rate * loss_.Slope(f, labels[c]));
      w.along_theta[at] = static_cast<float>(rate * 2 * regularization_);
    }
    ScaleAndAddRows(w.along_z, {w.along_theta, u.blocks, broadcast.model}, width_, u.values);
  }

 private:
  std::shared_ptr<const KernelBank> bank_;
  std::size_t kernels_;    // N
  std::size_t width_;      // F
  double regularization_;  // lambda
  double radius_;          // U
  Loss loss_;
  std::uint64_t seed_;
  ModelShape shape_;
  double learning_rate_;  // eta
  double weight_rate_;    // eta_w
};

}  // namespace

std::unique_ptr<Algorithm> NewFomdOms(std::shared_ptr<const KernelBank> bank,
                                      const AlgorithmOptions& options, const Problem& problem) {
  return std::make_unique<FomdOms>(std::move(bank), options, problem);
}

}  // namespace polykern
