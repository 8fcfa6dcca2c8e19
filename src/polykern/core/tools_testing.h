// What several tests share.
#pragma once

#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include "polykern/core/kernels.h"
#include "polykern/core/random_features.h"

namespace polykern {

/// Makes the library use one dispatch target, and all of them again at the end.
class OnlyTarget {
 public:
  explicit OnlyTarget(std::int64_t target) { Set(target); }
  ~OnlyTarget() { Set(0); }
  OnlyTarget(const OnlyTarget&) = delete;
  OnlyTarget& operator=(const OnlyTarget&) = delete;

 private:
  static void Set(std::int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

/// Runs `check` on each of `targets`, by default all that this machine and this build have.
template <class Check>
void OnEveryTarget(const Check& check,
                   const std::vector<std::int64_t>& targets = hwy::SupportedAndGeneratedTargets()) {
  for (const std::int64_t target : targets) {
    SCOPED_TRACE(hwy::TargetName(target));
    const OnlyTarget only(target);
    check();
  }
}

/// False where a multiply-add is two operations, so that bits differ.
inline bool IsFused(std::int64_t target) {
  return (target & (HWY_SSE4 | HWY_SSSE3 | HWY_EMU128 | HWY_SCALAR)) == 0;
}

/// Those of this machine and this build whose results have the same bits; the best first.
inline std::vector<std::int64_t> FusedTargets() {
  std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
  std::erase_if(targets, [](std::int64_t target) { return !IsFused(target); });
  return targets;
}

/// Empty, or why a test that compares these targets is skipped.
inline std::string NothingToCompare(const std::vector<std::int64_t>& targets) {
  if (targets.size() > 1) return "";
  return std::string("needs two such vector units; the only one here: ") +
         (targets.empty() ? "none" : hwy::TargetName(targets[0]));
}

/// Sine and cosine of each angle as the library computes them, side by side: one kernel, one
/// feature, frequency 1 in one dimension, so that z(x) = (sin x, cos x).
inline std::vector<float> SinesAndCosines(const std::vector<float>& angles) {
  const std::vector<float> theta(2);
  std::vector<std::size_t> first(angles.size() + 1);
  std::iota(first.begin(), first.end(), std::size_t{0});
  const std::vector<std::uint32_t> wanted(angles.size());
  std::vector<float> f(angles.size());
  std::vector<float> z(2 * angles.size());
  FeatureScratch scratch;
  EvaluateKernels(PackedKernels(KernelBank({1.0F}, 1, 1, 1)),
                  {angles.size(), angles, theta, first, wanted, f, z}, scratch);
  return z;
}

/// ||a - b|| / ||b||.
inline double RelativeDifference(const std::vector<double>& a, const std::vector<double>& b) {
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    size += b[i] * b[i];
  }
  return std::sqrt(difference / size);
}

}  // namespace polykern
