#include "polykern/algorithms/successors/pof_newton.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <optional>

#include "polykern/algorithms/paper/kernel_choice.h"
#include "polykern/algorithms/shared/local_experts.h"
#include "polykern/algorithms/successors/newton_server.h"
#include "polykern/core/experts.h"

namespace polykern {
namespace {

constexpr double kMiddle = 0.5;          // of the labels' range: predicted before anything is known
constexpr double kNormTolerance = 0.01;  // of messages, whose numbers are rounded to float

/// Of messages whose lengths tell labels of [0, 1].
ModelShape WithLengths(ModelShape shape) {
  shape.least_norm = LengthOf(-kMiddle) - kNormTolerance;
  shape.most_norm = LengthOf(1 - kMiddle) + kNormTolerance;
  return shape;
}

class PofNewton final : public Algorithm {
 public:
  PofNewton(std::shared_ptr<const KernelBank> bank, std::shared_ptr<const KernelBank> local,
            const AlgorithmOptions& options, const Problem& problem)
      : choice_(std::move(bank), KernelsPerUpload(options),
                options.exploration.value_or(kNewtonExploration), problem.seed),
        kernels_(choice_.kernels()),
        width_(choice_.width()),
        shape_(WithLengths(choice_.shape())),
        rule_{options.ridge, options.forgetting, options.refresh},
        mixture_(kernels_, options.weighting, options.weight_rate.value_or(kUnitRate)),
        outer_(local ? local->kernels() + 1 : 1, options.weighting,
               options.weight_rate.value_or(kUnitRate)) {
    if (local) local_.emplace(std::move(local), options.ridge, options.forgetting, true);
  }

  std::string_view name() const override { return "pof-newton"; }
  const ModelShape& shape() const override { return shape_; }
  const Loss& loss() const override { return loss_; }
  std::size_t experts() const override { return kernels_; }
  double weight_rate() const override { return 0; }
  std::size_t state_size() const override {
    return lasting_state() + (local_ ? local_->StateSize() : 0);
  }
  std::size_t lasting_state() const override {
    return mixture_.StateSize() + (local_ ? outer_.StateSize() : 0);
  }
  std::unique_ptr<Server> NewServer() const override { return NewNewtonServer(shape_, rule_); }

  bool Weights(std::span<const double> state, std::uint64_t,
               std::span<double> weights) const override {
    mixture_.Weights(state.first(mixture_.StateSize()), weights);
    return true;
  }

  // The step numbers are those of docs/algorithm.md.
  void Predict(const Broadcast& broadcast, const Samples& samples, Workspace& w) const override {
    const std::size_t clients = samples.clients.size();
    if (local_) local_->EvaluateFeatures(samples, w);
    choice_.Run(*this, broadcast, samples, w);  // 6, 2 and 3
    // From the middle of the labels' range, and within it.
    for (float& f : w.f) f = std::clamp(f + static_cast<float>(kMiddle), 0.0F, 1.0F);
    // 4. Combination: of the kernels, and then with what private experts add to it.
    w.predictions.resize(clients);
    w.base.resize(clients);
    w.local_f.resize(clients * outer_.experts());
    w.local_weights.resize(clients * outer_.experts());
    for (std::size_t c = 0; c < clients; ++c) {
      w.base[c] = mixture_.Predict(std::span(w.weights).subspan(c * kernels_, kernels_),
                                   std::span(w.f).subspan(c * kernels_, kernels_));
      w.predictions[c] = local_ ? PredictLocally(samples, c, w) : w.base[c];
    }
  }

  void Learn(const Broadcast&, const Samples& samples, std::span<const double> labels,
             Workspace& w) const override {
    Updates& u = w.updates;
    w.kernel_losses.resize(samples.clients.size() * kernels_);
    for (std::size_t c = 0; c < samples.clients.size(); ++c) {
      // 5. Weights.
      const auto losses = std::span(w.kernel_losses).subspan(c * kernels_, kernels_);
      loss_.Values(std::span(w.f).subspan(c * kernels_, kernels_), labels[c], losses);
      mixture_.Learn(losses, std::span(w.weights).subspan(c * kernels_, kernels_),
                     MixtureState(samples, c));
      if (local_) LearnLocally(samples, c, labels[c], w);
      // 7. Local update: the features, as long as the label says.
      const auto length = static_cast<float>(LengthOf(std::clamp(labels[c], 0.0, 1.0) - kMiddle));
      const auto sent =
          std::span(u.values).subspan(u.first[c] * width_, (u.first[c + 1] - u.first[c]) * width_);
      for (float& value : sent) value *= length;
    }
  }

 private:
  std::span<double> MixtureState(const Samples& samples, std::size_t c) const {
    return {samples.state[c], mixture_.StateSize()};
  }
  std::span<double> OuterState(const Samples& samples, std::size_t c) const {
    return {samples.state[c] + mixture_.StateSize(), outer_.StateSize()};
  }
  std::span<double> LocalState(const Samples& samples, std::size_t c) const {
    return {samples.state[c] + lasting_state(), local_->StateSize()};
  }

  double PredictLocally(const Samples& samples, std::size_t c, Workspace& w) const {
    const auto f = std::span(w.local_f).subspan(c * outer_.experts(), outer_.experts());
    const auto weights = std::span(w.local_weights).subspan(c * outer_.experts(), outer_.experts());
    f[0] = static_cast<float>(w.base[c]);
    local_->Predict(c, w.base[c], LocalState(samples, c), w, f.subspan(1));
    outer_.Weights(OuterState(samples, c), weights);
    return outer_.Predict(weights, f);
  }

  void LearnLocally(const Samples& samples, std::size_t c, double label, Workspace& w) const {
    const auto f = std::span(w.local_f).subspan(c * outer_.experts(), outer_.experts());
    w.numbers.resize(outer_.experts());
    loss_.Values(f, label, w.numbers);
    outer_.Learn(w.numbers,
                 std::span(w.local_weights).subspan(c * outer_.experts(), outer_.experts()),
                 OuterState(samples, c));
    local_->Learn(c, w.base[c], label, LocalState(samples, c), w);
  }

  KernelChoice choice_;
  std::size_t kernels_;  // N
  std::size_t width_;    // F
  Loss loss_;            // squared
  ModelShape shape_;
  NewtonRule rule_;
  Mixture mixture_;  // of the federated kernels
  Mixture outer_;    // of their mixture and the local experts
  std::optional<LocalExperts> local_;
};

}  // namespace

std::unique_ptr<Algorithm> NewPofNewton(std::shared_ptr<const KernelBank> bank,
                                        std::shared_ptr<const KernelBank> local,
                                        const AlgorithmOptions& options, const Problem& problem) {
  assert(options.loss == LossKind::kSquared);
  return std::make_unique<PofNewton>(std::move(bank), std::move(local), options, problem);
}

}  // namespace polykern
