// What a program does that was built without node and npm: it has no page to write.

#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report_files.h"

std::string_view polykern::ReportPage() {
  return {};
}

namespace polykern {
namespace {

TEST(WithoutNode, SaysInOneLineHowToGetReports) {
  testing::internal::CaptureStderr();
  EXPECT_FALSE(WriteReport({{"name", "{}"}}, "/nonexistent"));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::ranges::count(said, '\n'), 1);
  EXPECT_THAT(said, testing::HasSubstr("node and npm"));
  EXPECT_THAT(said, testing::HasSubstr("scripts/setup"));
  EXPECT_FALSE(std::filesystem::exists("/nonexistent"));
}

}  // namespace
}  // namespace polykern
