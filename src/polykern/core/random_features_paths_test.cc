// Every dispatch target, sparse samples, shared draws and large angles.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/feature_scene_testing.h"
#include "polykern/core/kernels.h"
#include "polykern/core/random_features.h"
#include "polykern/core/tools_testing.h"

namespace polykern {
namespace {

TEST(RandomFeatures, HaveTheSameBitsOnEveryTargetWithFusedMultiplyAdd) {
  if (const auto why = NothingToCompare(FusedTargets()); !why.empty()) GTEST_SKIP() << why;
  const Scene scene = MixedScene();
  const Output expected = scene.Evaluate();
  OnEveryTarget(
      [&] {
        const Output out = scene.Evaluate();
        EXPECT_EQ(Bits(out.f), Bits(expected.f));
        EXPECT_EQ(Bits(out.z), Bits(expected.z));
      },
      FusedTargets());
}

TEST(RandomFeatures, AgreeCloselyOnTargetsWithoutFusedMultiplyAdd) {
  const auto targets = hwy::SupportedAndGeneratedTargets();
  if (const auto why = NothingToCompare(targets); !why.empty()) GTEST_SKIP() << why;
  // Without fusion the projections round differently: moderate angles only.
  const Scene scene = RandomScene(70, 5, 7, 3, 2, 2);
  const Output expected = scene.Evaluate();
  for (const std::int64_t target : targets) {
    const OnlyTarget only(target);
    const Output out = scene.Evaluate();
    for (std::size_t i = 0; i < out.f.size(); ++i) {
      ASSERT_NEAR(out.f[i], expected.f[i], 1e-5) << hwy::TargetName(target);
    }
    for (std::size_t i = 0; i < out.z.size(); ++i) {
      ASSERT_NEAR(out.z[i], expected.z[i], 1e-5) << hwy::TargetName(target);
    }
  }
}

TEST(RandomFeatures, OfAClientDoNotDependOnItsCohortOnAnyTarget) {
  const Scene all = MixedScene();
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    const OnlyTarget only(target);
    const Output together = all.Evaluate();
    for (std::size_t k = 0; k < 70; ++k) {
      const Scene one = all.Cohort({k});
      ASSERT_EQ(ClientBits(one, one.Evaluate(), 0), ClientBits(all, together, k))
          << hwy::TargetName(target) << " client " << k;
    }
  }
}

/// The paper's dictionary over one draw.
Scene SharedScene(std::size_t clients, std::size_t features, std::size_t dimension) {
  return SceneOf(KernelBank(MakeDictionary("gaussian", 19), dimension, features, 5, Draw::kShared),
                 clients, 3);
}

/// Leaves only every ninth of 60 columns, here and there none at all.
Scene ThinnedOut(Scene scene) {
  for (std::size_t k = 0; k < scene.clients(); ++k) {
    for (std::size_t c = 0; c < 60; ++c) {
      if (k % 7 == 3 || (c + k) % 9 != 0) scene.x[k * 60 + c] = 0;
    }
  }
  return scene;
}

TEST(RandomFeatures, OfSparseSamplesHaveTheBitsOfTheDensePathOnEveryTarget) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    const OnlyTarget only(target);
    for (const std::size_t features : {1U, 4U, 7U, 8U, 13U, 70U}) {
      for (const Scene& full :
           {RandomScene(21, 19, features, 60, 3), SharedScene(21, features, 60)}) {
        Scene sparse = ThinnedOut(full);
        sparse.x[5 * 60 + 4] = std::numeric_limits<float>::quiet_NaN();  // it is not 0
        // A full sample beside each sparse one: so the cohort takes the dense path.
        Scene both = sparse;
        both.x.insert(both.x.end(), full.x.begin(), full.x.end());
        for (std::size_t k = 0; k < 21; ++k) both.first.push_back(both.wanted.size());
        const Output fast = sparse.Evaluate();
        const Output slow = both.Evaluate();
        EXPECT_TRUE(std::isnan(fast.f[5 * 19]));
        for (std::size_t k = 0; k < 21; ++k) {
          if (k == 5) continue;
          ASSERT_EQ(ClientBits(sparse, fast, k), ClientBits(both, slow, k))
              << hwy::TargetName(target) << " client " << k;
        }
      }
    }
  }
}

TEST(RandomFeatures, OfASparseSampleReduceLargeAngles) {
  Scene scene = ThinnedOut(RandomScene(6, 19, 5, 60, 3));
  for (std::size_t k = 0; k < 6; ++k) scene.x[k * 60 + (9 - k) % 9] = 1e6F;
  const Output out = scene.Evaluate();
  for (std::size_t k = 0; k < 6; ++k) {
    for (std::uint32_t i = 0; i < 19; ++i) {
      const auto z = scene.FeaturesOf(out, k, i);
      for (std::size_t j = 0; j < 5 && !z.empty(); ++j) {
        float angle = 0;
        for (std::size_t c = 0; c < 60; ++c) {
          angle = std::fma(scene.bank.Frequencies(i)[j * 60 + c], scene.x[k * 60 + c], angle);
        }
        if (!FusedTargets().empty()) {
          EXPECT_NEAR(z[j], std::sin(static_cast<double>(angle)) / std::sqrt(5.0), 2e-7);
        }
      }
    }
  }
}

TEST(RandomFeatures, OfASharedDrawEqualTheSlowVersionInDouble) {
  const Scene scene = SharedScene(37, 10, 3);
  const Output out = scene.Evaluate();
  for (std::size_t k = 0; k < 37; ++k) {
    for (std::uint32_t i = 0; i < 19; ++i) {
      double f = 0;
      for (std::size_t j = 0; j < 10; ++j) {
        double angle = 0;
        for (std::size_t c = 0; c < 3; ++c) {
          angle += static_cast<double>(scene.bank.SharedFrequencies()[j * 3 + c]) *
                   static_cast<double>(scene.x[k * 3 + c]);
        }
        angle *= static_cast<double>(scene.bank.Scales()[i]);
        f += static_cast<double>(scene.theta[i * 20 + j]) * std::sin(angle) +
             static_cast<double>(scene.theta[i * 20 + 10 + j]) * std::cos(angle);
      }
      // Angles reach about 60, known to 60 * 2^-23 in float; 20 weights of size about 1.
      EXPECT_NEAR(out.f[k * 19 + i], f / std::sqrt(10.0), 1e-4);
    }
  }
}

TEST(RandomFeatures, OfASharedDrawDoNotDependOnTheCohortOnAnyTarget) {
  const Scene all = SharedScene(37, 10, 3);
  std::vector<std::uint32_t> fused;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    const OnlyTarget only(target);
    const Output together = all.Evaluate();
    for (std::size_t k = 0; k < 37; ++k) {
      const Scene one = all.Cohort({k});
      ASSERT_EQ(ClientBits(one, one.Evaluate(), 0), ClientBits(all, together, k))
          << hwy::TargetName(target) << " client " << k;
    }
    if (!IsFused(target)) continue;
    if (fused.empty()) fused = Bits(together.z);
    EXPECT_EQ(Bits(together.z), fused) << hwy::TargetName(target);
  }
}

TEST(RandomFeatures, OfALargeClientDoNotSeeANonFiniteNeighbour) {
  const PackedKernels bank(KernelBank({1.0F}, 1, 1, 1));
  const std::array<float, 2> theta = {1, 0};  // f = sin(x)
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::array<float, 1> alone{};
  std::array<float, 3> together{};
  FeatureScratch scratch;
  EvaluateKernels(bank, {1, std::array{1e8F}, theta, {}, {}, alone, {}}, scratch);
  EvaluateKernels(bank, {3, std::array{1e8F, nan, 1.0F}, theta, {}, {}, together, {}}, scratch);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(together[0]), std::bit_cast<std::uint32_t>(alone[0]));
}

TEST(RandomFeatures, ReduceLargeAnglesOfTinySamples) {
  const PackedKernels bank(KernelBank({1e30F}, 1, 1, 1));
  const std::array<float, 2> theta = {1, 0};
  std::array<float, 1> f{};
  FeatureScratch scratch;
  EvaluateKernels(bank, {1, std::array{1e-23F}, theta, {}, {}, f, {}}, scratch);
  EXPECT_NEAR(f[0], std::sin(static_cast<double>(std::fma(1e30F, 1e-23F, 0.0F))), 1e-7);
}

}  // namespace
}  // namespace polykern
