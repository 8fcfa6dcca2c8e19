#include "polykern/net/server/server_log.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "polykern/io/file_size_limit_testing.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

std::string Contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(AServerLog, WritesForPeopleAndForPrograms) {
  const TestFolder folder;
  const ServerLogOptions options{.text = folder.At("log"), .audit = folder.At("audit")};
  for (const char* who : {"a", "b"}) {  // the second goes on behind the first
    ServerLog log(options);
    log.Event(who, "joined", "at step 3");
    log.Event("", "stopped", "");
    log.Event(who, "rejected", "\"\n\xff");
    EXPECT_EQ(log.lost(), 0U);
  }
  constexpr const char* kTime = "[0-9-]+ [0-9:]+ UTC ";
  const std::string text = Contents(options.text);
  EXPECT_THAT(text, MatchesRegex(std::string(kTime) + "a joined: at step 3\n(.|\n)*"));
  EXPECT_THAT(text, HasSubstr(" UTC server stopped\n"));
  EXPECT_THAT(text, HasSubstr(" UTC b joined: at step 3\n"));
  const std::string audit = Contents(options.audit);
  EXPECT_THAT(audit,
              HasSubstr("Z\",\"event\":\"joined\",\"client\":\"a\",\"detail\":\"at step 3\"}\n"));
  EXPECT_THAT(audit, HasSubstr("Z\",\"event\":\"stopped\"}\n"));
  EXPECT_EQ(std::count(audit.begin(), audit.end(), '\n'), 6);
  struct stat facts {};
  ASSERT_EQ(stat(options.audit.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
}

TEST(AServerLog, LeavesOutAndCountsWhatIsTooMuchAndHoldsNobodyUp) {
  const TestFolder folder;
  const std::string path = folder.At("log");
  {
    ServerLog log({.text = path, .audit = {}});
    for (int i = 0; i < 100'000; ++i) log.Event("noisy", "joined", "");
    EXPECT_GT(log.lost(), 0U);
  }
  const std::string text = Contents(path);
  EXPECT_THAT(text, HasSubstr("server left out: "));
  EXPECT_LT(text.size(), 10'000'000U);
}

TEST(AServerLog, SurvivesADiskWithoutRoom) {
  const TestFolder folder;
  const ServerLogOptions options{.text = folder.At("log"), .audit = {}};
  {
    const FileSizeLimit limit(1);
    ServerLog log(options);
    log.Event("a", "joined", "");
  }
  EXPECT_LE(Contents(options.text).size(), 1U);
  EXPECT_THAT(MessageOf([&] { ServerLog({.text = folder.At("no/log"), .audit = {}}); }),
              HasSubstr("no/log: cannot be written"));
}

TEST(AServerLog, SortsStepsByHowLongTheyTook) {
  ServerLog log({});
  const auto ago = [](double long_ago) {
    return std::chrono::steady_clock::now() -
           std::chrono::duration_cast<std::chrono::steady_clock::duration>(
               std::chrono::duration<double>(long_ago));
  };
  log.StepEnded(1, 2, ago(0.15));
  log.StepEnded(2, 2, ago(100));
  const StepTimes times = log.step_times();
  EXPECT_EQ(times.steps, 2U);
  EXPECT_GT(times.seconds, 100.15);
  EXPECT_EQ(times.counts[8], 1U);      // above 0.1, up to 0.2, unless the machine stands still
  EXPECT_EQ(times.counts.back(), 1U);  // above 10
}

}  // namespace
}  // namespace polykern
