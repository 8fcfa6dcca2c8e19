#include "polykern/algorithms/paper/every_kernel.h"

#include "polykern/algorithms/shared/summing_server.h"
#include "polykern/core/random_features.h"
#include "polykern/core/vector_ops.h"

namespace polykern {
namespace {

class EveryKernel final : public Algorithm {
 public:
  EveryKernel(std::string_view name, Mix mix, std::shared_ptr<const KernelBank> bank,
              const AlgorithmOptions& options, const Problem& problem)
      : name_(name),
        mix_(mix),
        bank_(std::move(bank)),
        kernels_(bank_->kernels()),
        width_(bank_->feature_size()),
        regularization_(options.regularization),
        loss_(options.MakeLoss()),
        shape_{kernels_, width_, kernels_, mix == Mix::kServer ? kernels_ : 0, mix == Mix::kServer},
        learning_rate_(ResolveRate(options.learning_rate, problem)),
        weight_rate_(mix == Mix::kServer ? ResolveRate(options.weight_rate, problem) : 0),
        equal_(kernels_, 1 / static_cast<double>(kernels_)) {}

  std::string_view name() const override { return name_; }
  const ModelShape& shape() const override { return shape_; }
  const Loss& loss() const override { return loss_; }
  std::size_t experts() const override { return kernels_; }
  double weight_rate() const override { return 0; }  // the weights are no client's own
  std::size_t state_size() const override { return 0; }

  std::unique_ptr<Server> NewServer() const override {
    if (mix_ == Mix::kEqual) return NewSummingServer(shape_);
    ServerRule rule;
    rule.weights = kernels_;
    rule.weight_rate = weight_rate_;
    rule.apply = [](const StepSums& sums, ServerState& state) {
      SubtractMean(sums, state);
      for (std::size_t i = 0; i < state.losses.size(); ++i) {
        state.losses[i] += sums.losses[i] / sums.participants;
      }
    };
    return NewSummingServer(shape_, std::move(rule));
  }

  void Predict(const Broadcast& broadcast, const Samples& samples, Workspace& w) const override {
    const std::size_t clients = samples.clients.size();
    w.predictions.resize(clients);
    w.f.resize(clients * kernels_);
    Updates& u = w.updates;
    u.Begin(broadcast.step, samples.clients, kernels_, width_);
    for (std::size_t at = 0; at < u.blocks.size(); ++at) {
      u.blocks[at] = static_cast<std::uint32_t>(at % kernels_);
    }
    EvaluateKernels(*bank_, {clients, samples.x, broadcast.model, u.first, u.blocks, w.f, u.values},
                    w.features);
    const std::span<const double> weights = mix_ == Mix::kEqual ? equal_ : broadcast.weights;
    for (std::size_t c = 0; c < clients; ++c) {
      w.predictions[c] = Dot(weights, std::span(w.f).subspan(c * kernels_, kernels_));
    }
  }

  void Learn(const Broadcast& broadcast, const Samples& samples, std::span<const double> labels,
             Workspace& w) const override {
    const std::size_t clients = samples.clients.size();
    w.norms.resize(kernels_);
    for (std::size_t i = 0; i < kernels_; ++i) {
      w.norms[i] = SumOfSquares(std::span(broadcast.model).subspan(i * width_, width_));
    }
    w.kernel_losses.resize(clients * kernels_);
    w.slopes.resize(kernels_);
    w.along_z.resize(clients * kernels_);
    w.along_theta.assign(clients * kernels_,
                         static_cast<float>(learning_rate_ * 2 * regularization_));
    for (std::size_t c = 0; c < clients; ++c) {
      const auto f = std::span(w.f).subspan(c * kernels_, kernels_);
      const auto losses = std::span(w.kernel_losses).subspan(c * kernels_, kernels_);
      loss_.Values(f, labels[c], losses);
      loss_.Slopes(f, labels[c], w.slopes);
      for (std::size_t i = 0; i < kernels_; ++i) {
        losses[i] += regularization_ * w.norms[i];
        w.along_z[c * kernels_ + i] = static_cast<float>(learning_rate_ * w.slopes[i]);
      }
    }
    if (shape_.losses_per_update > 0) {
      w.updates.losses.assign(w.kernel_losses.begin(), w.kernel_losses.end());
    }
    ScaleAndAddRows(w.along_z, {w.along_theta, w.updates.blocks, broadcast.model}, width_,
                    w.updates.values);
  }

 private:
  std::string_view name_;
  Mix mix_;
  std::shared_ptr<const KernelBank> bank_;
  std::size_t kernels_;    // N
  std::size_t width_;      // F
  double regularization_;  // lambda
  Loss loss_;
  ModelShape shape_;
  double learning_rate_;  // eta
  double weight_rate_;    // eta of the server's weights
  std::vector<double> equal_;
};

}  // namespace

std::unique_ptr<Algorithm> NewEveryKernel(std::string_view name, Mix mix,
                                          std::shared_ptr<const KernelBank> bank,
                                          const AlgorithmOptions& options, const Problem& problem) {
  return std::make_unique<EveryKernel>(name, mix, std::move(bank), options, problem);
}

}  // namespace polykern
