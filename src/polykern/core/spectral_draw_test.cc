#include "polykern/core/spectral_draw.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

#include "polykern/core/error.h"
#include "polykern/core/kernels.h"
#include "polykern/core/kernels_testing.h"
#include "polykern/core/random.h"

namespace polykern {
namespace {

bool CanBeDrawn(const Kernel& kernel, Draw draw) {
  if (draw == Draw::kShared) return kernel.kind == KernelKind::kGaussian;
  return draw == Draw::kIndependent || IsIsotropic(kernel.kind);
}

/// z(x) . z(x') of the bank's only kernel, in double.
double FeatureProduct(const KernelBank& bank, const Point& x, const Point& y) {
  const auto rho = bank.Frequencies(0);
  double sum = 0;
  for (std::size_t j = 0; j < bank.features(); ++j) {
    double a = 0;
    double b = 0;
    for (std::size_t c = 0; c < kDimension; ++c) {
      const auto frequency = static_cast<double>(rho[j * kDimension + c]);
      a += frequency * x.at(c);
      b += frequency * y.at(c);
    }
    sum += std::sin(a) * std::sin(b) + std::cos(a) * std::cos(b);
  }
  return sum / static_cast<double>(bank.features());
}

struct Estimate {
  double mean = 0;
  double error = 0;        ///< standard error of the mean
  double mean_square = 0;  ///< of the distance from the kernel
  double square_error = 0;
};

/// z(x) . z(x') - k(x - x') over `banks` independent banks.
Estimate EstimateKernel(const Kernel& kernel, Draw draw, std::size_t features, int banks,
                        const Point& x, const Point& y) {
  Point difference{};
  for (std::size_t c = 0; c < kDimension; ++c) difference.at(c) = x.at(c) - y.at(c);
  const double exact = KernelValue(kernel, difference);
  double sum = 0;
  double squares = 0;
  double fourths = 0;
  for (int b = 0; b < banks; ++b) {
    const KernelBank bank(std::array{kernel}, kDimension, features,
                          1000 + static_cast<std::uint64_t>(b), draw);
    const double miss = FeatureProduct(bank, x, y) - exact;
    sum += miss;
    squares += miss * miss;
    fourths += miss * miss * miss * miss;
  }
  Estimate estimate;
  estimate.mean = sum / banks;
  estimate.mean_square = squares / banks;
  estimate.error = std::sqrt(estimate.mean_square / banks);
  estimate.square_error =
      std::sqrt((fourths / banks - estimate.mean_square * estimate.mean_square) / banks);
  return estimate;
}

constexpr Point kOrigin = {0.3, -1.2, 0.5, 0.1};
constexpr std::array<Point, 3> kOthers = {Point{0.4, -1.0, 0.2, 0.2}, Point{1.0, -1.5, 0.9, -0.3},
                                          Point{0.3, -1.2, 2.0, 0.1}};

void ExpectNoBias(Draw draw) {
  for (const Kernel& kernel : EveryKernel()) {
    if (!CanBeDrawn(kernel, draw)) continue;
    for (const Point& other : kOthers) {
      const Estimate estimate = EstimateKernel(kernel, draw, 16, 1200, kOrigin, other);
      // 48 comparisons in all: five standard errors of the mean of 1200 banks.
      EXPECT_NEAR(estimate.mean, 0, 5 * estimate.error) << NameOf(kernel, draw);
      EXPECT_LT(estimate.error, 0.006);  // the comparison has teeth
    }
  }
}

void ExpectErrorsToFallAsOneOverTheRoot(Draw draw) {
  for (const Kernel& kernel : EveryKernel()) {
    if (!CanBeDrawn(kernel, draw)) continue;
    const Estimate few = EstimateKernel(kernel, draw, 16, 1000, kOrigin, kOthers[1]);
    const Estimate many = EstimateKernel(kernel, draw, 256, 1000, kOrigin, kOthers[1]);
    const double ratio = std::sqrt(few.mean_square / many.mean_square);
    // sqrt(256 / 16) = 4. The relative error of a root of a mean square is half that of the mean
    // square (about 2.2 % here); five standard errors of the quotient.
    const double relative =
        std::hypot(few.square_error / few.mean_square, many.square_error / many.mean_square) / 2;
    EXPECT_NEAR(ratio, 4, 5 * 4 * relative) << NameOf(kernel, draw);
    EXPECT_LT(relative, 0.05);
  }
}

TEST(IndependentFeatures, EstimateEveryKernelWithoutBias) {
  ExpectNoBias(Draw::kIndependent);
}

TEST(OrthogonalFeatures, EstimateEveryIsotropicKernelWithoutBias) {
  ExpectNoBias(Draw::kOrthogonal);
}

TEST(SharedFeatures, EstimateTheGaussianKernelWithoutBias) {
  ExpectNoBias(Draw::kShared);
}

TEST(SharedFeatures, AreOneDrawDividedByTheLengths) {
  const KernelBank bank(MakeDictionary("gaussian", 21), 3, 8, 4, Draw::kShared);
  for (std::size_t i = 0; i < 21; ++i) {
    const double length = MakeDictionary("gaussian", 21)[i].length;
    for (std::size_t at = 0; at < 24; ++at) {
      const auto base = static_cast<double>(bank.SharedFrequencies()[at]);
      EXPECT_NEAR(bank.Frequencies(i)[at], base / length, 1e-6 * std::abs(base / length));
    }
  }
}

TEST(SharedFeatures, AreRefusedForOtherKernels) {
  EXPECT_THROW(KernelBank(MakeDictionary("mixed", 4), 3, 8, 4, Draw::kShared), Error);
}

TEST(IndependentFeatures, HaveErrorsThatFallAsOneOverTheRootOfTheirNumber) {
  ExpectErrorsToFallAsOneOverTheRoot(Draw::kIndependent);
}

TEST(OrthogonalFeatures, HaveErrorsThatFallAsOneOverTheRootOfTheirNumber) {
  ExpectErrorsToFallAsOneOverTheRoot(Draw::kOrthogonal);
}

TEST(OrthogonalFeatures, HaveLessVarianceThanIndependentOnesForTheGaussian) {
  const Kernel kernel{KernelKind::kGaussian, 1};
  const Point other = {0.9, -0.7, 0.2, 0.5};
  const Estimate independent = EstimateKernel(kernel, Draw::kIndependent, 16, 1500, kOrigin, other);
  const Estimate orthogonal = EstimateKernel(kernel, Draw::kOrthogonal, 16, 1500, kOrigin, other);
  const double error = std::hypot(independent.square_error, orthogonal.square_error);
  EXPECT_GT(independent.mean_square - orthogonal.mean_square, 5 * error);  // five standard errors
}

TEST(OrthogonalFeatures, AreOrthogonalWithinABlockAndOnlyThere) {
  constexpr std::size_t kFeatures = 2 * kDimension + 3;  // two full blocks and a part
  const KernelBank bank(std::array{Kernel{KernelKind::kMatern32, 0.5}}, kDimension, kFeatures, 3,
                        Draw::kOrthogonal);
  const auto rho = bank.Frequencies(0);
  const auto cosine = [&](std::size_t a, std::size_t b) {
    double dot = 0;
    double square_a = 0;
    double square_b = 0;
    for (std::size_t c = 0; c < kDimension; ++c) {
      const auto of_a = static_cast<double>(rho[a * kDimension + c]);
      const auto of_b = static_cast<double>(rho[b * kDimension + c]);
      dot += of_a * of_b;
      square_a += of_a * of_a;
      square_b += of_b * of_b;
    }
    return dot / std::sqrt(square_a * square_b);
  };
  double across = 0;
  for (std::size_t a = 0; a < kFeatures; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      if (a / kDimension == b / kDimension) {
        EXPECT_NEAR(cosine(a, b), 0, 4e-7) << a << " and " << b;  // rounding to float
      } else {
        across = std::max(across, std::abs(cosine(a, b)));
      }
    }
  }
  EXPECT_GT(across, 0.3);
}

TEST(OrthogonalFeatures, AreRefusedForLaplacianAndCauchyAlone) {
  for (const Kernel& kernel : EveryKernel()) {
    const auto make = [&] {
      const KernelBank bank(std::array{Kernel{}, kernel}, 3, 4, 1, Draw::kOrthogonal);
    };
    if (kernel.kind == KernelKind::kLaplacian || kernel.kind == KernelKind::kCauchy) {
      EXPECT_FALSE(IsIsotropic(kernel.kind));
      EXPECT_THROW(make(), Error);
    } else {
      EXPECT_TRUE(IsIsotropic(kernel.kind));
      EXPECT_NO_THROW(make());
    }
  }
}

TEST(Frequencies, ScaleInverselyWithTheLengthOfTheirKernel) {
  for (const Kernel& kernel : EveryKernel()) {
    Kernel unit = kernel;
    unit.length = 1;
    Random one(3, Purpose::kTest);
    Random other(3, Purpose::kTest);
    for (int i = 0; i < 20; ++i) {
      Point of_kernel{};
      Point of_unit{};
      DrawFrequency(kernel, one, of_kernel);
      DrawFrequency(unit, other, of_unit);
      for (std::size_t c = 0; c < kDimension; ++c) {
        EXPECT_NEAR(of_kernel.at(c) * kernel.length, of_unit.at(c),
                    1e-14 * std::abs(of_unit.at(c)));
      }
    }
  }
}

}  // namespace
}  // namespace polykern
