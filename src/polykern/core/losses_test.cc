#include "polykern/core/losses.h"

#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/error.h"
#include "polykern/core/random.h"

namespace polykern {
namespace {

struct LossCase {
  std::string name;
  Loss loss;
  std::vector<double> labels;
};

void PrintTo(const LossCase& each, std::ostream* out) {
  *out << each.name;
}

std::vector<LossCase> Cases() {
  return {{"Squared", {LossKind::kSquared}, {-0.5, 0, 0.3, 1}},
          {"Huber", {LossKind::kHuber, 0.1}, {-0.5, 0, 0.3, 1}},
          {"WideHuber", {LossKind::kHuber, 2.5}, {-0.5, 0, 0.3, 1}},
          {"Logistic", {LossKind::kLogistic}, {0, 1}}};
}

class EveryLoss : public testing::TestWithParam<LossCase> {};

TEST_P(EveryLoss, HasTheSlopeOfItsValue) {
  const Loss& loss = GetParam().loss;
  const double h = 1e-5;
  for (const double y : GetParam().labels) {
    for (int i = 0; i < 106; ++i) {
      const double f = -6.0371 + 0.1137 * i;  // misses Huber's knees by more than h
      const double difference = (loss.Value(f + h, y) - loss.Value(f - h, y)) / (2 * h);
      // Rounding of values up to 50 over 2h, and h^2 times a third derivative below 1.
      EXPECT_NEAR(loss.Slope(f, y), difference, 2e-9) << "f " << f << " y " << y;
    }
  }
}

TEST_P(EveryLoss, IsConvexInThePrediction) {
  const Loss& loss = GetParam().loss;
  for (const double y : GetParam().labels) {
    for (int i = 0; i < 27; ++i) {
      for (int j = 0; j < 19; ++j) {
        const double a = -5 + 0.37 * i;
        const double b = a + 0.01 + 0.53 * j;
        EXPECT_LE(loss.Value((a + b) / 2, y), (loss.Value(a, y) + loss.Value(b, y)) / 2 + 1e-14);
        EXPECT_LE(loss.Slope(a, y), loss.Slope(b, y));
      }
    }
  }
}

TEST_P(EveryLoss, DoesNotOverflowAtHugePredictions) {
  const Loss& loss = GetParam().loss;
  for (const double y : GetParam().labels) {
    for (const double f : {-1000.0, 1000.0}) {
      EXPECT_TRUE(std::isfinite(loss.Value(f, y)));
      EXPECT_GE(loss.Value(f, y), 0);
      EXPECT_TRUE(std::isfinite(loss.Slope(f, y)));
      EXPECT_TRUE(std::isfinite(loss.Predicted(f)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryLoss, testing::ValuesIn(Cases()),
                         [](const auto& each) { return each.param.name; });

TEST(SquaredLoss, IsTheSquareOfTheError) {
  const Loss loss;
  EXPECT_DOUBLE_EQ(loss.Value(0.75, 0.5), 0.0625);
  EXPECT_DOUBLE_EQ(loss.Slope(0.75, 0.5), 0.5);
  EXPECT_DOUBLE_EQ(loss.Slope(0.25, 0.5), -0.5);
  EXPECT_EQ(loss.Predicted(0.75), 0.75);
}

TEST(HuberLoss, IsQuadraticInsideAndTheTangentOutside) {
  const Loss loss{LossKind::kHuber, 0.5};
  EXPECT_DOUBLE_EQ(loss.Value(1.25, 1), 0.0625);
  EXPECT_DOUBLE_EQ(loss.Value(4, 1), 2 * 0.5 * 3 - 0.25);
  EXPECT_DOUBLE_EQ(loss.Value(-2, 1), 2 * 0.5 * 3 - 0.25);
  EXPECT_DOUBLE_EQ(loss.Slope(4, 1), 1);
  EXPECT_DOUBLE_EQ(loss.Slope(-2, 1), -1);
  EXPECT_EQ(loss.Predicted(4), 4);
}

TEST(HuberLoss, IsContinuousWithItsSlopeAtTheKnees) {
  for (const double delta : {0.01, 0.1, 1.0, 7.0}) {
    const Loss loss{LossKind::kHuber, delta};
    for (const double side : {-1.0, 1.0}) {
      const double inside = side * delta * (1 - 1e-12);
      const double outside = side * delta * (1 + 1e-12);
      EXPECT_NEAR(loss.Value(inside, 0), loss.Value(outside, 0), 1e-11 * delta * delta);
      EXPECT_NEAR(loss.Slope(inside, 0), loss.Slope(outside, 0), 1e-11 * delta);
      EXPECT_NEAR(loss.Value(outside, 0), delta * delta, 1e-11 * delta * delta);
    }
  }
}

TEST(LogisticLoss, IsTheNegativeLogOfTheProbabilityOfTheLabel) {
  const Loss loss{LossKind::kLogistic};
  for (int i = -40; i <= 40; ++i) {
    const double f = 0.5 * i;
    const double p = loss.Predicted(f);
    EXPECT_NEAR(p, 1 / (1 + std::exp(-f)), 1e-15);
    EXPECT_NEAR(loss.Value(f, 1), std::log1p(std::exp(-f)), 1e-14);
    EXPECT_NEAR(loss.Value(f, 0), std::log1p(std::exp(f)), 1e-14);
    EXPECT_NEAR(loss.Slope(f, 1), p - 1, 1e-15);
    EXPECT_NEAR(loss.Slope(f, 0), p, 1e-15);
  }
}

TEST(LogisticLoss, IsExactFarOutWhereTheExponentialWouldOverflow) {
  const Loss loss{LossKind::kLogistic};
  EXPECT_EQ(loss.Value(1000, 0), 1000);
  EXPECT_EQ(loss.Value(1000, 1), 0);
  EXPECT_EQ(loss.Value(-1000, 0), 0);
  EXPECT_EQ(loss.Value(-1000, 1), 1000);
  EXPECT_EQ(loss.Predicted(1000), 1);
  EXPECT_EQ(loss.Predicted(-1000), 0);
  EXPECT_EQ(loss.Slope(-1000, 1), -1);
}

TEST(LossNames, AreKnownAndNoOtherIs) {
  EXPECT_EQ(ValueOf<LossKind>("squared"), LossKind::kSquared);
  EXPECT_EQ(ValueOf<LossKind>("huber"), LossKind::kHuber);
  EXPECT_EQ(ValueOf<LossKind>("logistic"), LossKind::kLogistic);
  EXPECT_EQ(NameOf(LossKind::kHuber), "huber");
  EXPECT_EQ(AllNames<LossKind>(), "squared, huber, logistic");
  for (const char* name : {"hinge", "", "Squared", "squared "}) {
    EXPECT_EQ(ValueOf<LossKind>(name), std::nullopt) << name;
  }
}

TEST_P(EveryLoss, OfManyPredictionsHasTheBitsOfEachAlone) {
  const Loss& loss = GetParam().loss;
  Random random(1, Purpose::kTest);
  for (const std::size_t count : {0U, 1U, 3U, 8U, 51U}) {
    std::vector<float> f(count);
    for (float& value : f) value = static_cast<float>(3 * random.Normal());
    for (const double y : GetParam().labels) {
      std::vector<double> values(count);
      std::vector<double> slopes(count);
      loss.Values(f, y, values);
      loss.Slopes(f, y, slopes);
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_EQ(values[i], loss.Value(static_cast<double>(f[i]), y));
        EXPECT_EQ(slopes[i], loss.Slope(static_cast<double>(f[i]), y));
      }
    }
  }
}

TEST_P(EveryLoss, IsLeastWhereItsSlopeChangesSign) {
  const Loss& loss = GetParam().loss;
  for (const double y : GetParam().labels) {
    for (int i = -50; i <= 50; ++i) {
      const double f = 0.13 * i + 0.001;
      const double slope = loss.Slope(f, y);
      const double step = 1e-3 * (slope > 0 ? -1 : 1);
      if (std::abs(slope) < 2.1e-3) continue;  // a step of 1e-3 would lead beyond the least
      EXPECT_LT(loss.Value(f + step, y), loss.Value(f, y)) << "f " << f << " y " << y;
    }
  }
}

TEST(HuberLoss, IsBoundedBySquaredLossWhichItIsForALargeDelta) {
  const Loss squared;
  const Loss large{LossKind::kHuber, 100};
  for (int i = -60; i <= 60; ++i) {
    const double f = 0.1 * i;
    EXPECT_EQ(large.Value(f, 0.25), squared.Value(f, 0.25));
    EXPECT_EQ(large.Slope(f, 0.25), squared.Slope(f, 0.25));
    for (const double delta : {0.01, 0.5, 2.0}) {
      const Loss loss{LossKind::kHuber, delta};
      EXPECT_LE(loss.Value(f, 0.25), squared.Value(f, 0.25) + 1e-15);
      EXPECT_LE(std::abs(loss.Slope(f, 0.25)), 2 * delta);
      EXPECT_NEAR(loss.Value(0.25 + f, 0.25), loss.Value(0.25 - f, 0.25), 1e-13);
    }
  }
}

TEST(LogisticLoss, TurnsAroundWithItsLabels) {
  const Loss loss{LossKind::kLogistic};
  double before = 0;
  for (int i = -80; i <= 80; ++i) {
    const double f = 0.25 * i;
    EXPECT_NEAR(loss.Value(f, 0), loss.Value(-f, 1), 1e-14);
    EXPECT_NEAR(loss.Slope(f, 0), -loss.Slope(-f, 1), 1e-15);
    EXPECT_NEAR(loss.Predicted(f), 1 - loss.Predicted(-f), 1e-15);
    EXPECT_GT(loss.Predicted(f), before);
    before = loss.Predicted(f);
  }
  EXPECT_EQ(loss.Value(0, 1), std::log(2.0));
  EXPECT_EQ(loss.Predicted(0), 0.5);
}

}  // namespace
}  // namespace polykern
