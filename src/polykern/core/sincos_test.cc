#include <algorithm>
#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/random.h"
#include "polykern/core/tools_testing.h"

namespace polykern {
namespace {

/// The largest error of sine or cosine over the angles, against long double.
double WorstError(const std::vector<float>& angles, float* where) {
  const auto pairs = SinesAndCosines(angles);
  double worst = 0;
  for (std::size_t i = 0; i < angles.size(); ++i) {
    const auto angle = static_cast<long double>(angles[i]);
    const auto error = static_cast<double>(
        std::max(std::abs(static_cast<long double>(pairs[2 * i]) - std::sin(angle)),
                 std::abs(static_cast<long double>(pairs[2 * i + 1]) - std::cos(angle))));
    if (!(error <= worst)) {
      worst = error;
      *where = angles[i];
    }
  }
  return worst;
}

/// On every target this machine has.
void ExpectAccurate(const std::vector<float>& angles) {
  OnEveryTarget([&] {
    float where = 0;
    EXPECT_LT(WorstError(angles, &where), 1e-7) << "at " << where;
  });
}

TEST(SineAndCosine, AreWithinOneTenMillionthOverTheFloatReduction) {
  std::vector<float> angles;
  Random random(12, Purpose::kTest);
  constexpr int kSamples = 200000;
  constexpr int kSmallSamples = 50000;
  angles.reserve(kSamples + kSmallSamples);
  for (int i = 0; i < kSamples; ++i) {  // stratified over [-40000, 40000]
    angles.push_back(static_cast<float>(-40000 + 80000 * (i + random.Uniform()) / kSamples));
  }
  for (int i = 0; i < kSmallSamples; ++i) {  // where most angles are
    angles.push_back(static_cast<float>(-20 + 40 * (i + random.Uniform()) / kSmallSamples));
  }
  ExpectAccurate(angles);
}

TEST(SineAndCosine, AreWithinOneTenMillionthNearMultiplesOfAQuarterTurn) {
  std::vector<float> angles;
  const double quarter = std::acos(-1.0) / 2;
  for (int k = -51000; k <= 51000; ++k) {  // multiples of pi/4: where reductions change as well
    const auto angle = static_cast<float>(k * quarter / 2);
    angles.push_back(angle);
    angles.push_back(std::nextafter(angle, 1e9F));
    angles.push_back(std::nextafter(angle, -1e9F));
  }
  ExpectAccurate(angles);
}

TEST(SineAndCosine, AreExactEnoughBeyondTheFloatReduction) {
  const float large = 32768;
  std::vector<float> angles = {
      large, std::nextafter(large, 0.0F),      std::nextafter(large, 1e9F), 1e5F, 1e8F,
      1e20F, std::numeric_limits<float>::max()};
  Random random(13, Purpose::kTest);
  for (int i = 0; i < 20000; ++i) {
    angles.push_back(static_cast<float>(std::pow(10, 4 + 34 * random.Uniform())));
  }
  const std::size_t positive = angles.size();
  for (std::size_t i = 0; i < positive; ++i) angles.push_back(-angles[i]);
  ExpectAccurate(angles);
}

TEST(SineAndCosine, KeepTinyAngles) {
  const std::vector<float> angles = {0.0F, -0.0F, 1e-45F, -1e-45F, 1e-40F, 1e-30F, -1e-20F, 1e-10F};
  const auto pairs = SinesAndCosines(angles);
  for (std::size_t i = 0; i < angles.size(); ++i) {
    EXPECT_EQ(pairs[2 * i], angles[i]);
    EXPECT_EQ(pairs[2 * i + 1], 1);
  }
}

TEST(SineAndCosine, AreOddAndEven) {
  std::vector<float> angles;
  for (int i = 1; i < 2000; ++i) {
    angles.push_back(static_cast<float>(i) * 17.77F);
    angles.push_back(static_cast<float>(i) * -17.77F);
  }
  const auto pairs = SinesAndCosines(angles);
  for (std::size_t i = 0; i < angles.size(); i += 2) {
    EXPECT_EQ(pairs[2 * i], -pairs[2 * i + 2]);
    EXPECT_EQ(pairs[2 * i + 1], pairs[2 * i + 3]);
  }
}

}  // namespace
}  // namespace polykern
