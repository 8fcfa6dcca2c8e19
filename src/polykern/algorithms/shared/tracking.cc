#include "polykern/algorithms/shared/tracking.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/shared/mixture.h"
#include "polykern/core/experts.h"
#include "polykern/core/recursive_least_squares.h"
#include "polykern/core/vector_ops.h"

namespace polykern {
namespace {

class TrackingAlgorithm final : public Algorithm {
 public:
  explicit TrackingAlgorithm(std::unique_ptr<const Algorithm> tracked)
      : Algorithm(tracked->definition()),
        tracked_(std::move(tracked)),
        mixture_(TrackingRule::kExperts, definition().options.weighting,
                 definition().options.weight_rate.value_or(kUnitRate)),
        rule_(definition().problem.dimension),
        squares_(rule_.width(), TrackingRule::kRidge, TrackingRule::kForgetting) {}

  std::string_view name() const override { return tracked_->name(); }
  const ModelShape& shape() const override { return tracked_->shape(); }
  const Loss& loss() const override { return tracked_->loss(); }
  std::size_t experts() const override { return tracked_->experts(); }
  double weight_rate() const override { return tracked_->weight_rate(); }
  std::size_t state_size() const override {
    return KnownStart() + rule_.known() + squares_.StateSize();
  }
  std::size_t lasting_state() const override {
    return mixture_.StateSize() + tracked_->lasting_state();
  }
  bool Weights(std::span<const double> state, std::uint64_t step,
               std::span<double> weights) const override {
    return tracked_->Weights(state.subspan(mixture_.StateSize(), tracked_->state_size()), step,
                             weights);
  }

  void SetWeights(std::span<const double> weights, std::span<double> state) const override {
    tracked_->SetWeights(weights, state.subspan(mixture_.StateSize(), tracked_->state_size()));
  }

  void BeginEpoch(std::span<double> state) const override {
    tracked_->BeginEpoch(state.subspan(mixture_.StateSize(), tracked_->state_size()));
  }

  std::uint64_t kept_samples() const override { return tracked_->kept_samples(); }
  std::uint64_t most_clients() const override { return tracked_->most_clients(); }
  void CheckContents(const Updates& updates, const Broadcast& broadcast) const override {
    tracked_->CheckContents(updates, broadcast);
  }
  std::string TroubleOf(const Broadcast& broadcast) const override {
    return tracked_->TroubleOf(broadcast);
  }
  std::unique_ptr<Server> NewServer() const override { return tracked_->NewServer(); }
  std::unique_ptr<CohortStep> NewCpuStep() const override;

 private:
  class Step;
  std::size_t KnownStart() const { return mixture_.StateSize() + tracked_->state_size(); }

  std::unique_ptr<const Algorithm> tracked_;
  Mixture mixture_;  // of its prediction, the last label and the regression
  TrackingRule rule_;
  RecursiveLeastSquares squares_;
};

class TrackingAlgorithm::Step final : public CohortStep {
 public:
  explicit Step(const TrackingAlgorithm& algorithm)
      : algorithm_(algorithm),
        rule_(algorithm.rule_),
        tracked_(algorithm.tracked_->NewCpuStep()),
        scratch_(2 * rule_.width()) {}

 private:
  /// Of one client, between Predict and Learn.
  struct Client {
    double correction;  // theta . z
    std::array<float, TrackingRule::kExperts> f;
    std::array<double, TrackingRule::kExperts> weights;
  };
  /// Parts of a client's state.
  struct Parts {
    std::span<double> mixture;
    std::span<double> known;
    std::span<double> squares;
  };

  void PredictCohort() override {
    tracked_states_.clear();
    for (double* state : samples().state) {
      tracked_states_.push_back(state + algorithm_.mixture_.StateSize());
    }
    Samples own = samples();
    own.state = tracked_states_;
    tracked_->Predict(broadcast(), own);
    const auto f = tracked_->kernel_predictions();
    kernel_predictions_.assign(f.begin(), f.end());
    clients_.resize(clients());
    z_.resize(clients() * rule_.width());
    predictions_.resize(clients());
    for (std::size_t c = 0; c < clients(); ++c) {
      predictions_[c] = PredictClient(c, tracked_->predictions()[c], PartsOf(c), clients_[c]);
    }
  }

  double PredictClient(std::size_t c, double p, const Parts& parts, Client& client) {
    const double labels = parts.known[0];
    const double last = labels > 0 ? parts.known[1] : p;
    const double error = labels > 0 ? last - parts.known[2] : 0;
    const auto z = MatrixRow(z_, c, rule_.width());
    z[0] = static_cast<float>(error);
    z[1] = static_cast<float>(last - p);
    z[2] = static_cast<float>(p - 0.5);
    z[3] = 1;
    const auto x = InputsOf(c);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto before = labels > 0 ? static_cast<float>(parts.known[3 + i]) : x[i];
      z[4 + i] = std::clamp(x[i] - before, -1.0F, 1.0F);
      z[4 + x.size() + i] = std::clamp(x[i], -1.0F, 1.0F);
    }
    client.correction = Dot(algorithm_.squares_.Theta(parts.squares), z);
    const double fitted = labels < rule_.listening() ? p : p + client.correction;
    client.f = {static_cast<float>(p), Clipped(last), Clipped(fitted)};
    algorithm_.mixture_.Weights(parts.mixture, client.weights);
    return algorithm_.mixture_.Predict(client.weights, client.f);
  }

  void LearnLabels(std::span<const double> labels) override {
    updates_ = tracked_->Learn(labels, answering());
    const auto losses = tracked_->kernel_losses();
    kernel_losses_.assign(losses.begin(), losses.end());
    for (std::size_t c = 0; c < clients(); ++c) {
      LearnClient(c, tracked_->predictions()[c], labels[c], clients_[c], PartsOf(c));
    }
  }

  void LearnClient(std::size_t c, double p, double label, const Client& client,
                   const Parts& parts) {
    std::array<double, TrackingRule::kExperts> losses;
    algorithm_.loss().Values(client.f, label, losses);
    algorithm_.mixture_.Learn(losses, client.weights, parts.mixture);
    if (parts.known[0] > 0) {
      algorithm_.squares_.Learn(MatrixRow(z_, c, rule_.width()), label - p, client.correction,
                                parts.squares, scratch_);
    }
    parts.known[0] += 1;
    parts.known[1] = label;
    parts.known[2] = p;
    std::ranges::copy(InputsOf(c), parts.known.begin() + 3);
  }

  static float Clipped(double value) { return static_cast<float>(std::clamp(value, 0.0, 1.0)); }
  std::span<const float> InputsOf(std::size_t c) const {
    return samples().x.subspan(c * samples().x.size() / clients(), rule_.inputs);
  }
  Parts PartsOf(std::size_t c) const {
    double* const state = samples().state[c];
    double* const known = state + algorithm_.KnownStart();
    return {{state, algorithm_.mixture_.StateSize()},
            {known, rule_.known()},
            {known + rule_.known(), algorithm_.squares_.StateSize()}};
  }

  const TrackingAlgorithm& algorithm_;
  const TrackingRule& rule_;
  std::unique_ptr<CohortStep> tracked_;
  std::vector<double*> tracked_states_;
  std::vector<Client> clients_;
  std::vector<float> z_;  // clients x width
  std::vector<double> scratch_;
};

std::unique_ptr<CohortStep> TrackingAlgorithm::NewCpuStep() const {
  return std::make_unique<Step>(*this);
}

}  // namespace

std::unique_ptr<Algorithm> NewTracking(std::unique_ptr<const Algorithm> tracked) {
  return std::make_unique<TrackingAlgorithm>(std::move(tracked));
}

}  // namespace polykern
