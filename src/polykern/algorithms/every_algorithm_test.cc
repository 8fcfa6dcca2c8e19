// What must hold for every algorithm of the registry.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/registry.h"
#include "polykern/algorithms/shared/twin_testing.h"
#include "polykern/core/error.h"
#include "polykern/core/kernels.h"

namespace polykern {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using twin::Arrival;
using twin::kShort;
using twin::Vector;

/// Names of the registry, and with private experts, for which clients have states of another kind.
constexpr std::string_view kWithLocal = "pof-newton with local experts";
constexpr std::string_view kGramWithLocal = "pof-gram with local experts";
std::vector<std::string_view> Cases() {
  std::vector<std::string_view> cases(AlgorithmNames().begin(), AlgorithmNames().end());
  cases.push_back(kWithLocal);
  cases.push_back(kGramWithLocal);
  return cases;
}

class EveryAlgorithm : public testing::TestWithParam<std::string_view> {
 protected:
  std::unique_ptr<Algorithm> Make(LossKind loss = LossKind::kSquared) const {
    AlgorithmOptions options = twin::TestOptions(loss);
    options.kernels_per_upload = 2;
    options.exploration = 0.4;
    options.learning_rate = 0.1;
    options.meta_rate = 0.05;
    options.forgetting = 0.98;
    options.experts = HasLocal() ? Experts::kFederatedAndLocal : Experts::kFederated;
    options.local_memory = 32;
    return MakeAlgorithm(Name(), options, kShort);
  }
  static std::string_view Name() { return GetParam().substr(0, GetParam().find(' ')); }
  static bool HasLocal() { return GetParam() != Name(); }
};

/// Everything a run leaves: predictions, states and the server.
Vector Everything(const Algorithm& algorithm, const Arrival& arrival, LossKind loss) {
  twin::Federation federation(algorithm);
  Vector all;
  for (const twin::Step& step : twin::DrawSteps(60, loss)) {
    const Vector predictions = federation.Run(step, arrival);
    all.insert(all.end(), predictions.begin(), predictions.end());
  }
  for (const Vector& state : federation.states) all.insert(all.end(), state.begin(), state.end());
  const Vector saved = federation.server->Save();
  all.insert(all.end(), saved.begin(), saved.end());
  return all;
}

TEST_P(EveryAlgorithm, HasTheSameBitsForAnyCohortsOrderAndInboxes) {
  for (const LossKind loss : twin::kLosses) {
    if (!SuitsLoss(Name(), loss)) continue;
    const auto algorithm = Make(loss);
    const Vector together = Everything(*algorithm, {}, loss);
    EXPECT_EQ(Everything(*algorithm, {true, false, 1}, loss), together);
    EXPECT_EQ(Everything(*algorithm, {true, true, 1}, loss), together);
    EXPECT_EQ(Everything(*algorithm, {true, true, 3}, loss), together);
  }
}

TEST_P(EveryAlgorithm, ResumesWithTheSameBitsAfterAStop) {
  const auto algorithm = Make();
  twin::Federation whole(*algorithm);
  twin::Federation again(*algorithm);
  const auto steps = twin::DrawSteps(60);
  for (std::size_t t = 0; t < 60; ++t) {
    if (t == 33) {
      again.server->Load(33, whole.server->Save());
      again.states = whole.states;
      again.history = whole.history;
      EXPECT_EQ(again.broadcast().turn, whole.broadcast().turn);
      EXPECT_EQ(again.broadcast().model, whole.broadcast().model);
      EXPECT_EQ(again.broadcast().weights, whole.broadcast().weights);
    }
    const Vector predictions = whole.Run(steps[t]);
    if (t < 33) continue;
    EXPECT_EQ(again.Run(steps[t]), predictions);
  }
  EXPECT_EQ(again.server->Save(), whole.server->Save());
  EXPECT_EQ(again.states, whole.states);
}

TEST_P(EveryAlgorithm, TellsTheWeightsOfClientsThatHaveSome) {
  const auto algorithm = Make();
  twin::Federation federation(*algorithm);
  Vector weights(algorithm->experts(), -1);
  const bool has = algorithm->Weights(federation.states[0], 0, weights);
  for (const double weight : weights) {
    EXPECT_NEAR(weight, has ? 1 / static_cast<double>(weights.size()) : -1, 1e-12);
  }
  if (!has) return;
  for (const twin::Step& step : twin::DrawSteps(60)) federation.Run(step);
  Vector other = weights;
  ASSERT_TRUE(algorithm->Weights(federation.states[0], 60, weights));
  ASSERT_TRUE(algorithm->Weights(federation.states[1], 60, other));
  EXPECT_NE(weights, other);  // each client has its own
  for (const Vector& of : {weights, other}) {
    double sum = 0;
    for (const double weight : of) {
      EXPECT_GE(weight, 0);
      sum += weight;
    }
    EXPECT_NEAR(sum, 1, 1e-12);
  }
}

TEST_P(EveryAlgorithm, KeepsToItsBudgetAndUsesIt) {
  for (const std::size_t budget : {200U, 402U, 1000U, 3000U, 20000U}) {
    AlgorithmOptions options;
    options.budget = budget;
    options.kernels_per_upload = 25;
    options.experts = HasLocal() ? Experts::kFederatedAndLocal : Experts::kFederated;
    const auto algorithm = MakeAlgorithm(Name(), options, kShort);
    if (!algorithm->shape().sums.empty()) {  // in the mean: its schedule's matter
      EXPECT_EQ(algorithm->shape().update_size(), budget * options.burst);
      continue;
    }
    EXPECT_LE(algorithm->shape().update_size(), budget);
    const std::size_t features = FeaturesOf(Name(), options);
    const Uplink uplink = UplinkOf(Name(), options);
    EXPECT_LE(features, 100U);
    if (uplink.kernels == 0) continue;
    EXPECT_EQ(algorithm->shape().update_size(), uplink.kernels * 2 * features + uplink.losses);
    if (features == 100) continue;
    options.features = features + 1;
    EXPECT_THAT(
        [&] { MakeAlgorithm(Name(), options, kShort); },
        testing::ThrowsMessage<Error>(
            AllOf(HasSubstr("features is " + std::to_string(features + 1)),
                  HasSubstr(std::string(Name())), HasSubstr("budget of " + std::to_string(budget)),
                  HasSubstr("allows " + std::to_string(features)))));
  }
}

TEST_P(EveryAlgorithm, HasAnEmptyStepWithoutClients) {
  const auto algorithm = Make();
  twin::Federation federation(*algorithm);
  twin::Step nobody = twin::DrawSteps(1)[0];
  nobody.present.assign(twin::kClients, 0);
  const Vector before = federation.server->Save();
  EXPECT_TRUE(federation.Run(nobody).empty());
  EXPECT_EQ(federation.server->Save(), before);
  EXPECT_EQ(federation.broadcast().step, 1U);
}

TEST_P(EveryAlgorithm, IsTheSameOverABankThatExists) {
  if (!TraitsOf(Name()).takes_bank) return;
  AlgorithmOptions options;
  options.kernels = 7;
  options.features = 5;
  options.experts = HasLocal() ? Experts::kFederatedAndLocal : Experts::kFederated;
  const auto drawn = MakeAlgorithm(Name(), options, kShort);
  const auto bank = std::make_shared<const KernelBank>(KernelsOf(Name(), options), twin::kDimension,
                                                       5, twin::kSeed);
  options.kernels = 3;  // the bank knows better
  options.features = {};
  const auto given = MakeAlgorithm(Name(), bank, options, {99, 60, twin::kSeed});
  EXPECT_EQ(Everything(*given, {}, LossKind::kSquared), Everything(*drawn, {}, LossKind::kSquared));
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryAlgorithm, testing::ValuesIn(Cases()),
                         [](const auto& test) {
                           std::string name(test.param);
                           std::erase(name, '-');
                           std::erase(name, ' ');
                           return name;
                         });

}  // namespace
}  // namespace polykern
