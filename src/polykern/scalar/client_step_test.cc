#include <cmath>
#include <string>
#include <vector>

#include "polykern/core/random.h"
#include "polykern/scalar/client_step_internal.h"
#include "polykern/scalar/step_scene_testing.h"

namespace polykern::scalar {
namespace {

using testing::ElementsAre;
using twin::Vector;

/// Client c sends c blocks and predicts its first input; what a step may use is open to tests.
class OpenStep final : public ClientStep {
 public:
  using ClientStep::ClientStep;
  using ClientStep::F;
  using ClientStep::LossOf;
  using ClientStep::RateOr;
  using ClientStep::SendGradient;
  using ClientStep::Uniform;
  using ClientStep::Z;
  const Updates& updates() const { return updates_; }

 private:
  Prediction PredictClient(std::size_t c) const override {
    return {static_cast<double>(X(c)[0]), {static_cast<float>(c)}};
  }
  void LearnClient(std::size_t c, double label) override {
    for (std::size_t b = 0; b < c; ++b) Send(b, Floats{static_cast<float>(label)});
    SendLoss(label + 1);
    Score(label + 2);
    State(c)[0] += label;
  }
};

/// The same cohort as the scene's, before an OpenStep.
struct OpenCohort {
  OpenCohort(const StepScene& scene, std::span<const double> uniforms) : step(*scene.algorithm) {
    for (const Vector& each : scene.x) x.insert(x.end(), each.begin(), each.end());
    for (Vector& state : states) pointers.push_back(state.data());
    step.Predict(scene.broadcast, {scene.ids, x, pointers, uniforms});
  }

  OpenStep step;
  std::vector<float> x;
  twin::Matrix states = twin::Matrix(3, Vector(20));
  std::vector<double*> pointers;
};

TEST(ClientStep, TakesOneClientAfterTheOther) {
  const StepScene scene("pof-mkl", twin::TestOptions(), 3);
  OpenCohort cohort(scene, {});
  for (int round = 0; round < 2; ++round) {  // nothing of the round before stays
    cohort.step.Predict(scene.broadcast, {scene.ids, cohort.x, cohort.pointers, {}});
    EXPECT_THAT(cohort.step.predictions(),
                ElementsAre(scene.x[0][0], scene.x[1][0], scene.x[2][0]));
    EXPECT_THAT(cohort.step.kernel_predictions(), ElementsAre(0, 1, 2));
    const Updates& updates = cohort.step.Learn(Vector{5, 6, 7});
    EXPECT_EQ(updates.step, scene.broadcast.step);
    EXPECT_THAT(updates.clients, ElementsAre(10, 11, 12));
    EXPECT_THAT(updates.first, ElementsAre(0, 0, 1, 3));
    EXPECT_THAT(updates.blocks, ElementsAre(0, 0, 1));
    EXPECT_THAT(updates.values, ElementsAre(6, 7, 7));
    EXPECT_THAT(updates.losses, ElementsAre(6, 7, 8));
    EXPECT_THAT(updates.probability, ElementsAre(1, 1, 1));
    EXPECT_THAT(cohort.step.kernel_losses(), ElementsAre(7, 8, 9));
  }
  EXPECT_EQ(cohort.states[2][0], 14);
}

class StepLosses : public testing::TestWithParam<LossKind> {};

TEST_P(StepLosses, AndGradientsAreTheFormulas) {
  for (const double lambda : {0.0, 0.05}) {
    AlgorithmOptions options = twin::TestOptions(GetParam());
    options.regularization = lambda;
    StepScene scene("pof-mkl", options, 3);
    scene.x[1] = {0, 0, 0};  // sines of 0, cosines of 1
    scene.y = {0, 1, 0};
    OpenCohort cohort(scene, {});
    for (std::size_t c = 0; c < 3; ++c) {
      const Floats f = cohort.step.F(c);
      for (std::size_t i = 0; i < twin::kKernels; ++i) {
        ExpectNear(cohort.step.Z(c, i), scene.Z(c, i), 2e-6);
        EXPECT_NEAR(static_cast<double>(f[i]), scene.F(c, i), 5e-6);
        EXPECT_NEAR(cohort.step.LossOf(i, f[i], scene.y[c]), scene.L(c, i), 1e-5);
        cohort.step.SendGradient(c, i, f[i], scene.y[c], 0.3);
        scene.updates = cohort.step.updates();
        EXPECT_EQ(scene.updates.blocks.back(), i);
        ExpectNear(scene.Sent(c * twin::kKernels + i), scene.Gradient(c, i, 0.3));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, StepLosses, testing::ValuesIn(twin::kLosses));

TEST(ClientStep, DrawsFromTheSeedTheClientAndTheStepUnlessNumbersAreGiven) {
  const StepScene scene("pof-mkl", twin::TestOptions(), 3);
  const OpenCohort given(scene, scene.uniforms);
  const OpenCohort drawn(scene, {});
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_EQ(given.step.Uniform(c, Purpose::kSubset), scene.uniforms[c]);
    for (const Purpose purpose : {Purpose::kSubset, Purpose::kOwnKernels}) {
      EXPECT_EQ(drawn.step.Uniform(c, purpose), Random(twin::kSeed, purpose, 10 + c, 4).Uniform());
    }
  }
}

TEST(ClientStep, TakesUnsetRatesFromTheHorizon) {
  const StepScene scene("pof-mkl");
  const OpenStep step(*scene.algorithm);
  EXPECT_EQ(step.RateOr(0.3), 0.3);
  EXPECT_DOUBLE_EQ(step.RateOr({}), 1 / std::sqrt(150.0));
}

class EveryScalarStep : public testing::TestWithParam<std::string_view> {};

TEST_P(EveryScalarStep, GivesAClientTheSameBitsAloneAndInACohort) {
  constexpr std::size_t kCohort = 5;
  AlgorithmOptions options = twin::TestOptions();
  options.local_memory = 32;
  StepScene all(GetParam(), options, kCohort);
  std::vector<StepScene> alone;
  for (std::size_t c = 0; c < kCohort; ++c) {
    alone.emplace_back(GetParam(), options, 1).ids[0] = all.ids[c];
  }
  for (int t = 0; t < 3; ++t) {
    all.DrawSamples();
    all.Run();
    const std::size_t experts = all.step->kernel_predictions().size() / kCohort;
    for (std::size_t c = 0; c < kCohort; ++c) {
      alone[c].x[0] = all.x[c];
      alone[c].y[0] = all.y[c];
      alone[c].uniforms[0] = all.uniforms[c];
      alone[c].Run();
      EXPECT_EQ(alone[c].Predicted(0), all.Predicted(c));
      EXPECT_EQ(alone[c].states[0], all.states[c]);
      EXPECT_THAT(
          alone[c].step->kernel_predictions(),
          testing::ElementsAreArray(all.step->kernel_predictions().subspan(c * experts, experts)));
      EXPECT_EQ(alone[c].updates.probability[0], all.updates.probability[c]);
      const auto blocks = all.updates.BlocksOf(c);
      ASSERT_THAT(alone[c].updates.blocks, testing::ElementsAreArray(blocks));
      for (std::size_t b = 0; b < blocks.size(); ++b) {
        EXPECT_EQ(alone[c].Sent(b), all.Sent(all.updates.first[c] + b));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryScalarStep,
                         testing::ValuesIn(AlgorithmNames().begin(), AlgorithmNames().end()),
                         [](const auto& test) {
                           std::string name(test.param);
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace polykern::scalar
