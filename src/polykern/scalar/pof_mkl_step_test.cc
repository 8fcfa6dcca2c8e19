// The client half of pof-mkl and pof-adagrad against Algorithm 2 of the paper, in double.

#include <cmath>
#include <string>
#include <vector>

#include "polykern/scalar/step_scene_testing.h"

namespace polykern::scalar {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using twin::Vector;

struct PofCase {
  std::string name;
  LossKind loss = LossKind::kSquared;
  std::size_t per_upload = 2;
  double xi = 0.4;
  double lambda = 0.01;
  std::size_t kernels = twin::kKernels;
  Schedule schedule = Schedule::kConstant;
};

AlgorithmOptions OptionsOf(const PofCase& setting) {
  AlgorithmOptions options = twin::TestOptions(setting.loss);
  options.kernels = setting.kernels;
  options.kernels_per_upload = setting.per_upload;
  options.exploration = setting.xi;
  options.regularization = setting.lambda;
  options.schedule = setting.schedule;
  return options;
}

class PofMklStep : public testing::TestWithParam<PofCase> {
 protected:
  /// Compares what client c did with the formulas, given its losses and weights before the step.
  void ExpectFormulas(const StepScene& scene, std::size_t c, const Vector& losses,
                      const Vector& weights, double rate) const {
    double mean = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) mean += weights[i] * scene.F(c, i);
    EXPECT_NEAR(scene.Predicted(c), mean, 1e-5);  // (9)
    double p = 0;
    const Vector order = GetParam().xi < 1 ? losses : Vector(losses.size());
    const auto chosen =
        twin::Choose(scene.algorithm->definition().options, order, weights, scene.uniforms[c], p);
    EXPECT_NEAR(scene.updates.probability[c], p, 1e-5);  // (10)
    ASSERT_THAT(scene.updates.BlocksOf(c), ElementsAreArray(chosen));
    for (std::size_t b = 0; b < chosen.size(); ++b) {  // (11)
      ExpectNear(scene.Sent(scene.updates.first[c] + b), scene.Gradient(c, chosen[b], rate / p),
                 1e-5 / p);
    }
    EXPECT_TRUE(scene.updates.losses.empty());  // they are private
  }
};

TEST_P(PofMklStep, FollowsAlgorithm2) {
  StepScene scene("pof-mkl", OptionsOf(GetParam()));
  twin::Matrix losses(2, Vector(GetParam().kernels));
  for (int t = 0; t < 6; ++t) {
    const double anytime = GetParam().schedule == Schedule::kConstant ? 1 : 1 / std::sqrt(5.0 + t);
    scene.broadcast.step = static_cast<std::uint64_t>(4 + t);
    scene.DrawSamples();
    if (GetParam().loss == LossKind::kLogistic) scene.y = {0, 1};
    scene.Run();
    for (std::size_t c = 0; c < 2; ++c) {
      const Vector weights = twin::WeightsOf(losses[c], 0.6 * anytime);
      ExpectFormulas(scene, c, losses[c], weights, 0.2 * anytime);
      for (std::size_t i = 0; i < losses[c].size(); ++i) losses[c][i] += scene.L(c, i);  // (12)
      ExpectNear(scene.states[c], losses[c], 5e-5);
    }
  }
}

TEST_P(PofMklStep, OfPofAdagradSendsPlainGradientsAndWeighsByAdaHedge) {
  StepScene scene("pof-adagrad", OptionsOf(GetParam()));
  std::vector<twin::SlowAdaHedge> hedges(2, twin::SlowAdaHedge(GetParam().kernels));
  for (int t = 0; t < 6; ++t) {
    scene.DrawSamples();
    if (GetParam().loss == LossKind::kLogistic) scene.y = {0, 1};
    scene.Run();
    for (std::size_t c = 0; c < 2; ++c) {
      const Vector weights = hedges[c].Weights();
      ExpectFormulas(scene, c, hedges[c].losses, weights, 1);
      Vector step;
      for (std::size_t i = 0; i < weights.size(); ++i) step.push_back(scene.L(c, i));
      hedges[c].Learn(step);
      Vector expected = hedges[c].losses;
      expected.push_back(hedges[c].gap);
      ExpectNear(scene.states[c], expected, 5e-5);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Settings, PofMklStep,
    testing::Values(PofCase{.name = "Squared"}, PofCase{.name = "Huber", .loss = LossKind::kHuber},
                    PofCase{.name = "Logistic", .loss = LossKind::kLogistic},
                    PofCase{.name = "AllKernels", .per_upload = 7},
                    PofCase{.name = "FullExploration", .per_upload = 3, .xi = 1},
                    PofCase{.name = "OneKernel", .per_upload = 1, .kernels = 1},
                    PofCase{.name = "NoRegularization", .lambda = 0},
                    PofCase{.name = "Anytime", .schedule = Schedule::kAnytime}),
    [](const auto& test) { return test.param.name; });

TEST(PofMklSteps, FollowTheBestKernelAfterLargeLosses) {
  StepScene scene("pof-mkl");
  scene.states[0] = {1e9, 1e9, 1e9 - 1e5, 1e9, 1e9, 1e9, 1e9};
  scene.states[1] = Vector(twin::kKernels, 1e12);
  scene.Run();
  EXPECT_NEAR(scene.Predicted(0), scene.F(0, 2), 1e-5);
  double mean = 0;
  for (std::size_t i = 0; i < twin::kKernels; ++i) mean += scene.F(1, i) / twin::kKernels;
  EXPECT_NEAR(scene.Predicted(1), mean, 1e-5);
}

TEST(PofMklSteps, SendOneKernelWithFullExplorationUnlessAsked) {
  StepScene scene("pof-mkl");
  scene.uniforms = {0, 0.99};
  scene.Run();
  EXPECT_THAT(scene.updates.blocks, ElementsAre(0, 6));
  EXPECT_THAT(scene.updates.probability, testing::Each(1.0 / 7));
}

TEST(PofMklSteps, NeedNoDrawToSendAllKernels) {
  AlgorithmOptions options = twin::TestOptions();
  options.kernels_per_upload = twin::kKernels;
  StepScene given("pof-mkl", options);
  StepScene drawn("pof-mkl", options);
  drawn.uniforms.clear();
  given.Run();
  drawn.Run();
  EXPECT_EQ(given.updates.values, drawn.updates.values);
  EXPECT_THAT(drawn.updates.probability, ElementsAre(1, 1));
}

TEST(PofMklSteps, SendWhatTheModelNeedsAtASampleOfZeros) {
  StepScene scene("pof-mkl");
  scene.broadcast.model.assign(scene.broadcast.model.size(), 0);
  scene.x = {{0, 0, 0}, {0, 0, 0}};
  scene.Run();
  EXPECT_EQ(scene.Predicted(0), 0);
  const double each = 0.2 * 7 * -2 * scene.y[0] / std::sqrt(5.0);  // eta / p, slope, cos 0
  ExpectNear(scene.Sent(0), {0, 0, 0, 0, 0, each, each, each, each, each}, 1e-6);
}

}  // namespace
}  // namespace polykern::scalar
