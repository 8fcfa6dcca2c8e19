#include "polykern/algorithms/shared/tracking.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

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
        squares_(TrackingRule::kWidth, TrackingRule::kRidge, TrackingRule::kForgetting) {}

  std::string_view name() const override { return tracked_->name(); }
  const ModelShape& shape() const override { return tracked_->shape(); }
  const Loss& loss() const override { return tracked_->loss(); }
  std::size_t experts() const override { return tracked_->experts(); }
  double weight_rate() const override { return tracked_->weight_rate(); }
  std::size_t state_size() const override {
    return KnownStart() + TrackingRule::kKnown + squares_.StateSize();
  }
  std::size_t lasting_state() const override {
    return mixture_.StateSize() + tracked_->lasting_state();
  }
  bool Weights(std::span<const double> state, std::uint64_t step,
               std::span<double> weights) const override {
    return tracked_->Weights(state.subspan(mixture_.StateSize(), tracked_->state_size()), step,
                             weights);
  }

  std::uint64_t kept_samples() const override { return tracked_->kept_samples(); }
  std::uint64_t most_clients() const override { return tracked_->most_clients(); }
  void CheckContents(const Updates& updates) const override { tracked_->CheckContents(updates); }
  std::unique_ptr<Server> NewServer() const override { return tracked_->NewServer(); }
  std::unique_ptr<CohortStep> NewCpuStep() const override;

 private:
  class Step;
  std::size_t KnownStart() const { return mixture_.StateSize() + tracked_->state_size(); }

  std::unique_ptr<const Algorithm> tracked_;
  Mixture mixture_;  // of its prediction, the last label and the regression
  RecursiveLeastSquares squares_;
};

class TrackingAlgorithm::Step final : public CohortStep {
 public:
  explicit Step(const TrackingAlgorithm& algorithm)
      : algorithm_(algorithm), tracked_(algorithm.tracked_->NewCpuStep()) {}

 private:
  /// Of one client, between Predict and Learn.
  struct Client {
    std::array<float, TrackingRule::kWidth> z;
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
    predictions_.resize(clients());
    for (std::size_t c = 0; c < clients(); ++c) {
      predictions_[c] = PredictClient(tracked_->predictions()[c], PartsOf(c), clients_[c]);
    }
  }

  double PredictClient(double p, const Parts& parts, Client& client) const {
    const double labels = parts.known[0];
    const double last = labels > 0 ? parts.known[1] : p;
    const double error = labels > 0 ? last - parts.known[2] : 0;
    client.z = {static_cast<float>(error), static_cast<float>(last - p),
                static_cast<float>(p - 0.5), 1};
    client.correction = Dot(algorithm_.squares_.Theta(parts.squares), client.z);
    const double fitted = labels < TrackingRule::kListening ? p : p + client.correction;
    client.f = {static_cast<float>(p), Clipped(last), Clipped(fitted)};
    algorithm_.mixture_.Weights(parts.mixture, client.weights);
    return algorithm_.mixture_.Predict(client.weights, client.f);
  }

  void LearnLabels(std::span<const double> labels) override {
    updates_ = tracked_->Learn(labels, answering());
    const auto losses = tracked_->kernel_losses();
    kernel_losses_.assign(losses.begin(), losses.end());
    for (std::size_t c = 0; c < clients(); ++c) {
      LearnClient(tracked_->predictions()[c], labels[c], clients_[c], PartsOf(c));
    }
  }

  void LearnClient(double p, double label, const Client& client, const Parts& parts) const {
    std::array<double, TrackingRule::kExperts> losses;
    algorithm_.loss().Values(client.f, label, losses);
    algorithm_.mixture_.Learn(losses, client.weights, parts.mixture);
    if (parts.known[0] > 0) {
      std::array<double, 2 * TrackingRule::kWidth> scratch;
      algorithm_.squares_.Learn(client.z, label - p, client.correction, parts.squares, scratch);
    }
    parts.known[0] += 1;
    parts.known[1] = label;
    parts.known[2] = p;
  }

  static float Clipped(double value) { return static_cast<float>(std::clamp(value, 0.0, 1.0)); }
  Parts PartsOf(std::size_t c) const {
    double* const state = samples().state[c];
    double* const known = state + algorithm_.KnownStart();
    return {{state, algorithm_.mixture_.StateSize()},
            {known, TrackingRule::kKnown},
            {known + TrackingRule::kKnown, algorithm_.squares_.StateSize()}};
  }

  const TrackingAlgorithm& algorithm_;
  std::unique_ptr<CohortStep> tracked_;
  std::vector<double*> tracked_states_;
  std::vector<Client> clients_;
};

std::unique_ptr<CohortStep> TrackingAlgorithm::NewCpuStep() const {
  return std::make_unique<Step>(*this);
}

}  // namespace

std::unique_ptr<Algorithm> NewTracking(std::unique_ptr<const Algorithm> tracked) {
  return std::make_unique<TrackingAlgorithm>(std::move(tracked));
}

}  // namespace polykern
