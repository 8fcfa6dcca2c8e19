#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "polykern/core/exact_sum.h"
#include "polykern/core/kernels.h"
#include "polykern/core/packed_kernels.h"
#include "polykern/core/random_features.h"
#include "polykern/core/tools_testing.h"
#include "polykern/core/vector_ops.h"

// The processor itself says whether the upper halves of vector registers hold something.
#if defined(__x86_64__)
#include <cpuid.h>

namespace polykern {
namespace {

constexpr std::uint32_t kUpperHalves = 0b1000100;  // of ymm0 to ymm15, and of zmm0 to zmm15

/// XGETBV with ECX = 1, where there is one: which parts of a thread's state are in use.
bool SaysWhatIsInUse() {
  std::array<unsigned, 4> leaf{};
  if (__get_cpuid_count(1, 0, &leaf[0], &leaf[1], &leaf[2], &leaf[3]) == 0) return false;
  if ((leaf[2] & bit_OSXSAVE) == 0 || (leaf[2] & bit_AVX) == 0) return false;
  if (__get_cpuid_count(0xd, 1, &leaf[0], &leaf[1], &leaf[2], &leaf[3]) == 0) return false;
  return (leaf[0] & 0b100) != 0;
}

/// Nothing but the question, so that no code of the compiler's comes between.
std::uint32_t InUse() {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
  return low & kUpperHalves;
}

void ExpectClean(const std::string& what, const std::function<void()>& work) {
  OnEveryTarget([&] {
    asm volatile("vzeroupper" ::: "memory");
    work();
    const std::uint32_t in_use = InUse();
    EXPECT_EQ(in_use, 0U) << what;
  });
}

class VectorCode : public testing::Test {
 protected:
  void SetUp() override {
    if (!SaysWhatIsInUse()) GTEST_SKIP() << "this processor does not say what is in use";
  }
};

TEST_F(VectorCode, SeesWhatALoopLeavesBehind) {
  asm volatile("vpcmpeqd %%xmm0, %%xmm0, %%xmm0\n\tvinsertf128 $1, %%xmm0, %%ymm0, %%ymm0" ::
                   : "xmm0");
  const std::uint32_t in_use = InUse();
  asm volatile("vzeroupper" ::: "memory");
  EXPECT_NE(in_use, 0U);
}

TEST_F(VectorCode, OfLoopsLeavesCleanRegisters) {
  std::vector<double> a(133, 0.25);
  std::vector<double> b(133, 0.5);
  const std::vector<float> c(133, 0.75F);
  std::vector<float> d(133);
  std::vector<std::int64_t> sums(133, 3);
  bool unit = true;
  ExpectClean("Sum", [&] { Sum(a); });
  ExpectClean("Least", [&] { Least(a); });
  ExpectClean("Dot", [&] { Dot(a, c); });
  ExpectClean("SumOfSquares", [&] { SumOfSquares(c); });
  ExpectClean("SumOfSquares of doubles", [&] { SumOfSquares(a); });
  ExpectClean("SoftMin", [&] { SoftMin(a, 0.5, b); });
  ExpectClean("AddAndFindLeast", [&] { AddAndFindLeast(a, b, unit); });
  ExpectClean("AddScaledAndSum", [&] { AddScaledAndSum(a, 0.5, a, b); });
  ExpectClean("ScaleAndAdd", [&] { ScaleAndAdd(a, 0.5, 0.5, c); });
  ExpectClean("SubtractScaled", [&] { SubtractScaled(sums, 0.5, a); });
  ExpectClean("RoundToFloat", [&] { RoundToFloat(a, d); });
}

TEST_F(VectorCode, OfFeaturesAndRegressionsLeavesCleanRegisters) {
  const KernelBank bank(MakeDictionary("gaussian", 5), 3, 17, 1);
  const PackedKernels packed(bank);
  const std::vector<float> x = {0.1F, 0.2F, 0.3F};
  const std::vector<float> theta(bank.kernels() * bank.feature_size(), 0.01F);
  const std::vector<std::size_t> first = {0, 1};
  const std::vector<std::uint32_t> wanted = {2};
  std::vector<float> f(bank.kernels());
  std::vector<float> z(bank.feature_size());
  FeatureScratch scratch;
  ExpectClean("EvaluateKernels", [&] {
    EvaluateKernels(packed, {1, x, theta, first, wanted, f, z}, scratch);
  });
  ExactSum sum(f.size());
  ExpectClean("ExactSum", [&] { sum.Add(0, f); });
}

}  // namespace
}  // namespace polykern
#endif
