#include "polykern/algorithms/alone/local.h"

#include "polykern/algorithms/shared/private_kernels.h"
#include "polykern/algorithms/shared/summing_server.h"
#include "polykern/core/experts.h"
#include "polykern/core/vector_ops.h"

namespace polykern {
namespace {

class Local final : public Algorithm {
 public:
  Local(std::shared_ptr<const KernelBank> bank, const AlgorithmOptions& options,
        const Problem& problem)
      : private_(std::move(bank), options.MakeLoss(), options.regularization),
        kernels_(private_.kernels()),
        loss_(options.MakeLoss()),
        learning_rate_(ResolveRate(options.learning_rate, problem)),
        weight_rate_(ResolveRate(options.weight_rate, problem)),
        keep_(1 - 2 * learning_rate_ * options.regularization) {}

  std::string_view name() const override { return "local"; }
  const ModelShape& shape() const override { return shape_; }
  const Loss& loss() const override { return loss_; }
  std::size_t experts() const override { return kernels_; }
  double weight_rate() const override { return weight_rate_; }
  std::size_t state_size() const override { return kernels_ + private_.theta_size(); }
  std::size_t lasting_state() const override { return kernels_; }
  std::unique_ptr<Server> NewServer() const override { return NewSummingServer(shape_); }

  bool Weights(std::span<const double> state, std::uint64_t,
               std::span<double> weights) const override {
    HedgeWeights(state.first(kernels_), weight_rate_, weights);
    return true;
  }

  void Predict(const Broadcast&, const Samples& samples, Workspace& w) const override {
    const std::size_t clients = samples.clients.size();
    w.predictions.resize(clients);
    w.weights.resize(kernels_);
    private_.EvaluateFeatures(samples, w);
    for (std::size_t c = 0; c < clients; ++c) {
      private_.PredictKernels(c, Theta(samples, c), w);
      HedgeWeights({samples.state[c], kernels_}, weight_rate_, w.weights);
      w.predictions[c] = Dot(w.weights, std::span(w.f).subspan(c * kernels_, kernels_));  // (9)
    }
  }

  void Learn(const Broadcast& broadcast, const Samples& samples, std::span<const double> labels,
             Workspace& w) const override {
    w.updates.Begin(broadcast.step, samples.clients, 0, 0);
    for (std::size_t c = 0; c < samples.clients.size(); ++c) {
      private_.Step(c, labels[c], keep_, learning_rate_, Theta(samples, c), w);
      for (std::size_t i = 0; i < kernels_; ++i) {  // (12)
        samples.state[c][i] += w.kernel_losses[c * kernels_ + i];
      }
    }
  }

 private:
  std::span<double> Theta(const Samples& samples, std::size_t c) const {
    return {samples.state[c] + kernels_, private_.theta_size()};
  }

  PrivateKernels private_;
  std::size_t kernels_;  // N
  Loss loss_;
  double learning_rate_;  // eta
  double weight_rate_;    // eta_k
  double keep_;           // what a step leaves of theta
  ModelShape shape_;      // no model at all
};

}  // namespace

std::unique_ptr<Algorithm> NewLocal(std::shared_ptr<const KernelBank> bank,
                                    const AlgorithmOptions& options, const Problem& problem) {
  return std::make_unique<Local>(std::move(bank), options, problem);
}

}  // namespace polykern
