#include "polykern/algorithms/paper/em_kofl.h"

#include <algorithm>

#include "polykern/algorithms/shared/private_kernels.h"
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
  EmKofl(std::shared_ptr<const KernelBank> bank, const AlgorithmOptions& options,
         const Problem& problem)
      : private_(std::move(bank), options.MakeLoss(), options.regularization),
        kernels_(private_.kernels()),
        width_(private_.width()),
        loss_(options.MakeLoss()),
        seed_(problem.seed),
        shape_{1, width_, 1, kernels_},
        learning_rate_(ResolveRate(options.learning_rate, problem)),
        weight_rate_(ResolveRate(options.weight_rate, problem)),
        keep_(1 - 2 * options.regularization) {}

  std::string_view name() const override { return "em-kofl"; }
  const ModelShape& shape() const override { return shape_; }
  const Loss& loss() const override { return loss_; }
  std::size_t experts() const override { return kernels_; }
  double weight_rate() const override { return 0; }  // the weights are no client's own
  std::size_t state_size() const override { return kHead + private_.theta_size(); }
  std::size_t lasting_state() const override { return 0; }

  std::unique_ptr<Server> NewServer() const override {
    ServerRule rule;
    rule.weights = kernels_;
    rule.weight_rate = weight_rate_;
    rule.apply = [](const StepSums& sums, ServerState& state) {
      for (std::size_t j = 0; j < state.model.size(); ++j) {
        state.model[j] = sums.values[j] / sums.participants;
      }
      for (std::size_t i = 0; i < state.losses.size(); ++i) state.losses[i] += sums.losses[i];
    };
    return NewSummingServer(shape_, std::move(rule));
  }

  void Predict(const Broadcast& broadcast, const Samples& samples, Workspace& w) const override {
    const std::size_t clients = samples.clients.size();
    const std::size_t drawn = Drawn(broadcast);
    w.predictions.resize(clients);
    w.numbers.assign(broadcast.model.begin(), broadcast.model.end());
    private_.EvaluateFeatures(samples, w);
    for (std::size_t c = 0; c < clients; ++c) {
      private_.PredictKernels(c, Theta(samples, c), w);
      if (TakesAverage(broadcast, samples.state[c])) {  // Learn will put it into the state
        const auto kernel = static_cast<std::size_t>(samples.state[c][kLastKernel]);
        w.f[c * kernels_ + kernel] =
            static_cast<float>(Dot(w.numbers, private_.Features(c, kernel, w)));
      }
      w.predictions[c] = static_cast<double>(w.f[c * kernels_ + drawn]);
    }
  }

  void Learn(const Broadcast& broadcast, const Samples& samples, std::span<const double> labels,
             Workspace& w) const override {
    const std::size_t drawn = Drawn(broadcast);
    // The block is the one average; everybody knows which kernel it is of.
    w.updates.Begin(broadcast.step, samples.clients, 1, width_);
    for (std::size_t c = 0; c < samples.clients.size(); ++c) {
      double* state = samples.state[c];
      const std::span<double> theta = Theta(samples, c);
      if (TakesAverage(broadcast, state)) {
        const auto kernel = static_cast<std::size_t>(state[kLastKernel]);
        std::ranges::copy(broadcast.model, theta.subspan(kernel * width_, width_).begin());
      }
      private_.Step(c, labels[c], keep_, learning_rate_, theta, w);
      state[kLastStep] = static_cast<double>(broadcast.step + 1);
      state[kLastKernel] = static_cast<double>(drawn);
      RoundToFloat(theta.subspan(drawn * width_, width_),
                   std::span(w.updates.values).subspan(c * width_, width_));
    }
    w.updates.losses.assign(w.kernel_losses.begin(), w.kernel_losses.end());
  }

 private:
  std::size_t Drawn(const Broadcast& broadcast) const {
    return DrawIndex(broadcast.weights,
                     Random(seed_, Purpose::kSharedKernel, 0, broadcast.step).Uniform());
  }
  static bool TakesAverage(const Broadcast& broadcast, const double* state) {
    return broadcast.step > 0 && state[kLastStep] == static_cast<double>(broadcast.step);
  }
  std::span<double> Theta(const Samples& samples, std::size_t c) const {
    return {samples.state[c] + kHead, private_.theta_size()};
  }

  PrivateKernels private_;
  std::size_t kernels_;  // N
  std::size_t width_;    // F
  Loss loss_;
  std::uint64_t seed_;
  ModelShape shape_;
  double learning_rate_;  // eta of the steps
  double weight_rate_;    // eta of p
  double keep_;           // what a step leaves of theta
};

}  // namespace

std::unique_ptr<Algorithm> NewEmKofl(std::shared_ptr<const KernelBank> bank,
                                     const AlgorithmOptions& options, const Problem& problem) {
  return std::make_unique<EmKofl>(std::move(bank), options, problem);
}

}  // namespace polykern
