#include "polykern/core/random_features.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/feature_scene_testing.h"
#include "polykern/core/random.h"
#include "polykern/core/tools_testing.h"

namespace polykern {
namespace {

TEST(RandomFeatures, EqualTheSlowVersionInDouble) {
  for (const std::size_t features : {1U, 2U, 3U, 4U, 5U, 8U, 30U}) {
    for (const std::size_t dimension : {1U, 2U, 7U}) {
      // Angles stay below about 4, so that rounding them to float costs at most 5e-7.
      Scene scene = RandomScene(37, 3, features, dimension, 2, 0.4);
      double norm = 0;
      for (float& value : scene.theta) {
        value /= std::sqrt(2 * static_cast<float>(features));
        norm += static_cast<double>(value) * static_cast<double>(value);
      }
      ASSERT_LT(norm, 12);
      const Output out = scene.Evaluate();
      const auto size = scene.bank.feature_size();
      for (std::size_t k = 0; k < scene.clients(); ++k) {
        for (std::uint32_t i = 0; i < 3; ++i) {
          std::vector<double> z(size);
          double f = 0;
          for (std::size_t j = 0; j < features; ++j) {
            double angle = 0;
            for (std::size_t c = 0; c < dimension; ++c) {
              angle += static_cast<double>(scene.bank.Frequencies(i)[j * dimension + c]) *
                       static_cast<double>(scene.x[k * dimension + c]);
            }
            z[j] = std::sin(angle) / std::sqrt(static_cast<double>(features));
            z[features + j] = std::cos(angle) / std::sqrt(static_cast<double>(features));
          }
          for (std::size_t j = 0; j < size; ++j)
            f += static_cast<double>(scene.theta[i * size + j]) * z[j];
          EXPECT_NEAR(out.f[k * 3 + i], f, 1e-6);
          const auto own = scene.FeaturesOf(out, k, i);
          for (std::size_t j = 0; j < own.size(); ++j) EXPECT_NEAR(own[j], z[j], 1e-6);
        }
      }
    }
  }
}

TEST(RandomFeatures, FollowTheDocumentedOrderOfOperationsBitForBit) {
  if (FusedTargets().empty()) GTEST_SKIP() << "no vector unit with fused multiply-add here";
  for (const std::size_t features : {1U, 2U, 3U, 4U, 6U, 11U, 16U}) {
    const Scene scene = RandomScene(21, 2, features, 5, 2, 3);
    const Output out = scene.Evaluate();
    const auto size = scene.bank.feature_size();
    const float scale = 1 / std::sqrt(static_cast<float>(features));
    for (std::size_t k = 0; k < scene.clients(); ++k) {
      for (std::uint32_t i = 0; i < 2; ++i) {
        std::vector<float> angles(features);
        for (std::size_t j = 0; j < features; ++j) {
          for (std::size_t c = 0; c < 5; ++c) {
            angles[j] =
                std::fma(scene.bank.Frequencies(i)[j * 5 + c], scene.x[k * 5 + c], angles[j]);
          }
        }
        const auto pairs = SinesAndCosines(angles);
        float chain[4] = {};
        for (std::size_t j = 0; j < features; ++j) {
          float& own = chain[j % 4];
          own = std::fma(scene.theta[i * size + j], pairs[2 * j], own);
          own = std::fma(scene.theta[i * size + features + j], pairs[2 * j + 1], own);
        }
        const float f = (chain[0] + chain[2]) + (chain[1] + chain[3]);
        EXPECT_EQ(std::bit_cast<std::uint32_t>(out.f[k * 2 + i]),
                  std::bit_cast<std::uint32_t>(f * scale));
        const auto z = scene.FeaturesOf(out, k, i);
        for (std::size_t j = 0; j < features && !z.empty(); ++j) {
          EXPECT_EQ(z[j], scale * pairs[2 * j]);
          EXPECT_EQ(z[features + j], scale * pairs[2 * j + 1]);
        }
      }
    }
  }
}

TEST(RandomFeatures, HaveUnitNorm) {
  for (const std::size_t features : {1U, 3U, 10U, 100U}) {
    const Scene scene = RandomScene(40, 2, features, 3, 2, 10);
    const Output out = scene.Evaluate();
    const auto size = scene.bank.feature_size();
    for (std::size_t place = 0; place < scene.wanted.size(); ++place) {
      double norm = 0;
      for (std::size_t j = 0; j < size; ++j) {
        const auto value = static_cast<double>(out.z[place * size + j]);
        norm += value * value;
      }
      EXPECT_NEAR(std::sqrt(norm), 1, 1e-6);
    }
  }
}

TEST(RandomFeatures, OfAClientDoNotDependOnItsCohort) {
  const Scene all = MixedScene();
  std::vector<std::vector<std::uint32_t>> alone;
  for (std::size_t k = 0; k < 70; ++k) {
    const Scene one = all.Cohort({k});
    alone.push_back(ClientBits(one, one.Evaluate(), 0));
  }
  Random random(14, Purpose::kTest);
  FeatureScratch scratch;  // shared, so that leftovers of one cohort would show in the next
  for (std::size_t count = 1; count <= 70; ++count) {
    std::vector<std::size_t> order(70);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (int shuffled = 0; shuffled < 2; ++shuffled) {
      if (shuffled == 1) random.Shuffle(order);
      const std::vector<std::size_t> chosen(order.begin(),
                                            order.begin() + static_cast<std::ptrdiff_t>(count));
      const Scene cohort = all.Cohort(chosen);
      const Output out = cohort.Evaluate(scratch);
      for (std::size_t at = 0; at < count; ++at) {
        ASSERT_EQ(ClientBits(cohort, out, at), alone[chosen[at]])
            << "client " << chosen[at] << " at place " << at << " of " << count;
      }
    }
  }
}

TEST(RandomFeatures, OfOtherClientsDoNotSeeANonFiniteSample) {
  const Scene clean = RandomScene(40, 5, 7, 3, 2, 5);
  const Output expected = clean.Evaluate();
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    for (std::size_t culprit = 0; culprit < 40; ++culprit) {
      Scene scene = clean;
      scene.x[culprit * 3 + culprit % 3] = bad;
      const Output out = scene.Evaluate();
      for (std::size_t k = 0; k < 40; ++k) {
        if (k != culprit) {
          ASSERT_EQ(ClientBits(scene, out, k), ClientBits(clean, expected, k));
        }
      }
      for (std::size_t i = 0; i < 5; ++i) EXPECT_FALSE(std::isfinite(out.f[culprit * 5 + i]));
    }
  }
}

TEST(RandomFeatures, FillEveryPlaceThatIsWanted) {
  for (const std::size_t clients : {1U, 2U, 5U, 33U}) {
    const Scene scene = RandomScene(clients, 4, 6, 2, 3);
    EXPECT_THAT(scene.Evaluate().z, testing::Each(testing::Ne(kUntouched)));
  }
}

TEST(RandomFeatures, PredictTheSameWhetherFeaturesAreWantedOrNot) {
  const Scene scene = RandomScene(33, 4, 6, 2, 3);
  Scene nothing = scene;
  nothing.first.clear();
  nothing.wanted.clear();
  EXPECT_EQ(Bits(scene.Evaluate().f), Bits(nothing.Evaluate().f));
}

TEST(RandomFeatures, AcceptAnEmptyCohort) {
  const Scene scene = RandomScene(0, 4, 6, 2, 3);
  const Output out = scene.Evaluate();
  EXPECT_TRUE(out.f.empty());
  EXPECT_TRUE(out.z.empty());
}

}  // namespace
}  // namespace polykern
