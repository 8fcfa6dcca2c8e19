#include "polykern/core/normal_equations.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "polykern/core/random.h"
#include "polykern/core/tools_testing.h"

namespace polykern {
namespace {

struct ExactSample {
  std::vector<double> z;
  double y = 0;
};

std::vector<ExactSample> SomeSamples(std::size_t count, std::size_t width) {
  Random random(7, Purpose::kTest, count, width);
  std::vector<ExactSample> samples(count);
  for (ExactSample& sample : samples) {
    double square = 0;
    for (std::size_t j = 0; j < width; ++j) {
      sample.z.push_back(random.Normal());
      square += sample.z.back() * sample.z.back();
    }
    for (double& value : sample.z) value = static_cast<float>(value / std::sqrt(square));
    sample.y = random.Uniform() - 0.5;
  }
  return samples;
}

std::vector<DoubleLanes> Rounded(const std::vector<ExactSample>& samples) {
  const std::size_t lanes = NormalEquations::RowLanes(samples.front().z.size());
  std::vector<DoubleLanes> rows(samples.size() * lanes);
  for (std::size_t s = 0; s < samples.size(); ++s) {
    const std::vector<float> z(samples[s].z.begin(), samples[s].z.end());
    NormalEquations::Round(z, 1, samples[s].y, std::span(rows).subspan(s * lanes, lanes));
  }
  return rows;
}

std::vector<double> SavedOf(const NormalEquations& equations) {
  std::vector<double> saved(NormalEquations::SavedSize(equations.width()));
  equations.Save(saved);
  return saved;
}

std::vector<double> Solution(NormalEquations& equations, double ridge) {
  std::vector<DoubleLanes> scratch;
  std::vector<double> theta(equations.width());
  EXPECT_TRUE(equations.AddAndSolve({}, 1, ridge, scratch, theta));
  return theta;
}

double ToUnit(double value) {
  return std::nearbyint(value * 0x1p22) * 0x1p-22;
}

/// (A + ridge I)^-1 b in long double, by elimination without any order.
std::vector<double> SlowSolution(const std::vector<ExactSample>& samples, double ridge,
                                 const std::vector<double>& factors = {}) {
  const std::size_t width = samples.front().z.size();
  std::vector<std::vector<long double>> a(width, std::vector<long double>(width + 1));
  for (std::size_t i = 0; i < width; ++i) a[i][i] = ridge;
  for (std::size_t s = 0; s < samples.size(); ++s) {
    const long double factor = factors.empty() ? 1 : factors[s];
    for (std::size_t i = 0; i < width; ++i) {
      const long double z = factor * ToUnit(samples[s].z[i]);
      for (std::size_t j = 0; j < width; ++j) a[i][j] += z * ToUnit(samples[s].z[j]);
      a[i][width] += z * ToUnit(samples[s].y);
    }
  }
  for (std::size_t p = 0; p < width; ++p) {
    for (std::size_t i = 0; i < width; ++i) {
      if (i == p) continue;
      const long double share = a[i][p] / a[p][p];
      for (std::size_t j = p; j <= width; ++j) a[i][j] -= share * a[p][j];
    }
  }
  std::vector<double> theta;
  for (std::size_t i = 0; i < width; ++i)
    theta.push_back(static_cast<double>(a[i][width] / a[i][i]));
  return theta;
}

TEST(NormalEquations, SolveTheRidgeRegressionOfAllSamples) {
  for (const std::size_t width : {1, 2, 7, 8, 9, 18, 40, 82, 200}) {
    const auto samples = SomeSamples(3 * width / 2 + 1, width);
    NormalEquations equations(width);
    equations.Add(Rounded(samples), 1);
    for (const double ridge : {1e-4, 1e-2, 1.0}) {
      // Condition numbers are below 1e5 here: 16 digits less 5.
      EXPECT_LT(RelativeDifference(Solution(equations, ridge), SlowSolution(samples, ridge)), 1e-10)
          << width;
    }
  }
}

TEST(NormalEquations, AreSolvedWithNewSamplesAsAfterThem) {
  for (const std::size_t width : {1, 8, 18, 42, 200}) {
    const auto first = Rounded(SomeSamples(40, width));
    for (const std::size_t count : {1, 24, 600}) {
      const auto second = Rounded(SomeSamples(count, width));
      NormalEquations together(width);
      together.Add(first, 1);
      NormalEquations apart = together;
      std::vector<DoubleLanes> scratch;
      std::vector<double> theta(width);
      EXPECT_TRUE(together.AddAndSolve(second, 0.9, 1e-3, scratch, theta));
      apart.Add(second, 0.9);
      EXPECT_EQ(SavedOf(together), SavedOf(apart));
      EXPECT_EQ(theta, Solution(apart, 1e-3));
    }
  }
}

TEST(NormalEquations, TakeTheBytesTheySay) {
  EXPECT_EQ(NormalEquations::Bytes(8), (8 * 8 + 8) * 8);
  EXPECT_EQ(NormalEquations::Bytes(18), (24 * 24 + 24) * 8);
  EXPECT_EQ(NormalEquations::Bytes(200), (24 * 24 * 36 + 200 * 8 + 200) * 8);
  EXPECT_NEAR(NormalEquations::Bytes(std::size_t{1} << 40), 0x1p82, 0x1p50);
}

TEST(NormalEquations, ForgetWhatCameBeforeByTheFactorKept) {
  const auto samples = SomeSamples(60, 18);
  const auto rows = Rounded(samples);
  const std::size_t lanes = NormalEquations::RowLanes(18);
  NormalEquations equations(18);
  equations.Add(std::span(rows).first(20 * lanes), 1);
  equations.Add(std::span(rows).subspan(20 * lanes, 30 * lanes), 0.9);
  equations.Add(std::span(rows).subspan(50 * lanes), 0.5);
  std::vector<double> factors(60, 1);
  std::fill_n(factors.begin(), 20, 0.9 * 0.5);
  std::fill_n(factors.begin() + 20, 30, 0.5);
  EXPECT_LT(RelativeDifference(Solution(equations, 0.01), SlowSolution(samples, 0.01, factors)),
            1e-12);
}

TEST(NormalEquations, HaveTheSameBitsInAnyOrderOfTheSamples) {
  for (const std::size_t count : {3, 100, 512, 513, 1500}) {
    auto samples = SomeSamples(count, 18);
    NormalEquations equations(18);
    equations.Add(Rounded(samples), 1);
    Random random(3, Purpose::kTest);
    for (std::size_t i = count; i > 1; --i) std::swap(samples[i - 1], samples[random.Below(i)]);
    NormalEquations shuffled(18);
    shuffled.Add(Rounded(samples), 1);
    EXPECT_EQ(SavedOf(equations), SavedOf(shuffled));
  }
}

TEST(NormalEquations, AreExactWithManySamplesOfTheLargestNumbers) {
  // 1300 times the same sample: any sum that loses a bit is off.
  const ExactSample sample = {{1.0 - 0x1p-22, 0x1p-22}, -(1.0 - 0x1p-22)};
  NormalEquations equations(2);
  equations.Add(Rounded(std::vector<ExactSample>(1300, sample)), 1);
  const double z = sample.z[0];
  EXPECT_EQ(SavedOf(equations),
            (std::vector<double>{1300 * (z * z), 1300 * z * 0x1p-22, 1300 * (z * -z),
                                 1300 * 0x1p-44, -1300 * z * 0x1p-22}));
}

TEST(NormalEquations, HaveTheSameBitsOnEveryMachineWithFusedMultiplyAdd) {
  if (const auto why = NothingToCompare(FusedTargets()); !why.empty()) GTEST_SKIP() << why;
  const auto rows = Rounded(SomeSamples(700, 58));
  NormalEquations best(58);
  best.Add(rows, 1);
  const auto saved = SavedOf(best);
  const auto theta = Solution(best, 1e-3);
  OnEveryTarget(
      [&] {
        NormalEquations equations(58);
        equations.Add(rows, 1);
        EXPECT_EQ(SavedOf(equations), saved);
        EXPECT_EQ(Solution(equations, 1e-3), theta);
      },
      FusedTargets());
}

TEST(NormalEquations, ResumeWithTheSameBitsAfterSavingAndLoading) {
  const auto first = Rounded(SomeSamples(50, 18));
  const auto second = Rounded(SomeSamples(51, 18));
  NormalEquations equations(18);
  equations.Add(first, 1);
  NormalEquations loaded(18);
  loaded.Load(SavedOf(equations));
  equations.Add(second, 0.99);
  loaded.Add(second, 0.99);
  EXPECT_EQ(SavedOf(loaded), SavedOf(equations));
  EXPECT_EQ(Solution(loaded, 0.1), Solution(equations, 0.1));
}

TEST(NormalEquations, SayWhenTheMatrixIsNotPositiveDefinite) {
  NormalEquations equations(2);
  equations.Load(std::vector<double>{-1, 0, 1, 1, 1});
  std::vector<DoubleLanes> scratch;
  std::vector<double> theta = {5, 6};
  EXPECT_FALSE(equations.AddAndSolve({}, 1, 0.5, scratch, theta));
  EXPECT_EQ(theta, (std::vector<double>{5, 6}));
  equations.Load(std::vector<double>{NAN, 0, 1, 1, 1});
  EXPECT_FALSE(equations.AddAndSolve({}, 1, 0.5, scratch, theta));
}

}  // namespace
}  // namespace polykern
