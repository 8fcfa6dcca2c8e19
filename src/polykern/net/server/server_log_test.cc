#include "polykern/net/server/server_log.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "polykern/core/random.h"
#include "polykern/io/file_size_limit_testing.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Pair;

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

TEST(AServerLog, LeavesOutAndCountsWhatIsTooMuchAndDelaysNoCaller) {
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

/// Waits for what another thread will do; false if it does not.
bool Comes(const std::function<bool()>& true_soon) {
  const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!true_soon()) {
    if (std::chrono::steady_clock::now() > latest) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST(AServerLog, StartsAgainAtTheStartOfAFileThatWasCutOff) {
  const TestFolder folder;
  const std::string path = folder.At("log");
  {
    ServerLog log({.text = path, .audit = {}});
    log.Event("a", "joined", "");
    ASSERT_TRUE(Comes([&] { return Contents(path).ends_with("a joined\n"); }));
    std::filesystem::copy(path, folder.At("log.1"));
    std::filesystem::resize_file(path, 0);
    log.Event("b", "joined", "");
  }
  EXPECT_THAT(Contents(folder.At("log.1")), MatchesRegex("[^\n]+ UTC a joined\n"));
  EXPECT_THAT(Contents(path), MatchesRegex("[^\n]+ UTC b joined\n"));
}

TEST(AServerLog, FollowsAFileThatWasMoved) {
  const TestFolder folder;
  {
    ServerLog log({.text = folder.At("log"), .audit = {}});
    std::filesystem::rename(folder.At("log"), folder.At("moved"));
    log.Event("a", "joined", "");
  }
  EXPECT_THAT(Contents(folder.At("moved")), HasSubstr("a joined\n"));
  EXPECT_FALSE(std::filesystem::exists(folder.At("log")));
}

TEST(AServerLog, CountsWhatFoundNoRoomAndWritesAgainWhenThereIsSome) {
  const TestFolder folder;
  const ServerLogOptions options{.text = folder.At("log"), .audit = folder.At("audit")};
  std::uint64_t lost = 0;
  {
    const FileSizeLimit limit(0);
    ServerLog log(options);
    log.Event("a", "joined", "");
    log.Event("b", "joined", "");
    ASSERT_TRUE(Comes([&] { return log.lost() == 2; }));
    limit.Lift();
    log.Event("c", "joined", "");
    ASSERT_TRUE(Comes([&] { return Contents(options.audit).ends_with("}\n"); }));
    lost = log.lost();
  }
  EXPECT_EQ(lost, 2U);
  EXPECT_THAT(Contents(options.text), MatchesRegex("[^\n]+ UTC c joined\n"));
  EXPECT_THAT(Contents(options.audit), MatchesRegex("[^\n]+\"client\":\"c\"}\n"));
}

TEST(AServerLog, LosesNothingOfManyThreadsUpToItsLimit) {
  const TestFolder folder;
  const std::string path = folder.At("audit");
  {
    ServerLog log({.text = {}, .audit = path});
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&log, t] {
        for (int i = 0; i < 200; ++i) log.Event("c" + std::to_string(t), "e", std::to_string(i));
      });
    }
    threads.clear();
    EXPECT_EQ(log.lost(), 0U);
  }
  std::map<std::string, int> next;  // every thread's events, in its order
  std::ifstream lines(path);
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line);
    EXPECT_EQ(json["detail"], std::to_string(next[json["client"]]++));
  }
  EXPECT_THAT(next, testing::ElementsAre(Pair("c0", 200), Pair("c1", 200), Pair("c2", 200),
                                         Pair("c3", 200)));
}

TEST(AServerLog, SaysHowManyEventsItLeftOut) {
  const TestFolder folder;
  const std::string path = folder.At("log");
  std::uint64_t lost = 0;
  {
    ServerLog log({.text = path, .audit = {}});
    for (int i = 0; i < 3000; ++i) log.Event("noisy", "joined", "");
    lost = log.lost();
  }
  const std::string text = Contents(path);
  const auto written = static_cast<std::uint64_t>(std::ranges::count(text, '\n')) - 1;
  EXPECT_EQ(written + lost, 3000U);
  EXPECT_GE(written, 1000U);
  EXPECT_THAT(text, HasSubstr("server left out: " + std::to_string(lost) +
                              " events; the store has them\n"));
}

TEST(AServerLog, WritesValidJsonOnOneLineOfAnyBytes) {
  const TestFolder folder;
  const std::string path = folder.At("audit");
  {
    ServerLog log({.text = {}, .audit = path});
    Random random(3, Purpose::kTest);
    for (int i = 0; i < 300; ++i) {
      std::string detail(1, 'd');
      for (std::uint64_t n = random.Below(12); n > 0; --n) {
        detail += static_cast<char>(random.Below(256));
      }
      log.Event("a", "rejected", detail);
    }
  }
  std::ifstream lines(path);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    ASSERT_TRUE(nlohmann::json::accept(line)) << line;
    EXPECT_EQ(nlohmann::json::parse(line)["event"], "rejected");
  }
  EXPECT_EQ(count, 300);
}

TEST(AServerLog, WritesToStandardErrorOnRequest) {
  testing::internal::CaptureStderr();
  { ServerLog({.text = "-", .audit = {}}).Event("", "started", "on port 1"); }
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              MatchesRegex("[^\n]+ UTC server started: on port 1\n"));
}

TEST(AServerLog, MeasuresStepsWithoutAFile) {
  ServerLog log({});
  log.Event("a", "joined", "");
  for (std::uint64_t step = 1; step <= 5; ++step) {
    log.StepEnded(step, 2, std::chrono::steady_clock::now() - std::chrono::hours(1));
  }
  EXPECT_EQ(log.lost(), 0U);
  EXPECT_EQ(log.step_times().steps, 5U);
  EXPECT_EQ(log.step_times().counts.back(), 5U);
  EXPECT_NEAR(log.step_times().seconds, 5 * 3600, 60);
}

}  // namespace
}  // namespace polykern
