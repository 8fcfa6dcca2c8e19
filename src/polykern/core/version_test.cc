#include "polykern/core/version.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace polykern {
namespace {

TEST(Version, IsThreeNumbersWithPoints) {
  EXPECT_THAT(Version(), testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

}  // namespace
}  // namespace polykern
