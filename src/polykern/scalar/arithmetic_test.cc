#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "polykern/algorithms/shared/twin_testing.h"
#include "polykern/core/kernels.h"
#include "polykern/core/random.h"
#include "polykern/core/tools_testing.h"
#include "polykern/core/vector_ops.h"
#include "polykern/scalar/arithmetic_internal.h"

namespace polykern::scalar {
namespace {

using testing::ElementsAre;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The sine and the cosine of an angle: one kernel of one feature, with the frequency 1.
Waves SineAndCosineOf(float angle) {
  return WavesOf(KernelBank({1.0F}, 1, 1, 1), 0, std::vector{angle});
}

/// Angles in [-most, most], of every size.
Floats AnglesUpTo(double most) {
  Random random(1, Purpose::kTest);
  Floats angles = {0, static_cast<float>(most), static_cast<float>(-most)};
  for (int i = 0; i < 3000; ++i) {
    angles.push_back(static_cast<float>(most * (2 * random.Uniform() - 1)));
  }
  return angles;
}

class Angles : public testing::TestWithParam<double> {};

TEST_P(Angles, HaveTheirSinesAndCosinesWithin1e7) {
  for (const float angle : AnglesUpTo(GetParam())) {
    const auto exact = static_cast<double>(angle);
    const Waves waves = SineAndCosineOf(angle);
    ASSERT_NEAR(static_cast<double>(waves.sines.at(0)), std::sin(exact), 1e-7) << exact;
    ASSERT_NEAR(static_cast<double>(waves.cosines.at(0)), std::cos(exact), 1e-7) << exact;
  }
}

TEST_P(Angles, HaveTheBitsOfTheVectorUnits) {
  const auto targets = FusedTargets();
  if (targets.empty()) GTEST_SKIP() << "this machine has no fused multiply-add";
  const Floats angles = AnglesUpTo(GetParam());
  Floats expected;
  for (const float angle : angles) {
    expected.push_back(SineAndCosineOf(angle).sines[0]);
    expected.push_back(SineAndCosineOf(angle).cosines[0]);
  }
  OnEveryTarget([&] { EXPECT_EQ(SinesAndCosines(angles), expected); }, targets);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Angles, testing::Values(1e-6, 0.8, 7.0, 1000.0, 32768.0, 1e9));

TEST(Waves, OfAnInfiniteAngleAreNotNumbers) {
  const Waves waves = SineAndCosineOf(std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(waves.sines[0]));
  EXPECT_TRUE(std::isnan(waves.cosines[0]));
}

/// Samples of nine dimensions: nothing, one number, ordinary ones, small and huge ones.
std::vector<Floats> DrawInputs() {
  std::vector<Floats> inputs(5, Floats(9));
  Random random(2, Purpose::kTest);
  inputs[1][7] = 0.5F;
  for (std::size_t j = 0; j < 9; ++j) {
    inputs[2][j] = static_cast<float>(random.Normal());
    inputs[3][j] = 1e-7F * inputs[2][j];
    inputs[4][j] = 1e7F * inputs[2][j];
  }
  return inputs;
}

class Banks : public testing::TestWithParam<Draw> {
 protected:
  const KernelBank bank_{MakeDictionary("gaussian", 6), 9, 7, 4, GetParam()};
  const std::vector<Floats> inputs_ = DrawInputs();
};

TEST_P(Banks, HaveTheFeaturesOfThePaper) {  // (6)
  for (const std::size_t input : {0, 1, 2, 3}) {
    const Floats& x = inputs_[input];
    for (std::size_t i = 0; i < bank_.kernels(); ++i) {
      const Floats z = Features(WavesOf(bank_, i, x));
      const auto expected = twin::FeaturesOf(bank_, i, twin::Vector(x.begin(), x.end()));
      ASSERT_EQ(z.size(), bank_.feature_size());
      for (std::size_t j = 0; j < z.size(); ++j) {  // angles of up to 100 are rounded to 4e-6
        EXPECT_NEAR(static_cast<double>(z[j]), expected[j], 4e-6) << i << ' ' << j;
      }
    }
  }
}

TEST_P(Banks, HaveFeaturesOfLengthOneHoweverLongTheSample) {
  for (const Floats& x : inputs_) {
    for (std::size_t i = 0; i < bank_.kernels(); ++i) {
      EXPECT_NEAR(SumOfSquares(Features(WavesOf(bank_, i, x))), 1, 1e-6);
    }
  }
}

TEST_P(Banks, HaveTheBitsOfEvaluateKernels) {
  const auto targets = FusedTargets();
  if (targets.empty()) GTEST_SKIP() << "this machine has no fused multiply-add";
  const std::size_t width = bank_.feature_size();
  Floats theta;
  Random random(3, Purpose::kTest);
  for (std::size_t j = 0; j < bank_.kernels() * width; ++j) {
    theta.push_back(static_cast<float>(random.Normal()));
  }
  std::vector<std::uint32_t> every(bank_.kernels());
  std::iota(every.begin(), every.end(), 0U);
  for (const Floats& x : inputs_) {
    Floats f;
    Floats z;
    for (std::size_t i = 0; i < bank_.kernels(); ++i) {
      const Waves waves = WavesOf(bank_, i, x);
      f.push_back(ThetaDotZ(std::span(theta).subspan(i * width, width), waves));
      for (const float value : Features(waves)) z.push_back(value);
    }
    OnEveryTarget(
        [&] {
          Floats fast_f(f.size());
          Floats fast_z(z.size());
          FeatureScratch scratch;
          const std::vector<std::size_t> first = {0, every.size()};
          EvaluateKernels(PackedKernels(bank_), {1, x, theta, first, every, fast_f, fast_z},
                          scratch);
          EXPECT_EQ(fast_f, f);
          EXPECT_EQ(fast_z, z);
        },
        targets);
  }
}

INSTANTIATE_TEST_SUITE_P(Draws, Banks,
                         testing::Values(Draw::kIndependent, Draw::kOrthogonal, Draw::kShared));

TEST(ThetaDotZ, IsTheProductOfThetaAndTheFeatures) {
  Random random(4, Purpose::kTest);
  for (const std::size_t features : {1, 2, 3, 4, 5, 8, 23}) {  // chains of different lengths
    Waves waves;
    Floats theta;
    for (std::size_t j = 0; j < features; ++j) {
      const double angle = 6 * random.Uniform();
      waves.sines.push_back(static_cast<float>(std::sin(angle)));
      waves.cosines.push_back(static_cast<float>(std::cos(angle)));
      theta.push_back(static_cast<float>(random.Normal()));
      theta.push_back(static_cast<float>(random.Normal()));
    }
    const Floats z = Features(waves);
    const double expected = twin::Dot({theta.begin(), theta.end()}, {z.begin(), z.end()});
    EXPECT_NEAR(static_cast<double>(ThetaDotZ(theta, waves)), expected, 2e-6);
  }
}

TEST(Sums, AreExactWhereEveryPartialSumIs) {
  Doubles whole;
  Floats floats;
  double sum = 0;
  double squares = 0;
  for (int count = 0; count < 40; ++count) {
    EXPECT_EQ(Sum(whole), sum);
    EXPECT_EQ(Dot(whole, floats), squares);
    EXPECT_EQ(SumOfSquares(whole), squares);
    EXPECT_EQ(SumOfSquares(floats), squares);
    whole.push_back(count % 2 == 0 ? count : -count);
    floats.push_back(static_cast<float>(whole.back()));
    sum += whole.back();
    squares += whole.back() * whole.back();
  }
}

TEST(Sums, AddEveryEighthNumberFirst) {
  Doubles values(9);
  values[0] = 1e17;
  values[4] = 1;
  values[8] = -1e17;  // to the first, so that what is between is not lost
  EXPECT_EQ(Sum(values), 1);
  std::swap(values[8], values[7]);
  EXPECT_EQ(Sum(values), 0);
}

TEST(SoftMin, IsHedgesWeights) {
  const Doubles losses = {3, 1, 2.5, 40, 1.25};
  for (const double rate : {0.0, 0.01, 1.0, 7.5}) {
    const twin::Vector expected = twin::WeightsOf(losses, rate);
    const Doubles weights = SoftMin(losses, rate);
    for (std::size_t i = 0; i < losses.size(); ++i) {
      EXPECT_NEAR(weights[i], expected[i], 1e-15 + 1e-14 * expected[i]);
    }
  }
}

TEST(SoftMin, NeitherUnderflowsNorDividesByZero) {
  EXPECT_THAT(SoftMin(Doubles{1e9, 1e9 + 1000, 1e9}, 1), ElementsAre(0.5, 0, 0.5));
  EXPECT_THAT(SoftMin(Doubles{2, 1, 1, 3}, kInfinity), ElementsAre(0, 0.5, 0.5, 0));
  EXPECT_THAT(SoftMin(Doubles{1e300, 0}, 1e300), ElementsAre(0, 1));
  EXPECT_THAT(SoftMin(Doubles{5}, kInfinity), ElementsAre(1));
  EXPECT_THAT(SoftMin(Doubles{708, 0}, 1), ElementsAre(testing::Gt(0), 1));  // the least normal
  EXPECT_THAT(SoftMin(Doubles{708.5, 0}, 1), ElementsAre(0, 1));
}

TEST(SoftMin, HasTheBitsOfTheVectorUnits) {
  const auto targets = FusedTargets();
  if (targets.empty()) GTEST_SKIP() << "this machine has no fused multiply-add";
  Random random(5, Purpose::kTest);
  Doubles losses(51);
  for (double& loss : losses) loss = 100 * random.Uniform();
  for (const double rate : {0.0, 1e-3, 0.5, 20.0, kInfinity}) {
    const Doubles expected = SoftMin(losses, rate);
    OnEveryTarget(
        [&] {
          Doubles weights(losses.size());
          polykern::SoftMin(losses, rate, weights);
          EXPECT_EQ(weights, expected);
        },
        targets);
  }
}

TEST(DrawIndex, IsTheFirstWhoseCumulativeProbabilityExceedsTheNumber) {
  const Doubles probabilities = {0.25, 0, 0.5, 0.25};
  const Doubles uniforms = {0, 0.2499, 0.25, 0.7499, 0.75, 0.9999};
  std::vector<std::size_t> drawn;
  for (const double uniform : uniforms) drawn.push_back(DrawIndex(probabilities, uniform));
  EXPECT_THAT(drawn, ElementsAre(0, 0, 2, 2, 3, 3));
  EXPECT_EQ(DrawIndex(Doubles{0.3, 0.3, 0.3}, 0.99), 2U);  // where rounding leaves a rest
  EXPECT_EQ(DrawIndex(Doubles{1}, 0.5), 0U);
}

}  // namespace
}  // namespace polykern::scalar
