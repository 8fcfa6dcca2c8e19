#include "polykern/algorithms/gram/pof_gram.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>
#include <vector>

#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/gram/gram_grid.h"
#include "polykern/algorithms/gram/gram_server.h"
#include "polykern/algorithms/gram/gram_sums.h"
#include "polykern/algorithms/gram/noisy_server.h"
#include "polykern/algorithms/gram/pending_samples.h"
#include "polykern/algorithms/shared/local_experts.h"
#include "polykern/algorithms/shared/mixture.h"
#include "polykern/algorithms/shared/private_experts.h"
#include "polykern/core/kernels.h"
#include "polykern/core/vector_ops.h"

namespace polykern {
namespace {

GramGrid GridOf(const AlgorithmDefinition& definition) {
  const KernelBank& bank = *definition.bank;
  if (definition.options.epsilon > 0) return GramGrid::Noisy(bank.features());
  return {bank.kernels(), bank.features()};
}

double LeastClients(const AlgorithmOptions& options, const Problem& problem) {
  const bool masked = options.masking != Masking::kNone;
  const std::size_t all = options.masking == Masking::kPairwise ? problem.clients : 1;
  return static_cast<double>(std::max({options.least_clients, std::size_t{masked ? 2U : 1U}, all}));
}

class PofGram final : public Algorithm {
 public:
  explicit PofGram(AlgorithmDefinition made_from)
      : Algorithm(std::move(made_from)),
        grid_(GridOf(definition())),
        shape_(grid_.Shape(definition().options.budget * definition().options.burst)),
        packed_(*definition().bank),
        quartered_(*definition().bank),
        mixture_(MixtureOf(grid_.experts())),
        outer_(MixtureOf(1)) {
    if (definition().local_bank == nullptr) return;
    const KernelBank& bank = *definition().local_bank;
    const AlgorithmOptions& options = definition().options;
    packed_local_.emplace(bank);
    local_.emplace(bank, GramLocalRules(options), options.forgetting);
    outer_ = MixtureOf(1 + bank.kernels());
  }

  std::string_view name() const override { return "pof-gram"; }
  const ModelShape& shape() const override { return shape_; }
  const Loss& loss() const override { return loss_; }
  std::size_t experts() const override { return grid_.experts(); }
  std::size_t state_size() const override {
    return lasting_state() + PendingSamples::StateSize(experts()) +
           (local_ ? local_->StateSize() : 0);
  }
  std::size_t lasting_state() const override {
    return mixture_.StateSize() + (local_ ? outer_.StateSize() : 0);
  }
  bool Weights(std::span<const double> state, std::uint64_t,
               std::span<double> weights) const override {
    mixture_.Weights(state.first(mixture_.StateSize()), weights);
    return true;
  }

  void SetWeights(std::span<const double> weights, std::span<double> state) const override {
    mixture_.SetWeights(weights, state.first(mixture_.StateSize()));
  }

  void BeginEpoch(std::span<double> state) const override {
    PendingSamples(state.subspan(lasting_state(), PendingSamples::StateSize(experts())),
                   definition().options.most_samples, kept_samples())
        .BeginEpoch();
  }

  std::uint64_t kept_samples() const override {
    const std::size_t bytes = sizeof(float) * definition().bank->dimension() + sizeof(double);
    return std::max<std::uint64_t>(1, 1024 * definition().options.pending_memory / bytes);
  }
  std::uint64_t most_clients() const override {
    return GramGrid::kMostSamples / definition().options.most_samples;
  }
  void CheckContents(const Updates& updates, const Broadcast&) const override {
    CheckGramSums(grid_, definition().options.most_samples, updates);
  }
  std::unique_ptr<Server> NewServer() const override {
    const AlgorithmOptions& options = definition().options;
    const Problem& problem = definition().problem;
    if (grid_.noisy()) {
      return NewNoisyGramServer(grid_,
                                {.ridge = options.ridge,
                                 .schedule = {.budget = static_cast<double>(options.budget),
                                              .burst = static_cast<double>(options.burst),
                                              .releases = options.releases,
                                              .least_clients = LeastClients(options, problem)}});
    }
    return NewGramServer(
        grid_,
        {.ridge = options.ridge,
         .forgetting = ServerForgetting(options),
         .schedule = {.budget = static_cast<double>(options.budget),
                      .burst = static_cast<double>(options.burst),
                      .disclosure = options.disclosure,
                      .exploration = options.exploration.value_or(kGramExploration),
                      .least_clients = LeastClients(options, problem),
                      .whole = problem.clients > 1 && LeastClients(options, problem) >=
                                                          static_cast<double>(problem.clients)},
         .expected = {problem.clients, problem.clients * (1 + problem.dimension)},
         .divides = options.masking == Masking::kHelper});
  }
  std::unique_ptr<CohortStep> NewCpuStep() const override;

 private:
  class Step;
  Mixture MixtureOf(std::size_t experts) const {
    const AlgorithmOptions& options = definition().options;
    return {experts, options.weighting, options.weight_rate.value_or(kUnitRate),
            GramPaceOf(options)};
  }

  GramGrid grid_;
  ModelShape shape_;
  PackedKernels packed_;
  QuarteredKernels quartered_;
  Loss loss_;        // squared
  Mixture mixture_;  // of the federated experts
  Mixture outer_;    // of their mixture and the local experts
  std::optional<PackedKernels> packed_local_;
  std::optional<LocalExperts> local_;
};

class PofGram::Step final : public CohortStep {
 public:
  explicit Step(const PofGram& algorithm)
      : algorithm_(algorithm),
        grid_(algorithm.grid_),
        mixture_(algorithm.mixture_),
        n_(grid_.experts()),
        features_(algorithm.packed_),
        sums_(grid_, algorithm.quartered_) {
    if (!algorithm.local_) return;
    private_.emplace(*algorithm.local_, algorithm.outer_, algorithm.loss_, *algorithm.packed_local_,
                     PrivateState{mixture_.StateSize(),
                                  algorithm.lasting_state() + PendingSamples::StateSize(n_)});
  }

 private:
  void PredictCohort() override {
    FindAwake();
    features_.Evaluate(samples());
    weights_.resize(clients() * n_);
    kernel_predictions_.resize(clients() * n_);
    predictions_.resize(clients());
    for (std::size_t c = 0; c < clients(); ++c) {
      const auto f = MatrixRow(kernel_predictions_, c, n_);
      for (std::size_t e = 0; e < n_; ++e) f[e] = PredictionOf(c, e);
      const auto weights = MatrixRow(weights_, c, n_);
      mixture_.Weights(MixtureState(c), weights);
      if (any_awake_) KeepAwake(awake_, weights);
      predictions_[c] = mixture_.Predict(weights, f);
    }
    if (private_) {
      federated_.assign(predictions_.begin(), predictions_.end());
      private_->Predict(samples(), predictions_);
    }
  }

  /// An expert that has had no turn yet, whose theta is 0, sleeps: it has no say, and suffers what
  /// the mixture of the others does, so that it neither gains nor loses weight.
  void FindAwake() {
    theta_.assign(broadcast().model.begin(), broadcast().model.end());
    awake_.resize(n_);
    any_awake_ = false;
    for (std::size_t e = 0; e < n_; ++e) {
      const auto theta = std::span(theta_).subspan(grid_.ThetaStart(e), grid_.WidthOf(e));
      awake_[e] = std::ranges::any_of(theta, [](double value) { return value != 0; });
      any_awake_ = any_awake_ || awake_[e];
    }
  }
  static void KeepAwake(const std::vector<bool>& awake, std::span<double> weights) {
    double all = 0;
    for (std::size_t e = 0; e < weights.size(); ++e) {
      if (!awake[e]) weights[e] = 0;
      all += weights[e];
    }
    if (all > 0) {
      for (double& weight : weights) weight /= all;
      return;
    }
    // Only sleepers have weight: the others share it evenly.
    const auto count = static_cast<double>(std::ranges::count(awake, true));
    for (std::size_t e = 0; e < weights.size(); ++e) weights[e] = awake[e] ? 1 / count : 0;
  }

  /// From the middle of the labels' range, and within it.
  float PredictionOf(std::size_t c, std::size_t e) const {
    if (!awake_[e]) return static_cast<float>(GramGrid::kMiddle);
    const std::size_t size = grid_.SizeOf(e);
    const auto theta = std::span(theta_).subspan(grid_.ThetaStart(e), 2 * size);
    const auto z = features_.Of(c, grid_.KernelOf(e));
    const double f = Dot(theta.first(size), z.first(size)) +
                     Dot(theta.last(size), z.subspan(grid_.features(), size));
    return static_cast<float>(std::clamp(GramGrid::kMiddle + f, 0.0, 1.0));
  }

  void LearnLabels(std::span<const double> labels) override {
    kernel_losses_.resize(clients() * n_);
    for (std::size_t c = 0; c < clients(); ++c) {
      const auto losses = MatrixRow(kernel_losses_, c, n_);
      const auto weights = MatrixRow(weights_, c, n_);
      algorithm_.loss_.Values(MatrixRow(kernel_predictions_, c, n_), labels[c], losses);
      const double mixed =
          algorithm_.loss_.Value(private_ ? federated_[c] : predictions_[c], labels[c]);
      for (std::size_t e = 0; e < n_; ++e) {
        if (any_awake_ && !awake_[e]) losses[e] = mixed;
      }
      mixture_.Learn(losses, weights, MixtureState(c));
      // Without noise it always was so.
      const bool based = any_awake_ || !grid_.noisy();
      if (private_) private_->Learn(samples(), c, labels[c], based);
      const std::size_t dimension = samples().x.size() / clients();
      const auto x = samples().x.subspan(c * dimension, dimension);
      PendingOf(c).Learn(grid_.noisy() ? 1 + dimension : UnknownsOf(x));
    }
    Answer();
  }

  /// The sums that the broadcast asks for.
  void Answer() {
    const auto turn = std::span(broadcast().turn);
    updates_.Begin(broadcast().step, samples().clients, answering().answers ? turn.size() : 0);
    updates_.releases = broadcast().releases;
    if (!answering().answers) return;
    assert(turn.empty() || samples().history != nullptr);
    // The server is told the weights of the next step, when these experts are awake.
    std::vector<bool> awake = awake_;
    for (const std::uint32_t expert : turn) {
      for (std::size_t e = expert + 1; e-- > 0;) {
        awake[e] = true;
        if (!grid_.HasSmaller(e)) break;
      }
    }
    next_weights_.resize(n_);
    for (std::size_t c = 0; c < clients(); ++c) {
      PendingSamples pending = PendingOf(c);
      // With noise a sample leaves once: the noise does not cover more.
      pending.Settle(answering().last_counted || grid_.noisy(), grid_.sizes());
      std::ranges::copy(turn,
                        updates_.blocks.begin() + static_cast<std::ptrdiff_t>(updates_.first[c]));
      if (!turn.empty()) {
        mixture_.Weights(MixtureState(c), next_weights_);
        KeepAwake(awake, next_weights_);
      }
      for (const std::uint32_t expert : turn) {
        const auto [begin, end] = pending.Next(expert);
        learnt_.Clear();
        samples().history->Read(samples().clients[c], begin, end, pending.learnt(), learnt_);
        assert(learnt_.y.size() == end - begin);
        sums_.Append(expert, learnt_, next_weights_, updates_.integers);
        updates_.samples.push_back(end - begin);
        updates_.unknowns.push_back(UnknownsOfLearnt(0));
        const std::uint64_t told = std::clamp(pending.reach(), begin, end) - begin;
        updates_.new_unknowns.push_back(UnknownsOfLearnt(told));
      }
      TellOnce(updates_.first[c]);
      updates_.fresh.push_back(pending.fresh());
      pending.Send(turn);
    }
  }

  /// With noise no one is told how sparse samples are: it does not count them.
  std::uint64_t UnknownsOfLearnt(std::size_t skipped) const {
    if (!grid_.noisy()) return UnknownsOf(learnt_, skipped);
    return (learnt_.y.size() - skipped) * (1 + algorithm_.definition().bank->dimension());
  }

  /// Of the sums from `first` on, the smallest tells of new unknowns: it is released first.
  void TellOnce(std::size_t first) {
    std::size_t smallest = first;
    for (std::size_t at = first + 1; at < updates_.new_unknowns.size(); ++at) {
      const bool smaller =
          grid_.SizeOf(updates_.blocks[at]) < grid_.SizeOf(updates_.blocks[smallest]);
      updates_.new_unknowns[smaller ? std::exchange(smallest, at) : at] = 0;
    }
  }

  std::span<double> MixtureState(std::size_t c) const {
    return {samples().state[c], mixture_.StateSize()};
  }
  PendingSamples PendingOf(std::size_t c) const {
    return {{samples().state[c] + algorithm_.lasting_state(), PendingSamples::StateSize(n_)},
            algorithm_.definition().options.most_samples,
            algorithm_.kept_samples()};
  }

  const PofGram& algorithm_;
  const GramGrid& grid_;
  const Mixture& mixture_;
  std::size_t n_;  // experts
  CohortFeatures features_;
  GramSums sums_;
  std::vector<double> theta_;
  std::vector<bool> awake_;
  bool any_awake_ = false;
  std::vector<double> weights_;  // clients x n
  std::vector<double> next_weights_;
  std::vector<double> federated_;  // per client: the prediction of the mixture
  LearntSamples learnt_;
  std::optional<PrivateExperts> private_;
};

std::unique_ptr<CohortStep> PofGram::NewCpuStep() const {
  return std::make_unique<Step>(*this);
}

}  // namespace

double GramPaceOf(const AlgorithmOptions& options) {
  return options.epsilon > 0 ? kNoisyGramPace : kGramPace;
}

std::vector<LocalRule> GramLocalRules(const AlgorithmOptions& options) {
  const double ridge = options.ridge;
  if (options.epsilon > 0) {
    std::vector<LocalRule> rules;
    for (const double listening : {0.2, 0.6}) {
      rules.push_back({.ridge = 0.01 * ridge, .listening = listening, .alone = true});
      rules.push_back({.ridge = 0.3 * ridge, .alone = true});
      rules.push_back({.ridge = 0.1 * ridge, .listening = listening});
    }
    return rules;
  }
  return {{.ridge = 10 * ridge, .listening = 0.25, .alone = true},
          {.ridge = 1000 * ridge, .listening = 0.5}};
}

std::unique_ptr<Algorithm> NewPofGram(AlgorithmDefinition definition) {
  assert(definition.options.loss == LossKind::kSquared);
  return std::make_unique<PofGram>(std::move(definition));
}

}  // namespace polykern
