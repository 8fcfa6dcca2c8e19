#include "polykern/core/random_features.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include "polykern/core/random.h"
#include "polykern/core/test_tools-inl.h"

namespace polykern {
namespace {

constexpr float kUntouched = -123.25F;

struct Output {
  std::vector<float> f;
  std::vector<float> z;
};

/// A bank, a model and a cohort with what it wants.
struct Scene {
  KernelBank bank;
  std::vector<float> theta;
  std::vector<float> x;            // clients x dimension
  std::vector<std::size_t> first;  // client c wants wanted[first[c]] .. wanted[first[c + 1] - 1]
  std::vector<std::uint32_t> wanted = {};

  std::size_t clients() const { return x.size() / bank.dimension(); }

  Output Evaluate(FeatureScratch& scratch) const {
    Output out;
    out.f.assign(clients() * bank.kernels(), kUntouched);
    out.z.assign(wanted.size() * bank.feature_size(), kUntouched);
    EvaluateKernels(bank, {clients(), x, theta, first, wanted, out.f, out.z}, scratch);
    return out;
  }
  Output Evaluate() const {
    FeatureScratch scratch;
    return Evaluate(scratch);
  }

  /// The features of kernel i of client k in an output; empty if it does not want them.
  std::span<const float> FeaturesOf(const Output& out, std::size_t k, std::uint32_t i) const {
    for (std::size_t at = first[k]; at < first[k + 1]; ++at) {
      const std::size_t size = bank.feature_size();
      if (wanted[at] == i) return std::span(out.z).subspan(at * size, size);
    }
    return {};
  }

  /// The same with these clients of the cohort, in this order.
  Scene Cohort(const std::vector<std::size_t>& chosen) const {
    Scene cohort{bank, theta, {}, {0}};
    const auto d = static_cast<std::ptrdiff_t>(bank.dimension());
    for (const std::size_t k : chosen) {
      const auto at = static_cast<std::ptrdiff_t>(k);
      cohort.x.insert(cohort.x.end(), x.begin() + at * d, x.begin() + (at + 1) * d);
      cohort.wanted.insert(cohort.wanted.end(),
                           wanted.begin() + static_cast<std::ptrdiff_t>(first[k]),
                           wanted.begin() + static_cast<std::ptrdiff_t>(first[k + 1]));
      cohort.first.push_back(cohort.wanted.size());
    }
    return cohort;
  }
};

/// Clients of moderate size that want up to `most_wanted` random distinct kernels.
Scene SceneOf(const KernelBank& bank, std::size_t clients, std::size_t most_wanted) {
  Random random(11, Purpose::kTest, bank.features(), bank.dimension());
  Scene scene{bank, {}, {}, {0}};
  for (std::size_t i = 0; i < bank.kernels() * bank.feature_size(); ++i) {
    scene.theta.push_back(static_cast<float>(random.Normal()));
  }
  std::vector<std::uint32_t> all(bank.kernels());
  std::iota(all.begin(), all.end(), 0U);
  for (std::size_t k = 0; k < clients; ++k) {
    for (std::size_t c = 0; c < bank.dimension(); ++c) {
      scene.x.push_back(static_cast<float>(2 * random.Uniform() - 1));
    }
    random.Shuffle(all);
    for (std::size_t slot = 0; slot < most_wanted; ++slot) {
      if (random.Below(4) > 0) scene.wanted.push_back(all[slot]);
    }
    scene.first.push_back(scene.wanted.size());
  }
  return scene;
}

Scene RandomScene(std::size_t clients, std::size_t kernels, std::size_t features,
                  std::size_t dimension, std::size_t most_wanted, double scale = 1) {
  Random random(12, Purpose::kTest, features, dimension);
  std::vector<float> rho(kernels * features * dimension);
  for (float& value : rho) value = static_cast<float>(scale * random.Normal());
  return SceneOf(KernelBank(rho, kernels, features, dimension), clients, most_wanted);
}

std::vector<std::uint32_t> Bits(std::span<const float> values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

/// f and z of client `at` in an output of a scene, as bits.
std::vector<std::uint32_t> ClientBits(const Scene& scene, const Output& out, std::size_t at) {
  const std::size_t n = scene.bank.kernels();
  const std::size_t size = scene.bank.feature_size();
  auto bits = Bits(std::span(out.f).subspan(at * n, n));
  const auto z = Bits(std::span(out.z).subspan(scene.first[at] * size,
                                               (scene.first[at + 1] - scene.first[at]) * size));
  bits.insert(bits.end(), z.begin(), z.end());
  return bits;
}

/// True if the multiply-adds of the best target of this machine are fused.
bool IsFused(std::int64_t targets) {
#if HWY_ARCH_X86
  return (targets & (HWY_AVX2 | HWY_AVX3 | HWY_AVX3_DL)) != 0;
#else
  return (targets & (HWY_EMU128 | HWY_SCALAR)) == 0;
#endif
}

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
  if (!IsFused(hwy::SupportedTargets())) GTEST_SKIP() << "no fused multiply-add";
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
        float f = 0;
        for (std::size_t start = 0; start < features; start += 4) {
          float sum = 0;
          for (std::size_t j = start; j < std::min(start + 4, features); ++j) {
            sum = std::fma(scene.theta[i * size + j], pairs[2 * j], sum);
            sum = std::fma(scene.theta[i * size + features + j], pairs[2 * j + 1], sum);
          }
          f += sum;
        }
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

/// 70 clients, D = 7 (no multiple of 4); some so large that their angles need the slow reduction.
Scene MixedScene() {
  Scene scene = RandomScene(70, 5, 7, 3, 2, 5);
  for (std::size_t k = 0; k < 70; k += 9) scene.x[k * 3 + 1] = 1e5F * static_cast<float>(k + 1);
  return scene;
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

TEST(RandomFeatures, HaveTheSameBitsOnEveryTargetWithFusedMultiplyAdd) {
  const Scene scene = MixedScene();
  const Output expected = scene.Evaluate();
  if (!IsFused(hwy::SupportedTargets())) GTEST_SKIP() << "no fused multiply-add";
  int compared = 0;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (!IsFused(target)) continue;
    const OnlyTarget only(target);
    const Output out = scene.Evaluate();
    EXPECT_EQ(Bits(out.f), Bits(expected.f)) << hwy::TargetName(target);
    EXPECT_EQ(Bits(out.z), Bits(expected.z)) << hwy::TargetName(target);
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

TEST(RandomFeatures, AgreeCloselyOnTargetsWithoutFusedMultiplyAdd) {
  // Without fusion the projections round differently: moderate angles only.
  const Scene scene = RandomScene(70, 5, 7, 3, 2, 2);
  const Output expected = scene.Evaluate();
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
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

/// Samples of which only every `gap`-th column is not 0, here and there none at all.
Scene SparseScene(std::size_t clients, std::size_t features, std::size_t gap) {
  Scene scene = RandomScene(clients, 19, features, 60, 3);
  for (std::size_t k = 0; k < clients; ++k) {
    for (std::size_t c = 0; c < 60; ++c) {
      if (k % 7 == 3 || (c + k) % gap != 0) scene.x[k * 60 + c] = 0;
    }
  }
  return scene;
}

TEST(RandomFeatures, OfSparseSamplesHaveTheBitsOfTheDensePathOnEveryTarget) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    const OnlyTarget only(target);
    for (const std::size_t features : {1U, 4U, 7U, 8U, 13U}) {
      const Scene sparse = SparseScene(21, features, 9);
      // A full sample beside each sparse one: so the cohort takes the dense path.
      const Scene full = RandomScene(21, 19, features, 60, 3);
      std::vector<std::size_t> all(21);
      std::iota(all.begin(), all.end(), std::size_t{0});
      Scene both = sparse;
      both.x.insert(both.x.end(), full.x.begin(), full.x.end());
      for (std::size_t k = 0; k < 21; ++k) both.first.push_back(both.wanted.size());
      const Output fast = sparse.Evaluate();
      const Output slow = both.Evaluate();
      for (std::size_t k = 0; k < 21; ++k) {
        ASSERT_EQ(ClientBits(sparse, fast, k), ClientBits(both, slow, k))
            << hwy::TargetName(target) << " client " << k;
      }
    }
  }
}

TEST(RandomFeatures, OfASparseSampleReduceLargeAngles) {
  Scene scene = SparseScene(6, 5, 9);
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
        if (IsFused(hwy::SupportedTargets())) {
          EXPECT_NEAR(z[j], std::sin(static_cast<double>(angle)) / std::sqrt(5.0), 2e-7);
        }
      }
    }
  }
}

/// The paper's dictionary over one draw.
Scene SharedScene(std::size_t clients, std::size_t features, std::size_t dimension) {
  return SceneOf(KernelBank(MakeDictionary("gaussian", 19), dimension, features, 5, Draw::kShared),
                 clients, 3);
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
  const KernelBank bank({1.0F}, 1, 1, 1);
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
  const KernelBank bank({1e30F}, 1, 1, 1);
  const std::array<float, 2> theta = {1, 0};
  std::array<float, 1> f{};
  FeatureScratch scratch;
  EvaluateKernels(bank, {1, std::array{1e-23F}, theta, {}, {}, f, {}}, scratch);
  EXPECT_NEAR(f[0], std::sin(static_cast<double>(std::fma(1e30F, 1e-23F, 0.0F))), 1e-7);
}

}  // namespace
}  // namespace polykern
