#include "polykern/data/time_text.h"

#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/error.h"
#include "polykern/core/random.h"

namespace polykern {
namespace {

using testing::DoubleNear;
using testing::Eq;
using testing::Optional;

constexpr double kMorning = 1794817800;  // 2026-11-16 08:30 universal time

TEST(ATime, IsReadInEveryForm) {
  for (const char* text : {"2026-11-16T08:30",
                           "2026-11-16 08:30",
                           "2026-11-16 8:30",
                           "2026-11-16T08:30:00",
                           "2026-11-16T08:30:00.000",
                           "2026-11-16T08:30Z",
                           "2026-11-16 08:30 +00:00",
                           "2026-11-16T09:30+01:00",
                           "2026-11-16T0930+0100",
                           "2026-11-16T05:30:00-03",
                           "20261116T0830",
                           "20261116 8:30",
                           "202611160830",
                           "2026/11/16 08:30",
                           "2026.11.16 08:30",
                           "16.11.2026 08:30",
                           "11/16/2026 8:30",
                           "1794817800",
                           "1794817800000",
                           "1794817800.0"}) {
    EXPECT_THAT(ParseTime(text), Optional(kMorning)) << text;
  }
  EXPECT_THAT(ParseTime("2026-11-16"), Optional(kMorning - 8.5 * 3600));
  EXPECT_THAT(ParseTime("20261116"), Optional(kMorning - 8.5 * 3600));
  EXPECT_THAT(ParseTime("2026-11-16 08:30:15.25"), Optional(kMorning + 15.25));
  EXPECT_THAT(ParseTime("2026-11-16 24:00"), ParseTime("2026-11-17 00:00"));
  EXPECT_THAT(ParseTime("17"), Optional(17.0));
  EXPECT_THAT(ParseTime("-3.5"), Optional(-3.5));
}

TEST(ATime, ThatDoesNotExistIsNone) {
  for (const char* text :
       {"", "soon", "2026-02-29", "2026-13-01", "2026-00-10", "2026-11-16 25:00",
        "2026-11-16 08:61", "2026-11-16T", "2026-11-16 08:30 pm", "31.11.2026", "16/11/2026",
        "2026-11", "08:30", "2026-11-16 08:30+1", "inf", "nan", "2026-11-16 24:01", "2026-11/16"}) {
    EXPECT_THAT(ParseTime(text), Eq(std::nullopt)) << text;
  }
}

TEST(ATime, TakesAnyBytes) {
  Random random(0, Purpose::kTest);
  const std::string alphabet = "0123456789-/.: TZ+z";
  for (int trial = 0; trial < 20000; ++trial) {
    std::string text;
    for (auto size = random.Below(20); size > 0; --size) {
      text += alphabet[random.Below(alphabet.size())];
    }
    if (const auto time = ParseTime(text)) {
      EXPECT_TRUE(std::isfinite(*time)) << text;
    }
  }
}

TEST(ATime, IsWrittenAsItIsRead) {
  for (const char* text : {"2026-11-16 08:30", "1999-12-31 23:59:59", "2000-02-29 00:00",
                           "1960-05-17 07:08:09", "17", "-3.5"}) {
    EXPECT_THAT(TimeText(ParseTime(text).value()), Eq(text));
  }
}

TEST(ATime, MayComeInParts) {
  EXPECT_THAT(TimeOfParts(std::vector<double>{2026, 11, 16, 8, 30}), Optional(kMorning));
  EXPECT_THAT(TimeOfParts(std::vector<double>{2026, 11, 16}), ParseTime("2026-11-16"));
  for (const std::vector<double>& parts : {std::vector<double>{2026, 11},
                                           {2026, 2, 29},
                                           {2026, 1.5, 1},
                                           {2026, 1, 1, 25},
                                           {2026, 1, 1, 1, 1, 1, 1}}) {
    EXPECT_THAT(TimeOfParts(parts), Eq(std::nullopt));
  }
}

TEST(TheCalendar, SaysHowFarTheDayTheWeekAndTheYearAre) {
  const auto place = [](Calendar calendar, const char* text) {
    return CalendarPlace(calendar, ParseTime(text).value());
  };
  EXPECT_THAT(place(Calendar::kHour, "2026-11-16 00:00"), Eq(0.0));
  EXPECT_THAT(place(Calendar::kHour, "2026-11-16 18:00"), Eq(0.75));
  EXPECT_THAT(place(Calendar::kHour, "1965-11-16 18:00"), Eq(0.75));
  EXPECT_THAT(place(Calendar::kWeekday, "2026-11-16 00:00"), Eq(0.0));  // a Monday
  EXPECT_THAT(place(Calendar::kWeekday, "2026-11-22 12:00"), DoubleNear(6.5 / 7, 1e-15));
  EXPECT_THAT(place(Calendar::kMonth, "2026-01-01"), Eq(0.0));
  EXPECT_THAT(place(Calendar::kMonth, "2024-12-31"), DoubleNear(365.0 / 366, 1e-15));
  for (const Calendar calendar : kCalendars)
    EXPECT_THAT(ParseCalendar(CalendarName(calendar)), calendar);
  EXPECT_THROW(ParseCalendar("year"), Error);
}

}  // namespace
}  // namespace polykern
