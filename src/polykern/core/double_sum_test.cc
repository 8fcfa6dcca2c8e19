#include "polykern/core/double_sum.h"

#include <algorithm>
#include <array>
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

/// Slow and exact: parts that do not overlap, whose sum is that of all numbers (Shewchuk 1997).
double SlowSum(const std::vector<double>& numbers) {
  std::vector<double> parts;
  for (double number : numbers) {
    std::vector<double> next;
    for (double part : parts) {
      if (std::abs(number) < std::abs(part)) std::swap(number, part);
      const double high = number + part;
      const double low = part - (high - number);
      if (low != 0) next.push_back(low);
      number = high;
    }
    next.push_back(number);
    parts = next;
  }
  double sum = 0;
  for (const double part : parts) sum += part;
  return sum;
}

TEST(DoubleSum, IsWithinOneUnitOfTheExactSumWhateverCancels) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed, Purpose::kTest);
    std::vector<double> numbers;
    for (std::uint64_t left = 1 + random.Below(30); left > 0; --left) {
      const int exponent = static_cast<int>(random.Below(300)) - 150;
      numbers.push_back(std::ldexp(random.Normal(), exponent));
      if (random.Below(2) == 0) numbers.push_back(-numbers[random.Below(numbers.size())]);
    }
    const double exact = SlowSum(numbers);
    const double ulp = std::nextafter(std::abs(exact), HUGE_VAL) - std::abs(exact);
    EXPECT_NEAR(SumOf(numbers), exact, ulp) << seed;
  }
}

TEST(DoubleSum, OfNumbersAndTheirNegativesIsZero) {
  auto numbers = Mixed(300, 1000);
  for (std::size_t i = 0; i < 300; ++i) numbers.push_back(-numbers[i]);
  EXPECT_EQ(SumOf(numbers), 0);
}

TEST(DoubleSum, GoesBeyondTheLargestDoubleAndComesBack) {
  const double most = std::numeric_limits<double>::max();
  EXPECT_EQ(SumOf({most, most, -most}), most);
  EXPECT_EQ(SumOf({-most, -most, most}), -most);
  EXPECT_EQ(SumOf({most, most}), HUGE_VAL);
  EXPECT_EQ(SumOf({-most, -most}), -HUGE_VAL);
}

TEST(DoubleSum, AddsTheLeastDoublesExactly) {
  const double least = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(SumOf(std::vector<double>(1000, least)), 1000 * least);
  EXPECT_EQ(SumOf({std::numeric_limits<double>::min(), -least}),
            std::numeric_limits<double>::min() - least);
  EXPECT_EQ(SumOf({1, least, -1}), least);
}

TEST(DoubleSum, IsTheSumOfTheWordsOfItsParts) {
  const auto numbers = Mixed(64, 500);
  std::array<std::int64_t, DoubleSum::kWords> words{};
  for (const double number : numbers) {
    DoubleSum part;
    part.Add(number);
    for (std::size_t i = 0; i < words.size(); ++i) words.at(i) += part.words()[i];
  }
  EXPECT_EQ(DoubleSum::Value(words), SumOf(numbers));
}

}  // namespace
}  // namespace polykern
