#include "polykern/net/pki/dates.h"

#include <limits>

#include <gtest/gtest.h>

namespace polykern {
namespace {

TEST(Dates, AreInUtc) {
  EXPECT_EQ(DateText(0), "1970-01-01");
  EXPECT_EQ(TimeText(0), "1970-01-01 00:00:00");
  EXPECT_EQ(DateText(1'900'000'000), "2030-03-17");
  EXPECT_EQ(TimeText(1'900'000'000), "2030-03-17 17:46:40");
  EXPECT_EQ(TimeText(-1), "1969-12-31 23:59:59");
}

TEST(Dates, ThatNoCalendarHasAreAQuestion) {
  EXPECT_EQ(DateText(std::numeric_limits<std::int64_t>::max()), "?");
}

}  // namespace
}  // namespace polykern
