#include "polykern/results/traffic.h"

#include <gtest/gtest.h>

namespace polykern {
namespace {

TEST(Traffic, AddsUpEverythingButTheLargest) {
  Traffic sum;
  sum.Add({1, 2, 3, 4, 7});
  sum.Add({10, 20, 30, 40, 5});
  EXPECT_EQ(sum.messages, 11U);
  EXPECT_EQ(sum.up_numbers, 22U);
  EXPECT_EQ(sum.up_bytes, 33U);
  EXPECT_EQ(sum.down_bytes, 44U);
  EXPECT_EQ(sum.largest_up, 7U);
}

}  // namespace
}  // namespace polykern
