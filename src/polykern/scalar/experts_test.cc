#include <cmath>
#include <string>

#include "polykern/algorithms/shared/mixture.h"
#include "polykern/core/random.h"
#include "polykern/scalar/experts_internal.h"
#include "polykern/scalar/step_scene_testing.h"

namespace polykern::scalar {
namespace {

using testing::ElementsAre;
using twin::Vector;

constexpr Weighting kWeightings[] = {Weighting::kHedge, Weighting::kAdaHedge,
                                     Weighting::kAggregating};

Vector DrawUniforms(Random& random, std::size_t count) {
  Vector drawn(count);
  for (double& each : drawn) each = random.Uniform();
  return drawn;
}

AlgorithmOptions With(Weighting weighting) {
  AlgorithmOptions options;
  options.weighting = weighting;
  return options;
}

TEST(AdaHedge, FollowsAnExampleByHand) {
  EXPECT_TRUE(std::isinf(AdaHedgeRate(0, 2)));
  Doubles losses(2);
  // Equal weights lose 1/2, the best nothing: the gap is 1/2 and the rate 2 ln 2.
  double gap = LearnAdaHedge(Doubles{0, 1}, Doubles{0.5, 0.5}, 0, losses);
  EXPECT_EQ(gap, 0.5);
  EXPECT_THAT(losses, ElementsAre(0, 1));
  EXPECT_DOUBLE_EQ(AdaHedgeRate(gap, 2), 2 * std::log(2));
  // Weights 4/5 and 1/5 lose 4/5; the mix loss is -ln(4/5 / 4 + 1/5) / (2 ln 2).
  gap = LearnAdaHedge(Doubles{1, 0}, Doubles{0.8, 0.2}, gap, losses);
  EXPECT_NEAR(gap, 0.5 + 0.8 + std::log(0.4) / (2 * std::log(2)), 1e-15);
  EXPECT_THAT(losses, ElementsAre(1, 1));
}

TEST(AdaHedge, FollowsItsPaper) {
  Random random(11, Purpose::kTest);
  for (const double scale : {1e-6, 1.0, 1e4}) {  // it knows no unit of the losses
    twin::SlowAdaHedge slow(5);
    Doubles losses(5);
    double gap = 0;
    for (int t = 0; t < 60; ++t) {
      Vector step = DrawUniforms(random, 5);
      for (double& each : step) each *= scale;
      const Doubles weights = SoftMin(losses, AdaHedgeRate(gap, 5));
      ExpectNear(weights, slow.Weights(), 1e-11);
      gap = LearnAdaHedge(step, weights, gap, losses);
      slow.Learn(step);
      ASSERT_NEAR(gap, slow.gap, 1e-11 * scale);
    }
    EXPECT_EQ(losses, slow.losses);
  }
}

TEST(AdaHedge, LearnsNothingFromEqualLossesAndStaysFiniteAfterHugeOnes) {
  Doubles losses = {0, 2, 1};
  EXPECT_NEAR(LearnAdaHedge(Doubles{3, 3, 3}, SoftMin(losses, 1), 0.25, losses), 0.25, 1e-14);
  // An expert without weight may do best by far: it must not hide what the others differ by.
  losses = {0, 0, 1e6};
  const double rate = std::log(3) / 0.5;
  const double gap = LearnAdaHedge(Doubles{1e6, 1e6 + 1, 0}, Doubles{0.5, 0.5, 0}, 0.5, losses);
  EXPECT_NEAR(gap, 0.5 + 0.5 + std::log((1 + std::exp(-rate)) / 2) / rate, 1e-9);
  EXPECT_THAT(losses, ElementsAre(1e6, 1e6 + 1, 1e6));
}

TEST(Mixture, WeighsExpertsByTheRateOfItsRule) {
  const Vector state = {0.5, 0.2, 1.5, 0.7};  // the last is the gap
  const Vector losses = {0.5, 0.2, 1.5};
  const double rates[] = {kUnitRate, std::log(3) / 0.7, 2};
  for (std::size_t rule = 0; rule < 3; ++rule) {
    ExpectNear(MixtureWeights(With(kWeightings[rule]), state), twin::WeightsOf(losses, rates[rule]),
               1e-14);
  }
  AlgorithmOptions given = With(Weighting::kHedge);
  given.weight_rate = 3;
  ExpectNear(MixtureWeights(given, state), twin::WeightsOf(losses, 3), 1e-14);
}

TEST(Mixture, PredictsTheMeanUnlessItAggregates) {
  const Doubles weights = {0.25, 0.75};
  const Floats f = {1, 0.5F};
  EXPECT_EQ(MixtureOf(With(Weighting::kHedge), weights, f), 0.625);
  EXPECT_EQ(MixtureOf(With(Weighting::kAdaHedge), weights, f), 0.625);
  EXPECT_NE(MixtureOf(With(Weighting::kAggregating), weights, f), 0.625);
}

TEST(Mixture, ThatAggregatesLosesNoMoreThanItsMixLoss) {  // Vovk: at rate 2, for every label
  const AlgorithmOptions options = With(Weighting::kAggregating);
  Random random(12, Purpose::kTest);
  for (int trial = 0; trial < 200; ++trial) {
    const Vector drawn = DrawUniforms(random, 4);
    const Floats f(drawn.begin(), drawn.end());
    const Vector weights = twin::WeightsOf(DrawUniforms(random, 4), 5);
    const double predicted = MixtureOf(options, weights, f);
    for (const double y : {0.0, 0.3, 1.0}) {
      double mixed = 0;
      for (std::size_t i = 0; i < 4; ++i) {
        mixed += weights[i] * std::exp(-2 * std::pow(static_cast<double>(f[i]) - y, 2));
      }
      EXPECT_LE(std::pow(predicted - y, 2), -std::log(mixed) / 2 + 1e-12);
    }
  }
  for (const float f : {0.0F, 0.25F, 1.0F}) {  // one expert is followed
    EXPECT_NEAR(MixtureOf(options, Doubles{1}, Floats{f}), static_cast<double>(f), 1e-15);
  }
}

TEST(Mixture, AddsLossesAndOnlyAdaHedgeKeepsAGap) {
  for (const Weighting weighting : kWeightings) {
    Vector state(4);
    const Doubles weights = MixtureWeights(With(weighting), state);
    LearnMixture(With(weighting), Doubles{1, 2, 6}, weights, state);
    const double gap = weighting == Weighting::kAdaHedge ? 2 : 0;  // mean 3, best 1
    ExpectNear(state, {1, 2, 6, gap}, 1e-14);
  }
}

struct ChoiceCase {
  std::size_t per_upload;
  double xi;
};

class Choices : public testing::TestWithParam<ChoiceCase> {};

TEST_P(Choices, AreThoseOfAlgorithm1) {
  AlgorithmOptions options;
  options.kernels_per_upload = GetParam().per_upload;
  options.exploration = GetParam().xi;
  Random random(13, Purpose::kTest);
  for (int trial = 0; trial < 100; ++trial) {
    Vector losses = DrawUniforms(random, 7);
    losses[5] = losses[2];  // a tie goes to the lower index
    const Vector weights = twin::WeightsOf(losses, 3);
    const double uniform = random.Uniform();
    double p = 0;
    const Vector in_order(7);  // xi = 1 sorts nothing
    const auto expected =
        twin::Choose(options, GetParam().xi < 1 ? losses : in_order, weights, uniform, p);
    const Choice choice =
        ChooseKernels(losses, weights, GetParam().per_upload, GetParam().xi, uniform);
    EXPECT_THAT(choice.kernels, testing::ElementsAreArray(expected));
    EXPECT_NEAR(choice.probability, p, 1e-14);
  }
}

INSTANTIATE_TEST_SUITE_P(Settings, Choices,
                         testing::Values(ChoiceCase{1, 0.2}, ChoiceCase{3, 0.2}, ChoiceCase{7, 0.5},
                                         ChoiceCase{2, 1}, ChoiceCase{7, 1}),
                         [](const auto& test) { return std::to_string(test.index); });

TEST(Choice, OfAllKernelsIsCertain) {
  const Vector equal(4, 0.25);
  for (const double xi : {0.3, 1.0}) {
    const Choice choice = ChooseKernels(Vector(4), equal, 4, xi, 0.999);
    EXPECT_THAT(choice.kernels, ElementsAre(0, 1, 2, 3));
    EXPECT_DOUBLE_EQ(choice.probability, 1);
  }
}

TEST(Choice, TakesTheLastBinWhereRoundingLeavesNone) {
  const Choice choice = ChooseKernels(Vector{0, 1}, Vector{0.4, 0.4}, 1, 0.1, 0.99);
  EXPECT_THAT(choice.kernels, ElementsAre(1));
  EXPECT_NEAR(choice.probability, 0.05 + 0.9 * 0.4, 1e-15);
}

/// What a sample leaves of the ones before it; then the next so many axes get back a share of
/// their ridge, so that none ever has less than half of it.
struct Forgetting {
  double factor;
  std::size_t axes;
  double share;
};

class Regressions : public testing::TestWithParam<Forgetting> {};

TEST_P(Regressions, SolveTheNormalEquations) {
  constexpr std::size_t kSize = 4;
  const auto [factor, axes, share] = GetParam();
  AlgorithmOptions options;
  options.ridge = 0.1;
  options.forgetting = factor;
  Vector state(RegressionSize(kSize));
  twin::Matrix a(kSize, Vector(kSize));
  Vector b(kSize);
  for (std::size_t i = 0; i < kSize; ++i) a[i][i] = options.ridge;
  Random random(14, Purpose::kTest);
  std::size_t axis = 0;
  for (int t = 0; t < 30; ++t) {
    Floats z;
    for (std::size_t i = 0; i < kSize; ++i) z.push_back(static_cast<float>(random.Normal()));
    const double y = random.Uniform();
    LearnRegression(options, z, y, state);
    for (std::size_t i = 0; i < kSize; ++i) {
      const auto z_i = static_cast<double>(z[i]);
      b[i] = factor * b[i] + y * z_i;
      for (std::size_t j = 0; j < kSize; ++j) {
        a[i][j] = factor * a[i][j] + z_i * static_cast<double>(z[j]);
      }
    }
    for (std::size_t n = 0; n < axes; ++n, axis = (axis + 1) % kSize) {
      a[axis][axis] += options.ridge * share;
    }
    EXPECT_EQ(state[0], t + 1);
    ExpectNear(std::span(state).subspan(1, kSize), twin::Solve(a, b), 1e-10);
  }
  for (std::size_t i = 0; i < kSize; ++i) {  // P is the inverse
    Vector unit(kSize);
    unit[i] = 1;
    ExpectNear(std::span(state).subspan(1 + kSize * (1 + i), kSize), twin::Solve(a, unit), 1e-10);
  }
}

INSTANTIATE_TEST_SUITE_P(Factors, Regressions,
                         testing::Values(Forgetting{1, 0, 0},
                                         Forgetting{0.98, 1, 1 - std::pow(0.98, 4)},
                                         Forgetting{0.8, 2, 1 - 0.8 * 0.8}, Forgetting{0.6, 4, 0.4},
                                         Forgetting{0.3, 4, 0.7}),
                         [](const auto& test) { return std::to_string(test.index); });

TEST(Regression, LearnsNothingFromASampleOfZeros) {
  AlgorithmOptions options;
  options.ridge = 0.5;
  Vector state(RegressionSize(2));
  LearnRegression(options, Floats{0, 0}, 1, state);
  EXPECT_THAT(state, ElementsAre(1, 0, 0, 2, 0, 0, 2));
}

}  // namespace
}  // namespace polykern::scalar
