#include "polykern/algorithms/shared/frozen.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <span>
#include <utility>

#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/shared/mixture.h"
#include "polykern/core/losses.h"

namespace polykern {
namespace {

constexpr std::size_t kBoth = 2;      // what is learnt, and what is frozen
constexpr double kRemembered = 0.99;  // of the losses so far with each step
/// The state of a mixture in which only the second has weight: until something is learnt, the first
/// has nothing to say.
constexpr double kBehind = 1e-9;

class WithFrozen final : public Algorithm {
 public:
  WithFrozen(std::unique_ptr<const Algorithm> learnt, FrozenModel frozen)
      : Algorithm(learnt->definition()),
        learnt_(std::move(learnt)),
        frozen_(std::move(frozen)),
        mixture_(kBoth, Weighting::kAdaHedge, 1) {
    assert(frozen_.start.size() == frozen_.algorithm->state_size());
  }

  std::string_view name() const override { return learnt_->name(); }
  const ModelShape& shape() const override { return learnt_->shape(); }
  const Loss& loss() const override { return learnt_->loss(); }
  std::size_t experts() const override { return learnt_->experts(); }
  double weight_rate() const override { return learnt_->weight_rate(); }
  std::size_t state_size() const override { return FrozenStart() + frozen_.start.size(); }
  std::size_t lasting_state() const override {
    return mixture_.StateSize() + learnt_->lasting_state();
  }
  void Start(std::span<double> state) const override {
    state[0] = kBehind;
    learnt_->Start(LearntState(state));
    std::ranges::copy(frozen_.start, state.subspan(FrozenStart()).begin());
  }
  bool Weights(std::span<const double> state, std::uint64_t step,
               std::span<double> weights) const override {
    return learnt_->Weights(LearntState(state), step, weights);
  }
  void SetWeights(std::span<const double> weights, std::span<double> state) const override {
    learnt_->SetWeights(weights, LearntState(state));
  }
  void BeginEpoch(std::span<double> state) const override {
    learnt_->BeginEpoch(LearntState(state));
  }

  std::uint64_t kept_samples() const override { return learnt_->kept_samples(); }
  std::uint64_t most_clients() const override { return learnt_->most_clients(); }
  void CheckContents(const Updates& updates, const Broadcast& broadcast) const override {
    learnt_->CheckContents(updates, broadcast);
  }
  std::string TroubleOf(const Broadcast& broadcast) const override {
    return learnt_->TroubleOf(broadcast);
  }
  std::unique_ptr<Server> NewServer() const override { return learnt_->NewServer(); }
  std::unique_ptr<CohortStep> NewCpuStep() const override;

 private:
  class Step;
  template <class State>
  State LearntState(State state) const {
    return state.subspan(mixture_.StateSize(), learnt_->state_size());
  }
  std::size_t FrozenStart() const { return mixture_.StateSize() + learnt_->state_size(); }

  std::unique_ptr<const Algorithm> learnt_;
  FrozenModel frozen_;
  Mixture mixture_;  // of both predictions
};

class WithFrozen::Step final : public CohortStep {
 public:
  explicit Step(const WithFrozen& algorithm)
      : algorithm_(algorithm),
        learnt_(algorithm.learnt_->NewCpuStep()),
        frozen_(algorithm.frozen_.algorithm->NewCpuStep()) {}

 private:
  /// Of one client, between Predict and Learn.
  struct Client {
    std::array<float, kBoth> f;
    std::array<double, kBoth> weights;
  };

  void PredictCohort() override {
    learnt_->Predict(broadcast(),
                     Own(algorithm_.mixture_.StateSize(), samples().x, learnt_states_));
    const auto kernels = learnt_->kernel_predictions();
    kernel_predictions_.assign(kernels.begin(), kernels.end());
    MakeFrozenInputs();
    frozen_->Predict(algorithm_.frozen_.broadcast,
                     Own(algorithm_.FrozenStart(), frozen_x_, frozen_states_));
    clients_.resize(clients());
    predictions_.resize(clients());
    const Loss& loss = algorithm_.frozen_.algorithm->loss();
    for (std::size_t c = 0; c < clients(); ++c) {
      Client& client = clients_[c];
      const double frozen = loss.Predicted(frozen_->predictions()[c]);
      client.f = {static_cast<float>(learnt_->predictions()[c]),
                  static_cast<float>(algorithm_.frozen_.to_label(frozen))};
      algorithm_.mixture_.Weights(MixtureState(c), client.weights);
      predictions_[c] = algorithm_.mixture_.Predict(client.weights, client.f);
    }
  }

  /// The samples of a part, whose states begin there.
  Samples Own(std::size_t start, std::span<const float> x, std::vector<double*>& states) const {
    states.clear();
    for (double* state : samples().state) states.push_back(state + start);
    Samples own = samples();
    own.x = x;
    own.state = states;
    return own;
  }

  void MakeFrozenInputs() {
    const std::size_t dimension = samples().x.size() / clients();
    frozen_x_.clear();
    for (std::size_t c = 0; c < clients(); ++c) {
      const auto x = samples().x.subspan(c * dimension, dimension);
      for (const auto& [place, scale] : algorithm_.frozen_.inputs) {
        frozen_x_.push_back(static_cast<float>(scale(static_cast<double>(x[place]))));
      }
    }
  }

  void LearnLabels(std::span<const double> labels) override {
    updates_ = learnt_->Learn(labels, answering());
    const auto losses = learnt_->kernel_losses();
    kernel_losses_.assign(losses.begin(), losses.end());
    frozen_labels_.clear();
    for (const double label : labels) {
      frozen_labels_.push_back(algorithm_.frozen_.from_label(label));
    }
    frozen_->Learn(frozen_labels_, {.answers = false});  // no server waits for an answer
    for (std::size_t c = 0; c < clients(); ++c) {
      const auto state = MixtureState(c);
      std::array<double, kBoth> both;
      algorithm_.loss().Values(clients_[c].f, labels[c], both);
      algorithm_.mixture_.Learn(both, clients_[c].weights, state);
      // Of both losses and AdaHedge's gap: the weights stay, and what comes counts for more. So
      // what is learnt is not held to what it did not know when it began.
      for (double& value : state) value *= kRemembered;
    }
  }

  std::span<double> MixtureState(std::size_t c) const {
    return {samples().state[c], algorithm_.mixture_.StateSize()};
  }

  const WithFrozen& algorithm_;
  std::unique_ptr<CohortStep> learnt_;
  std::unique_ptr<CohortStep> frozen_;
  std::vector<double*> learnt_states_;
  std::vector<double*> frozen_states_;
  std::vector<float> frozen_x_;
  std::vector<double> frozen_labels_;
  std::vector<Client> clients_;
};

std::unique_ptr<CohortStep> WithFrozen::NewCpuStep() const {
  return std::make_unique<Step>(*this);
}

}  // namespace

double Rescaling::operator()(double value) const {
  return std::clamp(factor * value + shift, low, high);
}

std::unique_ptr<Algorithm> NewWithFrozen(std::unique_ptr<const Algorithm> learnt,
                                         FrozenModel frozen) {
  return std::make_unique<WithFrozen>(std::move(learnt), std::move(frozen));
}

}  // namespace polykern
