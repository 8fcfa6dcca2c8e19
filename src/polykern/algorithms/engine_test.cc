#include "polykern/algorithms/engine.h"

#include <string_view>

#include <gtest/gtest.h>

#include "polykern/algorithms/registry.h"

namespace polykern {
namespace {

TEST(CpuEngine, HasAStepOfEveryAlgorithm) {
  EXPECT_EQ(CpuEngine().name(), "cpu");
  for (const std::string_view name : AlgorithmNames()) {
    const auto algorithm = MakeAlgorithm(name, {}, {3, 10, 1});
    EXPECT_NE(CpuEngine().NewStep(*algorithm), nullptr) << name;
  }
}

TEST(CohortsOf, TakesEveryClientIntoOne) {
  const std::size_t size = CpuEngine().cohort_size();
  EXPECT_EQ(CohortsOf(CpuEngine(), 0), 0U);
  EXPECT_EQ(CohortsOf(CpuEngine(), 1), 1U);
  EXPECT_EQ(CohortsOf(CpuEngine(), size), 1U);
  EXPECT_EQ(CohortsOf(CpuEngine(), size + 1), 2U);
}

TEST(AlgorithmDefinition, SaysWhatAnAlgorithmWasMadeFrom) {
  AlgorithmOptions options;
  options.kernels = 4;
  options.features = 5;
  options.experts = Experts::kFederatedAndLocal;
  options.local_kernels = 3;
  const Problem problem = {3, 10, 1};
  const auto newton = MakeAlgorithm("pof-newton", options, problem);
  const AlgorithmDefinition& definition = newton->definition();
  EXPECT_EQ(definition.options.kernels, 4U);
  EXPECT_EQ(definition.problem.seed, 1U);
  EXPECT_EQ(definition.bank->kernels(), 4U);
  EXPECT_EQ(definition.bank->features(), 5U);
  EXPECT_EQ(definition.local_bank->kernels(), 3U);
  EXPECT_EQ(MakeAlgorithm("pof-mkl", options, problem)->definition().local_bank, nullptr);
  EXPECT_EQ(MakeAlgorithm("perfedavg", options, problem)->definition().bank, nullptr);
}

}  // namespace
}  // namespace polykern
