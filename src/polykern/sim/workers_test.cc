#include "polykern/sim/workers.h"

#include <atomic>
#include <fstream>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "polykern/core/error.h"

namespace polykern {
namespace {

TEST(Workers, DoEveryTaskOnceAgainAndAgain) {
  Workers workers(3);
  EXPECT_EQ(workers.size(), 3U);
  for (std::size_t tasks = 0; tasks < 200; ++tasks) {
    std::vector<std::atomic<int>> count(tasks);
    workers.Run(tasks, [&](std::size_t i, std::size_t worker) {
      ASSERT_LT(worker, 3U);
      ++count[i];
    });
    for (const auto& times : count) EXPECT_EQ(times, 1);
  }
}

TEST(Workers, ThrowTheFailureOfTheLowestTaskAfterAllHaveEnded) {
  Workers workers(4);
  std::atomic<int> done = 0;
  const auto run = [&] {
    workers.Run(100, [&](std::size_t i, std::size_t) {
      ++done;
      if (i % 10 == 3) throw std::runtime_error("task " + std::to_string(i));
    });
  };
  EXPECT_THAT(run, testing::ThrowsMessage<std::runtime_error>("task 3"));
  EXPECT_EQ(done, 100);
  workers.Run(5, [&](std::size_t, std::size_t) { ++done; });  // still usable
  EXPECT_EQ(done, 105);
}

TEST(Workers, SayHowManyThreadsTheSystemAllows) {
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &old), 0);
  // A thread's stack takes 8 MiB of address space, so 64 MiB more than now end the attempt soon.
  std::ifstream statm("/proc/self/statm");
  std::size_t pages = 0;
  statm >> pages;
  const rlimit tight{pages * static_cast<std::size_t>(getpagesize()) + (std::size_t{64} << 20),
                     old.rlim_max};
  const bool limited = tight.rlim_cur < (std::size_t{1} << 40);  // sanitizers reserve far more
  if (!limited) GTEST_SKIP() << "address space cannot be limited under a sanitizer";
  ASSERT_EQ(setrlimit(RLIMIT_AS, &tight), 0);
  std::string message;
  try {
    const Workers many(1000);
  } catch (const Error& error) {
    message = error.what();
  }
  ASSERT_EQ(setrlimit(RLIMIT_AS, &old), 0);
  EXPECT_THAT(message, testing::HasSubstr("lower threads"));
}

TEST(Workers, OneWorkerUsesTheCallersThread) {
  Workers alone(1);
  const auto me = std::this_thread::get_id();
  alone.Run(3, [&](std::size_t, std::size_t) { EXPECT_EQ(std::this_thread::get_id(), me); });
}

}  // namespace
}  // namespace polykern
