#include "polykern/data/derived_inputs.h"

#include <array>
#include <cmath>
#include <numbers>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/error.h"

namespace polykern {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Property;
using testing::Throws;

auto Says(const char* words) {
  return Throws<Error>(Property(&Error::marked, HasSubstr(words)));
}

TEST(DerivedInputs, AreCalledAfterWhatTheyAreMadeOf) {
  EXPECT_THAT((DerivedInputs{{1, 24}, {Calendar::kHour}}.Names("NO2")),
              ElementsAre("NO2.lag1", "NO2.lag24", "hour.sin", "hour.cos"));
  EXPECT_EQ((DerivedInputs{{1, 24}, {Calendar::kHour}}.size()), 4U);
}

TEST(DerivedInputs, ThatCannotBeMadeAreRefused) {
  EXPECT_NO_THROW((DerivedInputs{{1, 2}, {Calendar::kHour}}.Check(true)));
  EXPECT_NO_THROW((DerivedInputs{{1, 2}, {}}.Check(false)));
  EXPECT_THAT(([] { DerivedInputs{{1, 0}, {}}.Check(true); }), Says("has a 0"));
  EXPECT_THAT(([] { DerivedInputs{{2, 2}, {}}.Check(true); }), Says("names 2 twice"));
  EXPECT_NO_THROW((DerivedInputs{{3, 4}, {}, 3}.Check(true)));
  EXPECT_THAT(([] {
                DerivedInputs{{3, 2}, {}, 3}.Check(true);
              }),
              Says("has 2, which is not known 3 steps ahead; choose at least 3"));
  EXPECT_THAT(([] { DerivedInputs{{}, {}, 0}.Check(true); }), Says("is 0; 1 is the next step"));
  EXPECT_THAT(
      [] {
        (DerivedInputs{{}, {Calendar::kHour, Calendar::kHour}}.Check(true));
      },
      Says("names hour twice"));
  EXPECT_THAT([] { (DerivedInputs{{}, {Calendar::kHour}}.Check(false)); }, Says("needs dates"));
}

TEST(CalendarInputs, AreSineAndCosine) {
  for (int minute = 0; minute < 1440; ++minute) {
    std::array<double, 2> inputs{};
    CalendarInputs(std::array{Calendar::kHour}, 1e9 - std::fmod(1e9, 86400) + minute * 60, inputs);
    const double angle = 2 * std::numbers::pi * minute / 1440;
    EXPECT_THAT(inputs, ElementsAre(DoubleNear(std::sin(angle), 2e-15),
                                    DoubleNear(std::cos(angle), 2e-15)));
  }
}

}  // namespace
}  // namespace polykern
