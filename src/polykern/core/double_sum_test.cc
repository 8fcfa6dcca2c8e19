#include "polykern/core/double_sum.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "polykern/core/random.h"

namespace polykern {
namespace {

double SumOf(const std::vector<double>& numbers) {
  DoubleSum sum;
  for (const double number : numbers) sum.Add(number);
  return sum.Value();
}

/// Numbers of many sizes and both signs.
std::vector<double> Mixed(std::size_t count, int most_exponent) {
  Random random(5, Purpose::kSample);
  std::vector<double> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    const int exponent = static_cast<int>(random.Below(2 * most_exponent)) - most_exponent;
    numbers.push_back(std::ldexp(random.Normal(), exponent));
  }
  return numbers;
}

TEST(DoubleSum, OfOneNumberIsTheNumber) {
  using Limits = std::numeric_limits<double>;
  for (const double number : {0.0, 1.0, -1.0, 0.1, -1e300, 1e-300, Limits::max(), -Limits::max(),
                              Limits::min(), Limits::denorm_min(), -3 * Limits::denorm_min()}) {
    EXPECT_EQ(SumOf({number}), number);
  }
}

TEST(DoubleSum, IsThatOfTheSameNumbersInLongDouble) {
  // 60 bits of 2^-20 .. 2^20 and 1000 terms: long double, with 64, loses at most 1e-13 of the sum.
  const auto numbers = Mixed(1000, 20);
  long double slow = 0;
  for (const double number : numbers) slow += static_cast<long double>(number);
  EXPECT_NEAR(SumOf(numbers), static_cast<double>(slow),
              1e-13 * std::abs(static_cast<double>(slow)));
}

TEST(DoubleSum, HasTheSameBitsInAnyOrderAndSplit) {
  auto numbers = Mixed(500, 900);
  const double sum = SumOf(numbers);
  std::ranges::sort(numbers);
  EXPECT_EQ(SumOf(numbers), sum);
  std::ranges::reverse(numbers);
  EXPECT_EQ(SumOf(numbers), sum);
  DoubleSum odd;
  DoubleSum even;
  for (std::size_t i = 0; i < numbers.size(); ++i) (i % 2 == 0 ? even : odd).Add(numbers[i]);
  odd.Merge(even);
  EXPECT_EQ(odd.Value(), sum);
}

TEST(DoubleSum, LosesNothingBesideLargeNumbers) {
  EXPECT_EQ(SumOf({1e300, 3, -1e300, 1e-300}), 3);
  EXPECT_EQ(SumOf({1e300, -3, -1e300}), -3);
  EXPECT_EQ(SumOf({-0.5, 0.5}), 0);
}

TEST(DoubleSum, IsInfiniteOnceANumberIsNotFinite) {
  EXPECT_EQ(SumOf({1, std::numeric_limits<double>::quiet_NaN()}),
            std::numeric_limits<double>::infinity());
  DoubleSum sum;
  sum.Add(std::numeric_limits<double>::infinity());
  sum.Clear();
  sum.Add(2);
  EXPECT_EQ(sum.Value(), 2);
}

}  // namespace
}  // namespace polykern
