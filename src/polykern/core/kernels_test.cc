#include "polykern/core/kernels.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/error.h"
#include "polykern/core/kernels_testing.h"
#include "polykern/core/random.h"

namespace polykern {
namespace {

TEST(KernelValue, IsOneAtZeroAndFallsWithDistance) {
  for (const Kernel& kernel : EveryKernel()) {
    double before = KernelValue(kernel, std::array{0.0, 0.0, 0.0});
    EXPECT_EQ(before, 1);
    for (int i = 1; i < 30; ++i) {
      const double scale = 0.1 * i;
      const double value = KernelValue(kernel, std::array{scale, -0.5 * scale, 0.2 * scale});
      EXPECT_LT(value, before);
      EXPECT_GT(value, 0);
      EXPECT_DOUBLE_EQ(value, KernelValue(kernel, std::array{-scale, 0.5 * scale, -0.2 * scale}));
      before = value;
    }
  }
}

TEST(KernelValue, FollowsItsFormula) {
  const std::array<double, 2> d = {0.6, -0.8};  // r = 1
  const double l = 2;
  const auto value = [&](KernelKind kind) { return KernelValue({kind, l, 1.5}, d); };
  EXPECT_NEAR(value(KernelKind::kGaussian), 0.8824969025845955, 1e-15);
  EXPECT_NEAR(value(KernelKind::kLaplacian), std::exp(-0.7), 1e-15);
  EXPECT_NEAR(value(KernelKind::kMatern12), std::exp(-0.5), 1e-15);
  EXPECT_NEAR(value(KernelKind::kMatern32), 0.7848876539574506, 1e-15);
  EXPECT_NEAR(value(KernelKind::kMatern52), 0.8286491424181255, 1e-15);
  EXPECT_NEAR(value(KernelKind::kCauchy), 1 / 1.09 / 1.16, 1e-15);
  EXPECT_NEAR(value(KernelKind::kRationalQuadratic), 1 / std::pow(13.0 / 12, 1.5), 1e-15);
}

TEST(Dictionary, HasThePapersBandwidths) {
  const auto kernels = MakeDictionary("gaussian", 51);
  ASSERT_EQ(kernels.size(), 51U);
  for (int i = 1; i <= 51; ++i) {
    const Kernel& kernel = kernels[static_cast<std::size_t>(i - 1)];
    const double sigma = std::pow(10.0, (2 * i - 52) / 25.0);
    EXPECT_EQ(kernel.kind, KernelKind::kGaussian);
    EXPECT_NEAR(kernel.length * kernel.length / sigma, 1, 1e-7) << i;  // rounded to float
  }
}

TEST(Dictionary, SpansTheSameBandwidthsForAnyCount) {
  EXPECT_NEAR(MakeDictionary("gaussian", 1)[0].length, 1, 1e-7);
  for (const std::size_t count : {2U, 3U, 10U}) {
    const auto kernels = MakeDictionary("gaussian", count);
    ASSERT_EQ(kernels.size(), count);
    EXPECT_NEAR(kernels.front().length, 0.1, 1e-8);
    EXPECT_NEAR(kernels.back().length, 10, 1e-6);
    for (std::size_t i = 2; i < count; ++i) {
      EXPECT_NEAR(kernels[i].length / kernels[i - 1].length,
                  kernels[i - 1].length / kernels[i - 2].length, 1e-6);
    }
  }
}

TEST(Dictionary, NamesTheKindOfItsKernels) {
  const std::vector<std::pair<std::string, KernelKind>> expected = {
      {"gaussian", KernelKind::kGaussian},
      {"laplacian", KernelKind::kLaplacian},
      {"matern12", KernelKind::kMatern12},
      {"matern32", KernelKind::kMatern32},
      {"matern52", KernelKind::kMatern52},
      {"cauchy", KernelKind::kCauchy},
      {"rational-quadratic", KernelKind::kRationalQuadratic}};
  for (const auto& [name, kind] : expected) {
    for (const Kernel& kernel : MakeDictionary(name, 4)) EXPECT_EQ(kernel.kind, kind) << name;
  }
  const auto mixed = MakeDictionary("mixed", 5);
  for (std::size_t i = 0; i < mixed.size(); ++i) {
    EXPECT_EQ(mixed[i].kind, i % 2 == 0 ? KernelKind::kGaussian : KernelKind::kMatern32);
  }
  EXPECT_THAT(DictionaryNames(),
              testing::ElementsAre("gaussian", "laplacian", "matern12", "matern32", "matern52",
                                   "cauchy", "rational-quadratic", "mixed"));
}

TEST(Dictionary, SaysWhatAKernelIs) {
  const auto mixed = MakeDictionary("mixed", 5);
  EXPECT_EQ(KernelText(mixed[0]), "gaussian 0.01");
  EXPECT_EQ(KernelText(mixed[1]), "matern32 0.1");
  EXPECT_EQ(KernelText(mixed[4]), "gaussian 100");
  EXPECT_EQ(KernelText({KernelKind::kRationalQuadratic, 2}), "rational-quadratic 4");
}

TEST(Dictionary, RefusesAnUnknownNameAndListsTheKnownOnes) {
  try {
    MakeDictionary("linear", 5);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("'linear'"));
    for (const auto name : DictionaryNames()) {
      EXPECT_THAT(error.what(), testing::HasSubstr(std::string(name)));
    }
  }
  EXPECT_THROW(MakeDictionary("", 5), Error);
  EXPECT_THROW(MakeDictionary("Gaussian", 5), Error);
}

TEST(Dictionary, RefusesToBeEmpty) {
  EXPECT_THROW(MakeDictionary("gaussian", 0), Error);
}

TEST(KernelBank, HasTheSizesItWasAskedFor) {
  const KernelBank bank(MakeDictionary("mixed", 3), 5, 7, 1);
  EXPECT_EQ(bank.kernels(), 3U);
  EXPECT_EQ(bank.dimension(), 5U);
  EXPECT_EQ(bank.features(), 7U);
  EXPECT_EQ(bank.feature_size(), 14U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(bank.Frequencies(i).size(), 35U);
}

TEST(KernelBank, IsAFunctionOfItsSeed) {
  const auto numbers = [](std::uint64_t seed, Draw draw) {
    const KernelBank bank(MakeDictionary("gaussian", 3), 2, 5, seed, draw);
    std::vector<float> all;
    for (std::size_t i = 0; i < 3; ++i) {
      all.insert(all.end(), bank.Frequencies(i).begin(), bank.Frequencies(i).end());
    }
    return all;
  };
  for (const Draw draw : {Draw::kIndependent, Draw::kOrthogonal, Draw::kShared}) {
    EXPECT_EQ(numbers(1, draw), numbers(1, draw));
    const auto one = numbers(1, draw);
    const auto two = numbers(2, draw);
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NE(one[i], two[i]);
  }
}

TEST(KernelBank, DrawsEachKernelFromItsOwnNumbers) {
  // Two equal kernels must not get equal frequencies, and a kernel's draw must not depend on the
  // number of kernels before it.
  const Kernel kernel;
  const KernelBank two(std::array{kernel, kernel}, 3, 8, 4);
  const std::set<float> first(two.Frequencies(0).begin(), two.Frequencies(0).end());
  for (const float value : two.Frequencies(1)) EXPECT_EQ(first.count(value), 0U);
  const KernelBank other(std::array{Kernel{KernelKind::kMatern52}, kernel}, 3, 8, 4);
  EXPECT_THAT(two.Frequencies(1), testing::ElementsAreArray(other.Frequencies(1)));
}

TEST(KernelBank, TakesGivenFrequenciesAsTheyAre) {
  const std::vector<float> rho = {3, 4, 0, 1, 0, -2, 0.5, 0};
  const KernelBank bank(rho, 2, 2, 2);
  EXPECT_THAT(bank.Frequencies(0), testing::ElementsAre(3, 4, 0, 1));
  EXPECT_THAT(bank.Frequencies(1), testing::ElementsAre(0, -2, 0.5, 0));
}

TEST(KernelBank, BoundsItsFrequenciesFromAboveAndNotByMuch) {
  const KernelBank given(std::vector<float>{3, 4, 0, 1, 0, -2, 0.5, 0}, 2, 2, 2);
  EXPECT_GE(given.LongestFrequency(0), 5);
  EXPECT_LE(given.LongestFrequency(0), 5.01F);
  EXPECT_GE(given.LongestFrequency(1), 2);
  EXPECT_LE(given.LongestFrequency(1), 2.01F);
}

TEST(KernelValue, DependsOnTheDistanceInLengthsAlone) {
  Random random(1, Purpose::kTest);
  for (const Kernel& kernel : EveryKernel()) {
    for (int i = 0; i < 20; ++i) {
      Point difference{};
      Point in_lengths{};
      for (std::size_t c = 0; c < kDimension; ++c) {
        difference.at(c) = random.Normal();
        in_lengths.at(c) = difference.at(c) / kernel.length;
      }
      EXPECT_NEAR(KernelValue(kernel, difference),
                  KernelValue({kernel.kind, 1, kernel.shape}, in_lengths), 1e-14);
    }
  }
}

TEST(KernelValue, MakesMatricesThatArePositiveDefinite) {
  constexpr std::size_t kPoints = 12;
  Random random(2, Purpose::kTest);
  for (const Kernel& kernel : EveryKernel()) {
    std::array<Point, kPoints> points{};
    for (Point& point : points) {
      for (double& value : point) value = random.Normal();
    }
    double factor[kPoints][kPoints] = {};  // Cholesky's; a negative pivot would show an error
    for (std::size_t a = 0; a < kPoints; ++a) {
      for (std::size_t b = 0; b <= a; ++b) {
        Point difference{};
        for (std::size_t c = 0; c < kDimension; ++c) {
          difference.at(c) = points.at(a).at(c) - points.at(b).at(c);
        }
        double rest = KernelValue(kernel, difference);
        for (std::size_t k = 0; k < b; ++k) rest -= factor[a][k] * factor[b][k];
        if (a == b) {
          ASSERT_GT(rest, 1e-9) << NameOf(kernel, Draw::kIndependent);
        }
        factor[a][b] = a == b ? std::sqrt(rest) : rest / factor[b][b];
      }
    }
  }
}

TEST(KernelValue, OfOneKindIsThatOfAnotherAtItsLimits) {
  for (int i = 0; i < 30; ++i) {
    const std::array<double, 1> d = {0.1 * i};
    // In one dimension the Laplacian is Matern's of order 1/2.
    EXPECT_NEAR(KernelValue({KernelKind::kLaplacian, 0.7}, d),
                KernelValue({KernelKind::kMatern12, 0.7}, d), 1e-15);
    // The rational quadratic tends to the Gaussian: (1 + t/a)^-a = e^-t (1 + t^2/2a + ..), t < 5.
    EXPECT_NEAR(KernelValue({KernelKind::kRationalQuadratic, 1, 1e6}, d),
                KernelValue({KernelKind::kGaussian, 1}, d), 1e-6);
    // And for a = 1 in one dimension it is Cauchy's with another length.
    EXPECT_NEAR(KernelValue({KernelKind::kRationalQuadratic, 1, 1}, d),
                KernelValue({KernelKind::kCauchy, std::sqrt(2.0)}, d), 1e-15);
  }
}

}  // namespace
}  // namespace polykern
