#include "polykern/data/samples/forecasts.h"

#include <gmock/gmock.h>

namespace polykern {
namespace {

using testing::ElementsAre;

WaitingSample Sample(float x, std::optional<double> radius = {}) {
  return {{x, -x}, ToldPrediction{static_cast<double>(x) / 3, radius, ""}};
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

TEST(Forecasts, GoOnFromWhatWasSaved) {
  Forecasts first(3, 2);
  first.Add(Sample(0.1F));
  first.Add(Sample(0.2F, 0.7));
  Forecasts second(3, 2);
  second.Load(first.Save());
  const auto one = second.Add(Sample(3));
  ASSERT_TRUE(one);
  EXPECT_THAT(one->x, ElementsAre(0.1F, -0.1F));
  EXPECT_EQ(one->told->value, static_cast<double>(0.1F) / 3);
  EXPECT_FALSE(one->told->radius);
  EXPECT_EQ(second.Add(Sample(4))->told->radius, 0.7);
  Forecasts other(3, 5);
  other.Load(first.Save());  // of no use
  EXPECT_TRUE(other.Save().empty());
  Forecasts nearer(2, 2);
  nearer.Load(first.Save());
  EXPECT_TRUE(nearer.Save().empty());
}

}  // namespace
}  // namespace polykern
