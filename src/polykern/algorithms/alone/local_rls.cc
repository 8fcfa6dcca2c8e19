#include <cassert>

#include "polykern/algorithms/shared/local_experts.h"
#include "polykern/algorithms/shared/summing_server.h"
#include "polykern/algorithms/successors/pof_newton.h"
#include "polykern/core/experts.h"

namespace polykern {
namespace {

constexpr double kMiddleLabel = 0.5;  // of the labels' range

class LocalRls final : public Algorithm {
 public:
  LocalRls(std::shared_ptr<const KernelBank> bank, const AlgorithmOptions& options)
      : local_(std::move(bank), options.ridge, options.forgetting, false),
        kernels_(local_.experts()),
        mixture_(kernels_, options.weighting, options.weight_rate.value_or(kUnitRate)) {}

  std::string_view name() const override { return "local-rls"; }
  const ModelShape& shape() const override { return shape_; }
  const Loss& loss() const override { return loss_; }
  std::size_t experts() const override { return kernels_; }
  double weight_rate() const override { return 0; }
  std::size_t state_size() const override { return mixture_.StateSize() + local_.StateSize(); }
  std::size_t lasting_state() const override { return mixture_.StateSize(); }
  std::unique_ptr<Server> NewServer() const override { return NewSummingServer(shape_); }

  bool Weights(std::span<const double> state, std::uint64_t,
               std::span<double> weights) const override {
    mixture_.Weights(state.first(mixture_.StateSize()), weights);
    return true;
  }

  void Predict(const Broadcast&, const Samples& samples, Workspace& w) const override {
    const std::size_t clients = samples.clients.size();
    local_.EvaluateFeatures(samples, w);
    w.predictions.resize(clients);
    w.weights.resize(clients * kernels_);
    for (std::size_t c = 0; c < clients; ++c) {
      const auto f = std::span(w.f).subspan(c * kernels_, kernels_);
      const auto weights = std::span(w.weights).subspan(c * kernels_, kernels_);
      local_.Predict(c, kMiddleLabel, LocalState(samples, c), w, f);
      mixture_.Weights(MixtureState(samples, c), weights);
      w.predictions[c] = mixture_.Predict(weights, f);
    }
  }

  void Learn(const Broadcast& broadcast, const Samples& samples, std::span<const double> labels,
             Workspace& w) const override {
    w.updates.Begin(broadcast.step, samples.clients, 0, 0);
    w.kernel_losses.resize(samples.clients.size() * kernels_);
    for (std::size_t c = 0; c < samples.clients.size(); ++c) {
      const auto losses = std::span(w.kernel_losses).subspan(c * kernels_, kernels_);
      loss_.Values(std::span(w.f).subspan(c * kernels_, kernels_), labels[c], losses);
      mixture_.Learn(losses, std::span(w.weights).subspan(c * kernels_, kernels_),
                     MixtureState(samples, c));
      local_.Learn(c, kMiddleLabel, labels[c], LocalState(samples, c), w);
    }
  }

 private:
  std::span<double> MixtureState(const Samples& samples, std::size_t c) const {
    return {samples.state[c], mixture_.StateSize()};
  }
  std::span<double> LocalState(const Samples& samples, std::size_t c) const {
    return {samples.state[c] + mixture_.StateSize(), local_.StateSize()};
  }

  LocalExperts local_;
  std::size_t kernels_;  // N
  Mixture mixture_;
  Loss loss_;         // squared
  ModelShape shape_;  // no model at all
};

}  // namespace

std::unique_ptr<Algorithm> NewLocalRls(std::shared_ptr<const KernelBank> bank,
                                       const AlgorithmOptions& options, const Problem&) {
  assert(options.loss == LossKind::kSquared);
  return std::make_unique<LocalRls>(std::move(bank), options);
}

void ScaleLabels(const std::shared_ptr<const KernelBank>& bank, double factor,
                 std::span<double> state) {
  const LocalExperts local(bank, 1, 1, false);
  const std::size_t mixture = state.size() - local.StateSize();
  Mixture::ScaleLabels(factor, state.first(mixture));
  local.ScaleLabels(factor, state.subspan(mixture));
}

}  // namespace polykern
