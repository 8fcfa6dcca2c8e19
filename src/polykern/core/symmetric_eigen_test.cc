#include "polykern/core/symmetric_eigen.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

#include "polykern/core/random.h"

namespace polykern {
namespace {

std::vector<double> RandomSymmetric(std::size_t size, std::uint64_t seed) {
  Random random(seed, Purpose::kTest);
  std::vector<double> matrix(size * size);
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = i; j < size; ++j) {
      matrix[i * size + j] = matrix[j * size + i] = random.Normal();
    }
  }
  return matrix;
}

/// What errors of double's rounding may add up to: rotations of about ten sweeps, each of which
/// errs by some 1e-16 of the matrix's length, which is about its size.
double RoundingFor(std::size_t size) {
  return 1e-15 * static_cast<double>(10 * size);
}

TEST(SymmetricEigen, GivesTheMatrixBack) {
  for (const std::size_t size : {1U, 2U, 3U, 10U, 42U, 60U}) {
    const auto matrix = RandomSymmetric(size, size);
    const SymmetricEigen eigen = DecomposeSymmetric(size, matrix);
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = 0; j < size; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < size; ++k) {
          sum += eigen.values[k] * eigen.vectors[k * size + i] * eigen.vectors[k * size + j];
        }
        EXPECT_NEAR(sum, matrix[i * size + j], RoundingFor(size));
      }
    }
  }
}

TEST(SymmetricEigen, HasVectorsOfLengthOneAtRightAngles) {
  constexpr std::size_t kSize = 30;
  const SymmetricEigen eigen = DecomposeSymmetric(kSize, RandomSymmetric(kSize, 1));
  for (std::size_t k = 0; k < kSize; ++k) {
    for (std::size_t l = 0; l < kSize; ++l) {
      double dot = 0;
      for (std::size_t i = 0; i < kSize; ++i) {
        dot += eigen.vectors[k * kSize + i] * eigen.vectors[l * kSize + i];
      }
      EXPECT_NEAR(dot, k == l ? 1 : 0, RoundingFor(kSize));
    }
  }
}

TEST(SymmetricEigen, KnowsAMatrixWhoseEigenvaluesAreKnown) {
  // 2 on the diagonal and -1 beside it: 2 - 2 cos(k pi / (size + 1)).
  constexpr std::size_t kSize = 12;
  std::vector<double> matrix(kSize * kSize);
  for (std::size_t i = 0; i < kSize; ++i) {
    matrix[i * kSize + i] = 2;
    if (i > 0) matrix[i * kSize + i - 1] = matrix[(i - 1) * kSize + i] = -1;
  }
  SymmetricEigen eigen = DecomposeSymmetric(kSize, matrix);
  std::ranges::sort(eigen.values);
  for (std::size_t k = 0; k < kSize; ++k) {
    const double angle = static_cast<double>(k + 1) * std::acos(-1.0) / (kSize + 1);
    EXPECT_NEAR(eigen.values[k], 2 - 2 * std::cos(angle), RoundingFor(kSize));
  }
}

TEST(SymmetricEigen, LeavesDiagonalsAndZerosAsTheyAre) {
  const SymmetricEigen none = DecomposeSymmetric(2, std::vector<double>(4));
  EXPECT_EQ(none.values, (std::vector<double>{0, 0}));
  const SymmetricEigen diagonal = DecomposeSymmetric(2, std::vector<double>{3, 0, 0, -1});
  EXPECT_EQ(diagonal.values, (std::vector<double>{3, -1}));
  EXPECT_EQ(diagonal.vectors, (std::vector<double>{1, 0, 0, 1}));
}

}  // namespace
}  // namespace polykern
