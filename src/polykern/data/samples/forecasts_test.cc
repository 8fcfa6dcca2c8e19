#include "polykern/data/samples/forecasts.h"

#include <gmock/gmock.h>

namespace polykern {
namespace {

using testing::ElementsAre;

WaitingSample Sample(float x, std::optional<Interval> interval = {}) {
  return {{x, -x}, ToldPrediction{static_cast<double>(x) / 3, interval, ""}};
}

TEST(Forecasts, GiveBackWhoseLabelHasCome) {
  Forecasts forecasts(3, 2);
  EXPECT_FALSE(forecasts.Add(Sample(1)));
  EXPECT_FALSE(forecasts.Add(Sample(2)));
  EXPECT_THAT(forecasts.Add(Sample(3))->x, ElementsAre(1, -1));
  EXPECT_THAT(forecasts.Add(Sample(4))->x, ElementsAre(2, -2));
  Forecasts next(1, 2);
  EXPECT_THAT(next.Add(Sample(5))->x, ElementsAre(5, -5));
}

TEST(Forecasts, ResumeFromWhatWasSaved) {
  Forecasts first(3, 2);
  first.Add(Sample(0.1F));
  first.Add(Sample(0.2F, Interval{-0.1, 0.7}));
  Forecasts second(3, 2);
  second.Load(first.Save());
  const auto one = second.Add(Sample(3));
  ASSERT_TRUE(one);
  EXPECT_THAT(one->x, ElementsAre(0.1F, -0.1F));
  EXPECT_EQ(one->told->value, static_cast<double>(0.1F) / 3);
  EXPECT_FALSE(one->told->interval);
  EXPECT_EQ(second.Add(Sample(4))->told->interval, (Interval{-0.1, 0.7}));
  Forecasts other(3, 5);
  other.Load(first.Save());  // of no use
  EXPECT_EQ(other.Save(), Forecasts(3, 5).Save());
  Forecasts nearer(2, 2);
  nearer.Load(first.Save());
  EXPECT_EQ(nearer.Save(), Forecasts(2, 2).Save());
}

TEST(Forecasts, ResumeFromWhatWasSavedWhenIntervalsHadARadius) {
  Forecasts forecasts(3, 2);
  forecasts.Load(std::vector<double>{0.5, -0.5, 0.75, 0.25, 0.125, 1, 0.5, -1});
  const auto one = forecasts.Add(Sample(3));
  ASSERT_TRUE(one);
  EXPECT_THAT(one->x, ElementsAre(0.5F, -0.5F));
  EXPECT_EQ(one->told->value, 0.75);
  EXPECT_EQ(one->told->interval, (Interval{0.5, 1}));
  const auto two = forecasts.Add(Sample(4));
  EXPECT_THAT(two->x, ElementsAre(0.125F, 1));
  EXPECT_EQ(two->told->value, 0.5);
  EXPECT_FALSE(two->told->interval);
}

}  // namespace
}  // namespace polykern
