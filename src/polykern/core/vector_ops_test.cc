#include "polykern/core/vector_ops.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "polykern/core/random.h"
#include "polykern/core/tools_testing.h"

namespace polykern {
namespace {

std::vector<double> Doubles(std::size_t count, double low, double high) {
  Random random(1, Purpose::kTest, count);
  std::vector<double> values(count);
  for (double& value : values) value = low + (high - low) * random.Uniform();
  return values;
}

std::vector<float> Floats(std::size_t count) {
  std::vector<float> values;
  for (const double value : Doubles(count, -2, 2)) values.push_back(static_cast<float>(value));
  return values;
}

/// The documented order: eight interleaved partial sums, then pairs.
template <class Term>
double InOrder(std::size_t count, const Term& term) {
  std::vector<double> partial(8);
  for (std::size_t i = 0; i < count; ++i) partial[i % 8] += term(i);
  for (std::size_t p = 0; p < 4; ++p) partial[p] += partial[p + 4];
  for (std::size_t p = 0; p < 2; ++p) partial[p] += partial[p + 2];
  return partial[0] + partial[1];
}

TEST(VectorOps, ScaledAndAddedHasTheBitsOfThePlainFormulaOnEveryTarget) {
  OnEveryTarget([] {
    for (std::size_t count = 0; count < 70; ++count) {
      auto a = Doubles(count, -1, 3);
      const auto b = Floats(count);
      std::vector<double> expected;
      for (std::size_t i = 0; i < count; ++i) {
        expected.push_back(0.3 * a[i] + -1.7 * static_cast<double>(b[i]));
      }
      ScaleAndAdd(a, 0.3, -1.7, b);
      EXPECT_EQ(a, expected);
    }
  });
}

TEST(VectorOps, SumsHaveTheBitsOfTheDocumentedOrderOnEveryTarget) {
  OnEveryTarget([] {
    for (std::size_t count = 0; count < 70; ++count) {
      const auto a = Doubles(count, -1, 3);
      const auto b = Floats(count);
      const auto wide = [&](std::size_t i) { return static_cast<double>(b[i]); };
      EXPECT_EQ(Sum(a), InOrder(count, [&](std::size_t i) { return a[i]; }));
      EXPECT_EQ(Dot(a, b), InOrder(count, [&](std::size_t i) { return a[i] * wide(i); }));
      EXPECT_EQ(SumOfSquares(b), InOrder(count, [&](std::size_t i) { return wide(i) * wide(i); }));
      EXPECT_EQ(SumOfSquares(a), InOrder(count, [&](std::size_t i) { return a[i] * a[i]; }));
    }
  });
}

TEST(VectorOps, LeastIsTheLeast) {
  OnEveryTarget([] {
    for (std::size_t count = 1; count < 70; ++count) {
      const auto a = Doubles(count, -5, 5);
      EXPECT_EQ(Least(a), *std::min_element(a.begin(), a.end()));
    }
  });
}

TEST(VectorOps, ExpIsWithinTwoUnitsInTheLastPlace) {
  OnEveryTarget([] {
    for (const double low : {-1e-9, -1.0, -50.0, -708.0}) {
      const auto x = Doubles(1003, low, 0);
      auto values = x;
      ExpOfNegatives(values);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double exact = static_cast<double>(std::exp(static_cast<long double>(x[i])));
        EXPECT_NEAR(values[i], exact, 2 * (std::nextafter(exact, 2) - exact)) << x[i];
      }
    }
    std::vector<double> ends = {0, -0.0, -709, -1e6, -std::numeric_limits<double>::infinity()};
    ExpOfNegatives(ends);
    EXPECT_EQ(ends, (std::vector<double>{1, 1, 0, 0, 0}));
  });
}

TEST(VectorOps, SoftMinHasTheBitsOfItsPartsOnEveryTarget) {
  OnEveryTarget([] {
    for (std::size_t count = 1; count < 40; ++count) {
      const auto losses = Doubles(count, 0, 30);
      for (const double rate : {0.1, 2.0, std::numeric_limits<double>::infinity()}) {
        std::vector<double> expected;
        for (const double loss : losses) {
          const double behind = loss - Least(losses);
          expected.push_back(behind == 0 ? 0 : -rate * behind);
        }
        ExpOfNegatives(expected);
        const double share = 1 / Sum(expected);
        for (double& weight : expected) weight *= share;
        std::vector<double> weights(count);
        SoftMin(losses, rate, weights);
        EXPECT_EQ(weights, expected);
      }
    }
  });
}

TEST(VectorOps, AddAndFindLeastSeesEveryValue) {
  OnEveryTarget([] {
    for (std::size_t count = 1; count < 40; ++count) {
      for (std::size_t at = 0; at < count; ++at) {
        auto added = Doubles(count, 0, 1);
        for (const double bad : {0.0, 1.0, -1e-9, 1.5, std::nan("")}) {
          added[at] = bad;
          auto sums = Doubles(count, -3, 3);
          auto expected = sums;
          for (std::size_t i = 0; i < count; ++i) expected[i] += added[i];
          bool unit = true;
          const double least = AddAndFindLeast(added, sums, unit);
          EXPECT_EQ(unit, bad >= 0 && bad <= 1);
          if (std::isnan(bad)) continue;
          EXPECT_EQ(sums, expected);
          EXPECT_EQ(least, *std::min_element(expected.begin(), expected.end()));
        }
        bool was_bad = false;
        AddAndFindLeast(std::vector<double>(count, 0.5), added, was_bad);
        EXPECT_FALSE(was_bad);
      }
    }
  });
}

TEST(VectorOps, AddScaledAndSumHasTheBitsOfThePlainLoopOnEveryTarget) {
  OnEveryTarget([] {
    for (std::size_t count = 0; count < 40; ++count) {
      const auto added = Doubles(count, 0, 2);
      auto values = Doubles(count, -1, 3);
      auto sums = Doubles(count, -3, 7);
      auto expected_values = values;
      auto expected_sums = sums;
      for (std::size_t i = 0; i < count; ++i) {
        expected_values[i] += 0.3 * added[i];
        expected_sums[i] += expected_values[i];
      }
      AddScaledAndSum(added, 0.3, values, sums);
      EXPECT_EQ(values, expected_values);
      EXPECT_EQ(sums, expected_sums);
    }
  });
}

TEST(VectorOps, ScaleAndAddRowsTakesEachRowWhereItIsTold) {
  OnEveryTarget([] {
    for (std::size_t width = 1; width < 40; ++width) {
      const auto x = Floats(2 * width);
      const auto y = Floats(3 * width);
      const std::vector<float> a = {0.3F, 2.5F};
      const std::vector<float> b = {-1.7F, 0.1F};
      const std::vector<std::uint32_t> of_y = {2, 0};
      std::vector<float> values = x;
      ScaleAndAddRows(a, {b, of_y, y}, width, values);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::size_t r = i / width;
        const float second = b[r] * y[of_y[r] * width + i % width];
        EXPECT_EQ(values[i], a[r] * x[i] + second);
      }
    }
  });
}

TEST(VectorOps, SubtractScaledAndRoundToFloatEqualThePlainLoops) {
  OnEveryTarget([] {
    for (std::size_t count = 0; count < 40; ++count) {
      std::vector<std::int64_t> sums;
      for (const double value : Doubles(count, -0x1p62, 0x1p62)) {
        sums.push_back(static_cast<std::int64_t>(value) / (sums.size() % 2 == 0 ? 1 : 1 << 30));
      }
      const auto before = Doubles(count, -3, 3);
      auto model = before;
      std::vector<float> rounded(count);
      SubtractScaled(sums, 0x1p-60 / 3, model);
      RoundToFloat(model, rounded);
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_EQ(model[i], before[i] - 0x1p-60 / 3 * static_cast<double>(sums[i]));
        EXPECT_EQ(rounded[i], static_cast<float>(model[i]));
      }
    }
  });
}

}  // namespace
}  // namespace polykern
