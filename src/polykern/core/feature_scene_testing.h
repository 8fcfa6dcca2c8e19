// A bank, a model and a cohort, for the tests of EvaluateKernels.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "polykern/core/kernels.h"
#include "polykern/core/random.h"
#include "polykern/core/random_features.h"

namespace polykern {

inline constexpr float kUntouched = -123.25F;

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
    EvaluateKernels(PackedKernels(bank), {clients(), x, theta, first, wanted, out.f, out.z},
                    scratch);
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
inline Scene SceneOf(const KernelBank& bank, std::size_t clients, std::size_t most_wanted) {
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

inline Scene RandomScene(std::size_t clients, std::size_t kernels, std::size_t features,
                         std::size_t dimension, std::size_t most_wanted, double scale = 1) {
  Random random(12, Purpose::kTest, features, dimension);
  std::vector<float> rho(kernels * features * dimension);
  for (float& value : rho) value = static_cast<float>(scale * random.Normal());
  return SceneOf(KernelBank(rho, kernels, features, dimension), clients, most_wanted);
}

inline std::vector<std::uint32_t> Bits(std::span<const float> values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

/// f and z of client `at` in an output of a scene, as bits.
inline std::vector<std::uint32_t> ClientBits(const Scene& scene, const Output& out,
                                             std::size_t at) {
  const std::size_t n = scene.bank.kernels();
  const std::size_t size = scene.bank.feature_size();
  auto bits = Bits(std::span(out.f).subspan(at * n, n));
  const auto z = Bits(std::span(out.z).subspan(scene.first[at] * size,
                                               (scene.first[at + 1] - scene.first[at]) * size));
  bits.insert(bits.end(), z.begin(), z.end());
  return bits;
}

/// 70 clients, D = 7 (no multiple of 4); some so large that their angles need the slow reduction.
inline Scene MixedScene() {
  Scene scene = RandomScene(70, 5, 7, 3, 2, 5);
  for (std::size_t k = 0; k < 70; k += 9) scene.x[k * 3 + 1] = 1e5F * static_cast<float>(k + 1);
  return scene;
}

}  // namespace polykern
