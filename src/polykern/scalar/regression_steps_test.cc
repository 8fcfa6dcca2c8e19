// The client halves of pof-newton and local-rls against exact ridge regressions, in double.

#include <algorithm>
#include <cmath>
#include <vector>

#include "polykern/core/kernels.h"
#include "polykern/scalar/step_scene_testing.h"

namespace polykern::scalar {
namespace {

using twin::Vector;
using twin::Weighted;

double Clip(double f) {
  return std::clamp(f, 0.0, 1.0);
}

/// A client's weights by one of the rules, and its prediction by them.
struct SlowMixture {
  SlowMixture(Weighting its_rule, std::size_t experts) : rule(its_rule), hedge(experts) {}

  Vector Weights() const {
    if (rule == Weighting::kAdaHedge) return hedge.Weights();
    return twin::WeightsOf(hedge.losses, rule == Weighting::kHedge ? 0.5 : 2);
  }
  double Predict(const Vector& f) const {
    const Vector weights = Weights();
    if (rule != Weighting::kAggregating) return twin::Dot(weights, f);
    const auto mix_loss = [&](double y) {
      double sum = 0;
      for (std::size_t i = 0; i < f.size(); ++i) {
        sum += weights[i] * std::exp(-2 * (f[i] - y) * (f[i] - y));
      }
      return -std::log(sum) / 2;
    };
    return Clip((1 + mix_loss(0) - mix_loss(1)) / 2);
  }
  void Learn(const Vector& f, double y) {
    Vector losses;
    for (const double each : f) losses.push_back((each - y) * (each - y));
    hedge.Learn(losses);  // the other rules do not look at its gap
  }

  Weighting rule;
  twin::SlowAdaHedge hedge;
};

/// A ridge regression for each kernel of a bank, solved anew for every prediction.
struct SlowRegressions {
  explicit SlowRegressions(const KernelBank& its_bank) : bank(its_bank), samples(bank.kernels()) {}

  Vector Predict(double base, const Vector& x, double ridge, std::size_t silent_before) const {
    Vector f;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      double correction = 0;
      if (samples[i].size() >= silent_before) {
        correction = twin::Dot(twin::RidgeSolution(samples[i], ridge, bank.feature_size()),
                               twin::FeaturesOf(bank, i, x));
      }
      f.push_back(Clip(base + correction));
    }
    return f;
  }
  void Learn(double left_over, const Vector& x) {
    for (std::size_t i = 0; i < samples.size(); ++i) {
      samples[i].push_back({twin::FeaturesOf(bank, i, x), left_over});
    }
  }

  const KernelBank& bank;
  std::vector<std::vector<Weighted>> samples;
};

class RegressionSteps : public testing::TestWithParam<Weighting> {
 protected:
  RegressionSteps() {
    options_.ridge = 0.1;
    options_.weighting = GetParam();
    options_.weight_rate.reset();
    options_.local_kernels = 2;
    options_.local_memory = 1;  // for three features of either
    options_.kernels_per_upload = 2;
    options_.exploration = 0.4;
  }
  AlgorithmOptions options_ = twin::TestOptions();
};

TEST_P(RegressionSteps, OfLocalRlsAreRidgeRegressionsFromTheMiddleOfTheLabels) {
  options_.local_memory = 32;
  StepScene scene("local-rls", options_);
  std::vector<SlowRegressions> regressions(2, SlowRegressions(*scene.bank));
  std::vector<SlowMixture> mixtures(2, SlowMixture(GetParam(), twin::kKernels));
  for (int t = 0; t < 8; ++t) {
    scene.DrawSamples();
    if (t == 3) scene.x[0] = {0, 0, 0};
    scene.Run();
    for (std::size_t c = 0; c < 2; ++c) {
      const Vector f = regressions[c].Predict(0.5, scene.x[c], 0.1, 0);
      ExpectNear(scene.step->kernel_predictions().subspan(c * f.size(), f.size()), f);
      EXPECT_NEAR(scene.Predicted(c), mixtures[c].Predict(f), 1e-4);
      mixtures[c].Learn(f, scene.y[c]);
      regressions[c].Learn(scene.y[c] - 0.5, scene.x[c]);
      ExpectNear(std::span(scene.states[c]).first(f.size()), mixtures[c].hedge.losses);
    }
    EXPECT_TRUE(scene.updates.values.empty());
  }
}

TEST_P(RegressionSteps, OfPofNewtonMixClippedKernelsAndThenPrivateCorrections) {
  StepScene scene("pof-newton", options_);
  const KernelBank& local = *scene.algorithm->definition().local_bank;
  ASSERT_EQ(local.feature_size(), 6U);
  std::vector<SlowRegressions> regressions(2, SlowRegressions(local));
  std::vector<SlowMixture> inner(2, SlowMixture(GetParam(), twin::kKernels));
  std::vector<SlowMixture> outer(2, SlowMixture(GetParam(), 3));
  double corrected = 0;
  for (int t = 0; t < 12; ++t) {
    scene.DrawSamples();
    scene.Run();
    for (std::size_t c = 0; c < 2; ++c) {
      Vector f;
      for (std::size_t i = 0; i < twin::kKernels; ++i) f.push_back(Clip(scene.F(c, i) + 0.5));
      ExpectNear(scene.step->kernel_predictions().subspan(c * f.size(), f.size()), f);
      const double base = inner[c].Predict(f);
      Vector all = regressions[c].Predict(base, scene.x[c], 0.1, 6);
      all.insert(all.begin(), base);
      EXPECT_NEAR(scene.Predicted(c), outer[c].Predict(all), 1e-4) << "step " << t;
      const double correction = std::abs(scene.Predicted(c) - base);
      EXPECT_LE(correction, t < 6 ? 1e-4 : 1) << "listens first";
      corrected = std::max(corrected, correction);
      inner[c].Learn(f, scene.y[c]);
      outer[c].Learn(all, scene.y[c]);
      regressions[c].Learn(scene.y[c] - base, scene.x[c]);
    }
  }
  EXPECT_GT(corrected, 0.01);
}

INSTANTIATE_TEST_SUITE_P(Rules, RegressionSteps,
                         testing::Values(Weighting::kHedge, Weighting::kAdaHedge,
                                         Weighting::kAggregating));

TEST(PofNewtonStep, SendsDirectionsWhoseLengthsAreTheLabels) {
  AlgorithmOptions options = twin::TestOptions();
  options.kernels_per_upload = twin::kKernels;
  options.experts = Experts::kFederated;
  StepScene scene("pof-newton", options, 4);
  scene.y = {0.5, 0.2, 7, -3};  // the last two are cut off at 1 and 0
  const Vector centred = {0, -0.3, 0.5, -0.5};
  scene.Run();
  EXPECT_THAT(scene.updates.probability, testing::Each(testing::DoubleNear(1, 1e-15)));
  ASSERT_EQ(scene.updates.blocks.size(), 4 * twin::kKernels);
  for (std::size_t b = 0; b < scene.updates.blocks.size(); ++b) {
    const std::size_t c = b / twin::kKernels;
    Vector message = scene.Z(c, scene.updates.blocks[b]);
    for (double& value : message) value *= std::exp(std::asinh(centred[c]));
    ExpectNear(scene.Sent(b), message, 4e-6);
  }
}

TEST(PofNewtonStep, DrawsByAlgorithm1WithItsOwnExploration) {
  AlgorithmOptions options = twin::TestOptions();
  options.kernels_per_upload = 2;
  options.experts = Experts::kFederated;
  options.weighting = Weighting::kHedge;
  StepScene scene("pof-newton", options);
  const Vector losses = {4, 2, 3, 7, 1, 5, 6};
  Vector state = losses;
  state.push_back(0);
  scene.states = {state, state};
  options.exploration = 0.2;
  scene.Run();
  for (std::size_t c = 0; c < 2; ++c) {
    double p = 0;
    const auto chosen =
        twin::Choose(options, losses, twin::WeightsOf(losses, 0.6), scene.uniforms[c], p);
    EXPECT_THAT(scene.updates.BlocksOf(c), testing::ElementsAreArray(chosen));
    EXPECT_NEAR(scene.updates.probability[c], p, 1e-12);
  }
}

TEST(PofNewtonStep, SaysTheMiddleOfTheLabelsBeforeAnythingIsKnown) {
  for (const std::string_view name : {"pof-newton", "local-rls"}) {
    StepScene scene(name);
    scene.broadcast.model.assign(scene.broadcast.model.size(), 0);
    scene.Run();
    EXPECT_NEAR(scene.Predicted(0), 0.5, 1e-15);
  }
}

}  // namespace
}  // namespace polykern::scalar
