#include "polykern/algorithms/successors/fed_poe.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "polykern/algorithms/alone/local.h"
#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/paper/ofmkl_avg.h"
#include "polykern/core/experts.h"
#include "polykern/core/kernels.h"
#include "polykern/core/vector_ops.h"

namespace polykern {
namespace {

constexpr std::size_t kMixtures = 2;  // of the federated kernels, of the client's own

/// The two halves are algorithms that exist: what OFMKL-Avg predicts is not used, its steps are.
class FedPoe final : public Algorithm {
 public:
  explicit FedPoe(AlgorithmDefinition made_from)
      : Algorithm(std::move(made_from)),
        federated_(NewOfmklAvg(definition())),
        local_(NewLocal(definition())),
        kernels_(definition().bank->kernels()),
        weight_rate_(local_->weight_rate()) {}

  std::string_view name() const override { return "fed-poe"; }
  const ModelShape& shape() const override { return federated_->shape(); }
  const Loss& loss() const override { return federated_->loss(); }
  std::size_t experts() const override { return 2 * kernels_; }
  /// Theorem 2 holds: by Hoeffding's lemma Hedge loses at most eta T / 8 beside ln N / eta, here
  /// twice, and the theorem allows eta T / 2.
  double weight_rate() const override { return weight_rate_; }
  std::size_t state_size() const override { return LocalStart() + local_->state_size(); }
  std::size_t lasting_state() const override { return LocalStart() + local_->lasting_state(); }
  bool Weights(std::span<const double> state, std::uint64_t step,
               std::span<double> weights) const override {
    HedgeWeights(state.first(kernels_), weight_rate_, weights.first(kernels_));
    local_->Weights(state.subspan(LocalStart()), step, weights.last(kernels_));
    const auto shares = Shares(state);
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] *= shares[i / kernels_];
    return true;
  }

  void CheckContents(const Updates& updates, const Broadcast& broadcast) const override {
    federated_->CheckContents(updates, broadcast);
  }
  std::string TroubleOf(const Broadcast& broadcast) const override {
    return federated_->TroubleOf(broadcast);
  }
  std::unique_ptr<Server> NewServer() const override { return federated_->NewServer(); }
  std::unique_ptr<CohortStep> NewCpuStep() const override;

 private:
  class Step;

  std::size_t LocalStart() const { return kernels_ + kMixtures; }
  /// The weights of the two mixtures.
  std::array<double, kMixtures> Shares(std::span<const double> state) const {
    std::array<double, kMixtures> shares;
    HedgeWeights(state.subspan(kernels_, kMixtures), weight_rate_, shares);
    return shares;
  }

  std::unique_ptr<const Algorithm> federated_;
  std::unique_ptr<const Algorithm> local_;
  std::size_t kernels_;  // N
  double weight_rate_;   // eta_k
};

class FedPoe::Step final : public CohortStep {
 public:
  explicit Step(const FedPoe& algorithm)
      : algorithm_(algorithm),
        n_(algorithm.kernels_),
        federated_(algorithm.federated_->NewCpuStep()),
        local_(algorithm.local_->NewCpuStep()),
        weights_(n_) {}

 private:
  void PredictCohort() override {
    local_states_.clear();
    for (double* state : samples().state) {
      local_states_.push_back(state + algorithm_.LocalStart());
    }
    federated_->Predict(broadcast(), samples());
    Samples alone = samples();
    alone.state = local_states_;
    local_->Predict(broadcast(), alone);
    Join(federated_->kernel_predictions(), local_->kernel_predictions(), kernel_predictions_);
    predictions_.resize(clients());
    mixtures_.resize(clients() * kMixtures);
    for (std::size_t c = 0; c < clients(); ++c) {
      const auto f = MatrixRow(kernel_predictions_, c, 2 * n_);
      const auto mixtures = MatrixRow(mixtures_, c, kMixtures);
      HedgeWeights(State(c).first(n_), algorithm_.weight_rate_, weights_);
      mixtures[0] = Dot(weights_, f.first(n_));  // (9)
      mixtures[1] = local_->predictions()[c];
      const auto shares = algorithm_.Shares(State(c));
      predictions_[c] = shares[0] * mixtures[0] + shares[1] * mixtures[1];
    }
  }

  void LearnLabels(std::span<const double> labels) override {
    updates_ = federated_->Learn(labels);
    local_->Learn(labels);  // which changes its own part of the states
    Join(federated_->kernel_losses(), local_->kernel_losses(), kernel_losses_);
    for (std::size_t c = 0; c < clients(); ++c) {
      const auto losses = MatrixRow(kernel_losses_, c, 2 * n_);
      for (std::size_t i = 0; i < n_; ++i) State(c)[i] += losses[i];  // (12)
      for (std::size_t m = 0; m < kMixtures; ++m) {
        State(c)[n_ + m] += algorithm_.loss().Value(mixtures_[c * kMixtures + m], labels[c]);
      }
    }
  }

  std::span<double> State(std::size_t c) const {
    return {samples().state[c], algorithm_.LocalStart()};
  }
  /// For each client a federated row of N numbers, and then a local one.
  template <class Number>
  void Join(std::span<const Number> federated, std::span<const Number> local,
            std::vector<Number>& joined) const {
    joined.resize(2 * federated.size());
    for (std::size_t c = 0; c < clients(); ++c) {
      const auto row = MatrixRow(joined, c, 2 * n_);
      std::ranges::copy(MatrixRow(federated, c, n_), row.begin());
      std::ranges::copy(MatrixRow(local, c, n_), row.last(n_).begin());
    }
  }

  const FedPoe& algorithm_;
  std::size_t n_;  // N
  std::unique_ptr<CohortStep> federated_;
  std::unique_ptr<CohortStep> local_;
  std::vector<double*> local_states_;
  std::vector<double> mixtures_;  // clients x 2: what each predicts
  std::vector<double> weights_;
};

std::unique_ptr<CohortStep> FedPoe::NewCpuStep() const {
  return std::make_unique<Step>(*this);
}

}  // namespace

std::unique_ptr<Algorithm> NewFedPoe(AlgorithmDefinition definition) {
  return std::make_unique<FedPoe>(std::move(definition));
}

}  // namespace polykern
