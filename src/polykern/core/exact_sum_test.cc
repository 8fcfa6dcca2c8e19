#include "polykern/core/exact_sum.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "polykern/core/random.h"
#include "polykern/core/tools_testing.h"

namespace polykern {
namespace {

constexpr std::size_t kWidth = 5;

std::vector<std::uint64_t> BitsOf(const ExactSum& sum) {
  std::vector<std::uint64_t> bits;
  for (std::size_t i = 0; i < sum.size(); ++i) bits.push_back(std::bit_cast<std::uint64_t>(sum[i]));
  return bits;
}

/// Rows whose plain float or double sum depends on the order: sizes from 1e-9 to 512.
std::vector<std::array<float, kWidth>> RandomRows(std::size_t count) {
  Random random(7, Purpose::kTest);
  std::vector<std::array<float, kWidth>> rows(count);
  for (auto& row : rows) {
    for (float& value : row) {
      value = static_cast<float>((2 * random.Uniform() - 1) *
                                 std::ldexp(512.0, -static_cast<int>(random.Below(40))));
    }
  }
  return rows;
}

double Rounded(float value) {
  return std::nearbyint(static_cast<double>(value) * 0x1p30) * 0x1p-30;
}

TEST(ExactSum, StartsAtZero) {
  const ExactSum sum(3);
  EXPECT_EQ(sum.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(sum[i], 0);
}

TEST(ExactSum, RoundsEachTermToAMultipleOfItsUnit) {
  for (const auto& row : RandomRows(400)) {
    ExactSum sum(kWidth);
    sum.Add(0, row);
    for (std::size_t i = 0; i < kWidth; ++i) EXPECT_EQ(sum[i], Rounded(row.at(i)));
  }
}

TEST(ExactSum, RoundsHalvesToEvenAndKeepsSmallMultiplesExactly) {
  const std::array<float, 8> values = {0x1p-31F, 0x1.8p-30F, 0x1.4p-29F, -0x1p-31F,
                                       0x1p-30F, -0x1p-30F,  0x1p-32F,   -512};
  const std::array<double, 8> expected = {0, 0x1p-29, 0x1p-29, 0, 0x1p-30, -0x1p-30, 0, -512};
  ExactSum sum(values.size());
  sum.Add(0, values);
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(sum[i], expected.at(i)) << i;
}

TEST(ExactSum, EqualsTheSumOfTheRoundedTerms) {
  ExactSum sum(kWidth);
  std::array<long double, kWidth> expected{};
  for (const auto& row : RandomRows(1000)) {
    sum.Add(0, row);
    // Multiples of 2^-30 below 2^19 fit the 64-bit mantissa: the reference is exact too.
    for (std::size_t i = 0; i < kWidth; ++i)
      expected.at(i) += static_cast<long double>(Rounded(row.at(i)));
  }
  for (std::size_t i = 0; i < kWidth; ++i) EXPECT_EQ(sum[i], static_cast<double>(expected.at(i)));
}

TEST(ExactSum, HasTheSameBitsInAnyOrderAndAnySplit) {
  const auto rows = RandomRows(300);
  ExactSum expected(kWidth);
  for (const auto& row : rows) expected.Add(0, row);

  Random random(8, Purpose::kTest);
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t parts = 1; parts <= 12; ++parts) {
    random.Shuffle(order);
    std::vector<ExactSum> sums(parts, ExactSum(kWidth));
    for (const std::size_t row : order) sums[random.Below(parts)].Add(0, rows[row]);
    random.Shuffle(sums);
    ExactSum total(kWidth);
    for (const ExactSum& sum : sums) total.Merge(sum);
    EXPECT_EQ(BitsOf(total), BitsOf(expected)) << parts << " parts";
  }
}

TEST(ExactSum, DoesWhatPlainSumsCannot) {
  // In float, 512 + 2^-20 - 512 is 0; here the small term survives the large ones.
  ExactSum sum(1);
  for (const float value : {512.0F, 0x1p-20F, -512.0F}) sum.Add(0, std::array{value});
  EXPECT_EQ(sum[0], 0x1p-20);
}

TEST(ExactSum, AddsAtTheOffsetAndNowhereElse) {
  ExactSum sum(6);
  sum.Add(2, std::array{1.0F, 2.0F, 3.0F});
  sum.Add(3, std::array{10.0F});
  sum.Add(6, {});
  const std::array<double, 6> expected = {0, 0, 1, 12, 3, 0};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(sum[i], expected.at(i));
}

TEST(ExactSum, ClearForgetsEverything) {
  ExactSum sum(2);
  sum.Add(0, std::array{1.0F, -2.0F});
  sum.Clear();
  EXPECT_EQ(sum[0], 0);
  EXPECT_EQ(sum[1], 0);
  sum.Add(0, std::array{4.0F, 5.0F});
  EXPECT_EQ(sum[1], 5);
}

TEST(ExactSum, RepresentsFiniteNumbersUpToTheLimit) {
  EXPECT_TRUE(ExactSum::Representable({}));
  EXPECT_TRUE(ExactSum::Representable(std::array{512.0F}));
  EXPECT_TRUE(ExactSum::Representable(std::array{-512.0F}));
  EXPECT_TRUE(ExactSum::Representable(std::array{0.0F, -0.0F, 1e-45F, 1.0F}));
  EXPECT_FALSE(ExactSum::Representable(std::array{512.00006F}));
  EXPECT_FALSE(ExactSum::Representable(std::array{-512.00006F}));
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(ExactSum::Representable(std::array{infinity}));
  EXPECT_FALSE(ExactSum::Representable(std::array{-infinity}));
  EXPECT_FALSE(ExactSum::Representable(std::array{std::numeric_limits<float>::quiet_NaN()}));
}

TEST(ExactSum, FindsOneBadNumberAnywhereOnEveryTarget) {
  OnEveryTarget([] {
    for (std::size_t count = 1; count < 40; ++count) {
      std::vector<float> values(count, -512.0F);
      EXPECT_TRUE(ExactSum::Representable(values));
      for (std::size_t i = 0; i < count; ++i) {
        for (const float bad : {512.1F, -512.1F, std::numeric_limits<float>::quiet_NaN(),
                                -std::numeric_limits<float>::infinity()}) {
          values[i] = bad;
          EXPECT_FALSE(ExactSum::Representable(values)) << count << " " << i << " " << bad;
        }
        values[i] = 512;
      }
    }
  });
}

TEST(ExactSum, AddsRowsWhereItIsToldOnEveryTarget) {
  std::vector<std::vector<std::uint32_t>> places = {{1, 3, 1, 2, 3}, {0, 1, 0, 1, 2}, {2}};
  for (std::size_t times = 1; times <= 9; ++times) {  // the same rows again and again
    places.emplace_back(times, 2);
    auto& three = places.emplace_back();
    for (std::size_t t = 0; t < times; ++t) three.insert(three.end(), {1, 2, 3});
  }
  OnEveryTarget([&] {
    for (std::size_t width = 1; width < 40; ++width) {
      Random random(8, Purpose::kTest, width);
      for (const auto& which : places) {
        std::vector<float> values(which.size() * width);
        for (float& value : values) value = static_cast<float>(1000 * random.Uniform() - 500);
        ExactSum sum(4 * width);
        sum.Add(values, which);
        sum.Add(values, which);
        std::vector<double> expected(4 * width);
        for (std::size_t i = 0; i < values.size(); ++i) {
          expected[which[i / width] * width + i % width] += 2 * Rounded(values[i]);
        }
        for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(sum[i], expected[i]);
      }
    }
  });
}

TEST(ExactSum, HoldsTheMostTermsOfTheLargestSize) {
  for (const float term : {ExactSum::kLimit, -ExactSum::kLimit}) {
    ExactSum power(1);  // 1, 2, 4, .. terms
    ExactSum sum(1);
    power.Add(0, std::array{term});
    std::uint64_t terms = 0;
    for (std::uint64_t next = 1; terms + next <= ExactSum::kMaxTerms; next *= 2) {
      sum.Merge(power);
      terms += next;
      if (terms + 2 * next <= ExactSum::kMaxTerms) power.Merge(ExactSum(power));
    }
    EXPECT_EQ(terms, ExactSum::kMaxTerms);
    EXPECT_EQ(sum[0], static_cast<double>(terms) * static_cast<double>(term));
  }
}

TEST(ExactSum, AddsIntegersModulo2To64InItsUnit) {
  ExactSum sum(6, 0.5);
  sum.AddIntegers(std::vector<std::uint64_t>{UINT64_MAX, 5, 7, 1},
                  std::vector<std::uint32_t>{2, 0});
  sum.AddIntegers(std::vector<std::uint64_t>{4, static_cast<std::uint64_t>(-11)},
                  std::vector<std::uint32_t>{2});
  sum.AddIntegers({}, {});
  EXPECT_EQ(sum[4], 1.5);  // (-1 + 4) / 2
  EXPECT_EQ(sum[5], -3);
  EXPECT_EQ(sum[0], 3.5);
  EXPECT_EQ(sum[1], 0.5);
  ExactSum wrapped(1, 1);  // twice past the largest number
  for (int i = 0; i < 4; ++i) {
    wrapped.AddIntegers(std::vector<std::uint64_t>{(1ULL << 62) + 1},
                        std::vector<std::uint32_t>{0});
  }
  ExactSum all(1, 1);
  all.Merge(wrapped);
  all.Merge(wrapped);
  EXPECT_EQ(all[0], 8);
}

TEST(ExactSum, HasALimitThatKeepsTheSumWithin64Bits) {
  EXPECT_EQ(ExactSum::LimitOf(1), 512);
  EXPECT_EQ(ExactSum::LimitOf(ExactSum::kMaxTerms), 512);
  for (const std::uint64_t terms :
       {ExactSum::kMaxTerms + 1, std::uint64_t{50'000'000}, ExactSum::kMostTerms}) {
    const float limit = ExactSum::LimitOf(terms);
    const double most = static_cast<double>(limit) * 0x1p30 * static_cast<double>(terms);
    EXPECT_LT(most, 0x1p63);
    EXPECT_GT(most, 0x1p62);
    EXPECT_TRUE(ExactSum::Representable(std::array{limit, -limit}, limit));
    EXPECT_FALSE(ExactSum::Representable(std::array{0.0F, std::nextafter(limit, 600.0F)}, limit));
  }
}

}  // namespace
}  // namespace polykern
