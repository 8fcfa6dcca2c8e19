// What must hold for every algorithm of the registry.

#include <string>

#include "polykern/algorithms/registry.h"
#include "polykern/algorithms/twin-inl.h"
#include "polykern/core/error.h"

namespace polykern {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using twin::Arrival;
using twin::Vector;

constexpr Problem kProblem = {twin::kDimension, 60, twin::kSeed};

class EveryAlgorithm : public testing::TestWithParam<std::string_view> {
 protected:
  std::unique_ptr<Algorithm> Make(LossKind loss = LossKind::kSquared) const {
    AlgorithmOptions options = twin::TestOptions(loss);
    options.kernels_per_upload = 2;
    options.exploration = 0.4;
    options.learning_rate = 0.1;
    options.meta_rate = 0.05;
    return MakeAlgorithm(GetParam(), options, kProblem);
  }
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
    if (!SuitsLoss(GetParam(), loss)) continue;
    const auto algorithm = Make(loss);
    const Vector together = Everything(*algorithm, {}, loss);
    EXPECT_EQ(Everything(*algorithm, {true, false, 1}, loss), together);
    EXPECT_EQ(Everything(*algorithm, {true, true, 1}, loss), together);
    EXPECT_EQ(Everything(*algorithm, {true, true, 3}, loss), together);
  }
}

TEST_P(EveryAlgorithm, GoesOnWithTheSameBitsAfterAStop) {
  const auto algorithm = Make();
  twin::Federation whole(*algorithm);
  twin::Federation again(*algorithm);
  const auto steps = twin::DrawSteps(60);
  for (std::size_t t = 0; t < 60; ++t) {
    if (t == 33) {
      again.server->Load(33, whole.server->Save());
      again.states = whole.states;
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

TEST_P(EveryAlgorithm, KeepsToItsBudgetAndUsesIt) {
  for (const std::size_t budget : {200U, 402U, 1000U, 3000U, 20000U}) {
    AlgorithmOptions options;
    options.budget = budget;
    options.kernels_per_upload = 25;
    const auto algorithm = MakeAlgorithm(GetParam(), options, kProblem);
    EXPECT_LE(algorithm->shape().update_size(), budget);
    const std::size_t features = FeaturesOf(GetParam(), options);
    const Uplink uplink = UplinkOf(GetParam(), options);
    EXPECT_LE(features, 100U);
    if (uplink.kernels == 0) continue;
    EXPECT_EQ(algorithm->shape().update_size(), uplink.kernels * 2 * features + uplink.losses);
    if (features == 100) continue;
    options.features = features + 1;
    EXPECT_THAT(
        [&] { MakeAlgorithm(GetParam(), options, kProblem); },
        testing::ThrowsMessage<Error>(AllOf(
            HasSubstr("--features is " + std::to_string(features + 1)),
            HasSubstr(std::string(GetParam())), HasSubstr("budget of " + std::to_string(budget)),
            HasSubstr("allows " + std::to_string(features)))));
  }
}

TEST_P(EveryAlgorithm, HasAnEmptyStepOfNobody) {
  const auto algorithm = Make();
  twin::Federation federation(*algorithm);
  twin::Step nobody = twin::DrawSteps(1)[0];
  nobody.present.assign(twin::kClients, 0);
  const Vector before = federation.server->Save();
  EXPECT_TRUE(federation.Run(nobody).empty());
  EXPECT_EQ(federation.server->Save(), before);
  EXPECT_EQ(federation.broadcast().step, 1U);
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryAlgorithm,
                         testing::ValuesIn(AlgorithmNames().begin(), AlgorithmNames().end()),
                         [](const auto& test) {
                           std::string name(test.param);
                           std::erase(name, '-');
                           return name;
                         });

std::size_t Features(std::string_view name, std::size_t budget = 1000) {
  AlgorithmOptions options;
  options.budget = budget;
  return FeaturesOf(name, options);
}

TEST(FeaturesOf, FollowsWhatEachAlgorithmSends) {
  EXPECT_EQ(Features("ofskl"), 100U);
  EXPECT_EQ(Features("ofskl", 100), 50U);
  EXPECT_EQ(Features("ofmkl-avg"), 9U);
  EXPECT_EQ(Features("vm-kofl"), 9U);  // 51 (2 * 9 + 1) = 969
  EXPECT_EQ(Features("vm-kofl", 968), 8U);
  EXPECT_EQ(Features("em-kofl"), 100U);
  EXPECT_EQ(Features("em-kofl", 250), 99U);
  EXPECT_EQ(Features("fomd-oms"), 100U);
  EXPECT_EQ(Features("fomd-oms", 401), 99U);
  EXPECT_EQ(Features("local", 1), 100U);
  EXPECT_EQ(Features("perfedavg"), 0U);
}

TEST(UplinkOf, SaysHowManyKernelsAndLossesAreSent) {
  AlgorithmOptions options;
  options.kernels_per_upload = 5;
  for (const auto name : AlgorithmNames()) EXPECT_EQ(UplinkOf(name, options).algorithm, name);
  EXPECT_EQ(UplinkOf("pof-mkl", options).kernels, 5U);
  EXPECT_EQ(UplinkOf("vm-kofl", options).losses, 51U);
  EXPECT_THROW(UplinkOf("nobody", options), Error);
  EXPECT_EQ(UplinkOf("pof-adagrad", options).kernels, 5U);
  EXPECT_TRUE(ChoosesKernels("pof-mkl"));
  EXPECT_TRUE(ChoosesKernels("pof-adagrad"));
  EXPECT_FALSE(ChoosesKernels("ofmkl-avg"));
}

TEST(CheckAlgorithm, TellsFomdOmsThatItNeedsTwoKernels) {
  AlgorithmOptions options;
  options.kernels = 1;
  for (const auto name : AlgorithmNames()) {
    if (name == "fomd-oms") continue;
    EXPECT_NO_THROW(CheckAlgorithm(name, options)) << name;
  }
  EXPECT_THAT([&] { CheckAlgorithm("fomd-oms", options); },
              testing::ThrowsMessage<Error>(AllOf(HasSubstr("--kernels is 1"), HasSubstr("fomd"))));
}

TEST(MakeAlgorithm, GivesOfsklTheBandwidthItIsTold) {
  for (const double sigma : {10.0, 0.1}) {
    AlgorithmOptions options;
    options.single_bandwidth = sigma;
    const auto algorithm = MakeAlgorithm("ofskl", options, {20, 10, 3});
    Broadcast broadcast;
    broadcast.model.assign(200, 0);
    std::fill(broadcast.model.begin() + 100, broadcast.model.end(), 1.0F);  // the cosines
    const std::vector<float> x(20, 0.05F);
    const std::uint64_t ids[] = {0};
    double* const states[] = {nullptr};
    Workspace workspace;
    algorithm->Predict(broadcast, {ids, x, states, {}}, workspace);
    // The mean of cos(rho . x) is the kernel at x, exp(-||x||^2 / (2 sigma)); its 100 draws have a
    // deviation of at most 0.07.
    const double mean = workspace.predictions[0] / std::sqrt(100.0);
    EXPECT_NEAR(mean, std::exp(-0.05 / (2 * sigma)), 0.15);
  }
}

}  // namespace
}  // namespace polykern
