#include "polykern/algorithms/pof_newton.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <optional>

#include "polykern/algorithms/local_experts.h"
#include "polykern/algorithms/newton_server.h"
#include "polykern/core/experts.h"
#include "polykern/core/random.h"
#include "polykern/core/random_features.h"
#include "polykern/core/subset.h"

namespace polykern {
namespace {

constexpr double kMiddle = 0.5;          // of the labels' range: predicted before anything is known
constexpr double kNormTolerance = 0.01;  // of messages, whose numbers are rounded to float

ModelShape ShapeOf(const KernelBank& bank, std::size_t per_upload) {
  ModelShape shape{bank.kernels(), bank.feature_size(), per_upload};
  shape.least_norm = LengthOf(-kMiddle) - kNormTolerance;
  shape.most_norm = LengthOf(1 - kMiddle) + kNormTolerance;
  return shape;
}

class PofNewton final : public Algorithm {
 public:
  PofNewton(std::shared_ptr<const KernelBank> bank, std::shared_ptr<const KernelBank> local,
            const AlgorithmOptions& options, const Problem& problem)
      : bank_(std::move(bank)),
        kernels_(bank_->kernels()),
        width_(bank_->feature_size()),
        per_upload_(KernelsPerUpload(options)),
        exploration_(options.exploration.value_or(kNewtonExploration)),
        seed_(problem.seed),
        shape_(ShapeOf(*bank_, per_upload_)),
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

  // The step numbers are those of docs/algorithm.md; step 6 stands first, as in POF-MKL.
  void Predict(const Broadcast& broadcast, const Samples& samples, Workspace& w) const override {
    const std::size_t clients = samples.clients.size();
    if (local_) local_->EvaluateFeatures(samples, w);
    w.predictions.resize(clients);
    w.base.resize(clients);
    w.weights.resize(clients * kernels_);
    w.f.resize(clients * kernels_);
    w.order.resize(kernels_);
    Updates& u = w.updates;
    u.step = broadcast.step;
    u.clients.assign(samples.clients.begin(), samples.clients.end());
    u.first.assign(1, 0);
    u.probability.resize(clients);
    u.blocks.resize(clients * per_upload_);
    for (std::size_t c = 0; c < clients; ++c) {
      const auto state = MixtureState(samples, c);
      const auto weights = std::span(w.weights).subspan(c * kernels_, kernels_);
      mixture_.Weights(state, weights);
      const double uniform =
          samples.uniforms.empty()
              ? Random(seed_, Purpose::kSubset, samples.clients[c], broadcast.step).Uniform()
              : samples.uniforms[c];
      // 6. Subset choice (10).
      const Bin bin = ChooseBin(mixture_.Losses(state), weights, per_upload_, exploration_, uniform,
                                w.order, std::span(u.blocks).subspan(u.first.back(), per_upload_));
      u.probability[c] = bin.probability;
      u.first.push_back(u.first.back() + bin.count);
    }
    u.blocks.resize(u.first.back());
    // 2. Features (6) and 3. per-kernel predictions, from the middle of the range, and within it.
    u.values.resize(u.blocks.size() * width_);
    EvaluateKernels(*bank_, {clients, samples.x, broadcast.model, u.first, u.blocks, w.f, u.values},
                    w.features);
    for (float& f : w.f) f = std::clamp(f + static_cast<float>(kMiddle), 0.0F, 1.0F);
    // 4. Combination: of the kernels, and then with what private experts add to it.
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

  std::shared_ptr<const KernelBank> bank_;
  std::size_t kernels_;     // N
  std::size_t width_;       // F
  std::size_t per_upload_;  // M
  double exploration_;      // xi
  std::uint64_t seed_;
  Loss loss_;  // squared
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
  assert(options.loss.kind == LossKind::kSquared);
  return std::make_unique<PofNewton>(std::move(bank), std::move(local), options, problem);
}

}  // namespace polykern
