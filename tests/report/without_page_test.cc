// What a program does that was built without a page: it has no report to write, and says why.

#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report_files.h"

std::string_view polykern::ReportPage() {
  return {};
}

std::string_view polykern::WhyNoPage() {
  return "npm could not download its packages (ECONNREFUSED); check the network";
}

namespace polykern {
namespace {

TEST(WithoutPage, SaysInOneLineWhyAndHowToGetReports) {
  testing::internal::CaptureStderr();
  EXPECT_FALSE(WriteReport({{"name", "{}"}}, "/nonexistent"));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::ranges::count(said, '\n'), 1);
  EXPECT_THAT(said, testing::HasSubstr("because when this program was built npm could not download "
                                       "its packages (ECONNREFUSED)"));
  EXPECT_THAT(said, testing::HasSubstr("scripts/run"));
  EXPECT_FALSE(std::filesystem::exists("/nonexistent"));
}

}  // namespace
}  // namespace polykern
