#include "polykern/algorithms/shared/tracking.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/registry.h"
#include "polykern/core/random.h"

namespace polykern {
namespace {

/// A client by itself, of local-rls.
class Lone {
 public:
  explicit Lone(double forgetting, std::size_t dimension = 2) {
    AlgorithmOptions options;
    options.kernels = 16;
    options.local_memory = 64;
    options.forgetting = forgetting;
    algorithm_ = MakeAlgorithm("local-rls", options, {dimension, 10, 1});
    step_ = algorithm_->NewCpuStep();
    state_.resize(algorithm_->state_size());
    states_ = {state_.data()};
  }

  double Predict(const std::vector<float>& x) {
    x_ = x;
    step_->Predict(broadcast_, {.clients = clients_, .x = x_, .state = states_});
    return step_->predictions()[0];
  }
  /// Gives the squared error.
  double Learn(const std::vector<float>& x, double y) {
    const double error = Predict(x) - y;
    step_->Learn(std::vector{y});
    return error * error;
  }

 private:
  std::unique_ptr<Algorithm> algorithm_;
  std::unique_ptr<CohortStep> step_;
  std::vector<double> state_;
  std::vector<double*> states_;
  std::vector<std::uint64_t> clients_ = {0};
  std::vector<float> x_;
  Broadcast broadcast_;
};

TEST(Tracking, BeginsAnEpochAndTakesWeightsAsTheAlgorithmDoes) {
  AlgorithmOptions options;
  options.kernels = 4;
  options.experts = Experts::kFederated;
  const auto plain = MakeAlgorithm("pof-gram", options, {2, 10, 1});
  options.forgetting = kAutoForgetting;
  const auto tracking = MakeAlgorithm("pof-gram", options, {2, 10, 1});
  const std::size_t start = TrackingRule::kExperts + 1;  // behind its own mixture
  ASSERT_GT(tracking->state_size(), start + plain->state_size());
  std::vector<double> own(plain->state_size(), 3);
  std::vector<double> state(tracking->state_size(), 3);
  const std::vector<double> weights(plain->experts(), 1 / static_cast<double>(plain->experts()));
  plain->BeginEpoch(own);
  plain->SetWeights(weights, own);
  tracking->BeginEpoch(state);
  tracking->SetWeights(weights, state);
  EXPECT_NE(own, std::vector<double>(own.size(), 3));
  EXPECT_TRUE(std::ranges::equal(std::span(state).subspan(start, own.size()), own));
}

/// The mean squared error over all steps but the first few, where label(t, x, random) is learnt.
template <class Label>
double ErrorOf(double forgetting, std::size_t dimension, Label label) {
  constexpr int kSteps = 3000;
  constexpr int kFew = 200;
  Lone lone(forgetting, dimension);
  Random random(5, Purpose::kTest);
  double sum = 0;
  std::vector<float> x(dimension);
  for (int t = 0; t < kSteps; ++t) {
    for (float& value : x) value = static_cast<float>(random.Uniform());
    const double error = lone.Learn(x, label(t, x, random));
    if (t >= kFew) sum += error;
  }
  return sum / (kSteps - kFew);
}

constexpr double kAll[] = {1, 0.999, 0.99, 0.97};

TEST(Tracking, FollowsARandomWalkByItsLastLabel) {
  constexpr double kStep = 0.02;
  const auto walk = [] {
    return [y = 0.5](int, const std::vector<float>&, Random& random) mutable {
      y = std::clamp(y + kStep * random.Normal(), 0.0, 1.0);
      return y;
    };
  };
  // No prediction has less than the variance of a step, and 2800 steps give it to 3 %.
  EXPECT_LT(ErrorOf(kAutoForgetting, 2, walk()), 1.15 * kStep * kStep);
  for (const double forgetting : kAll) {
    EXPECT_GT(ErrorOf(forgetting, 2, walk()), 2 * kStep * kStep) << forgetting;
  }
}

TEST(Tracking, IsNearTheBestFactorWhateverTheDrift) {
  for (const double turn : {0.0, 0.001, 0.01, 0.05}) {  // radians in a step
    const auto law = [turn](int t, const std::vector<float>& x, Random& random) {
      const double angle = 3 * static_cast<double>(x[0] + x[1]) + turn * t;
      return std::clamp(0.5 + 0.3 * std::sin(angle) + 0.05 * random.Normal(), 0.0, 1.0);
    };
    double best = 1;
    for (const double forgetting : kAll) best = std::min(best, ErrorOf(forgetting, 2, law));
    EXPECT_LT(ErrorOf(kAutoForgetting, 2, law), 1.03 * best) << turn;
  }
}

TEST(Tracking, SaysWhatItsAlgorithmSaysUntilThereIsALabel) {
  Lone lone(kAutoForgetting);
  EXPECT_EQ(lone.Predict({0.3F, 0.1F}), 0.5);
  lone.Learn({0.3F, 0.1F}, 0.9);
  EXPECT_GT(lone.Predict({0.3F, 0.1F}), 0.5);
}

TEST(Tracking, LeavesManyInputsAlone) {
  EXPECT_EQ(TrackingRule(TrackingRule::kMostInputs).width(), 4 + 2 * TrackingRule::kMostInputs);
  EXPECT_EQ(TrackingRule(TrackingRule::kMostInputs + 1).width(), 4U);
  const auto law = [](int, const std::vector<float>& x, Random&) {
    return static_cast<double>(x[0]);
  };
  EXPECT_LT(ErrorOf(kAutoForgetting, TrackingRule::kMostInputs + 1, law), 0.2);
}

TEST(Tracking, StaysFiniteWhateverTheInputs) {
  Lone lone(kAutoForgetting);
  for (int t = 0; t < 300; ++t) {
    const float huge = t % 2 == 0 ? 1e30F : -3e5F;
    EXPECT_LE(lone.Learn({huge, 1e-30F}, t % 3 == 0 ? 1 : 0), 1);
  }
}

TEST(Tracking, DoesNotChangeWhatIsSentNorTheExperts) {
  for (const std::string_view name : {"pof-gram", "pof-newton", "local-rls"}) {
    AlgorithmOptions options;
    const auto plain = MakeAlgorithm(name, options, {3, 10, 1});
    options.forgetting = kAutoForgetting;
    const auto tracking = MakeAlgorithm(name, options, {3, 10, 1});
    EXPECT_EQ(tracking->name(), name);
    EXPECT_EQ(tracking->experts(), plain->experts());
    EXPECT_EQ(tracking->shape().sums, plain->shape().sums);
    EXPECT_EQ(tracking->kept_samples(), plain->kept_samples());
    // Three experts and a gap; what it knows; and a regression.
    const TrackingRule rule(3);
    EXPECT_EQ(tracking->state_size(), plain->state_size() + 4 + rule.known() + 1 + rule.width() +
                                          rule.width() * rule.width());
    EXPECT_EQ(tracking->lasting_state(), plain->lasting_state() + 4);
  }
}

}  // namespace
}  // namespace polykern
