#include "polykern/io/file_lock.h"

#include <chrono>
#include <filesystem>
#include <future>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using State = FileLock::State;
using testing::HasSubstr;

TEST(FileLock, IsHeldByOneAndFreeAgainWhenThatIsGone) {
  const TestFolder folder;
  const std::string file = folder.Write("file", "");
  for (const std::string& path : {folder.path(), file}) {
    std::optional<FileLock> first(path);
    EXPECT_EQ(first->state(), State::kHeld);
    EXPECT_EQ(FileLock(path).state(), State::kBusy);
    first.reset();
    EXPECT_EQ(FileLock(path).state(), State::kHeld);
  }
}

TEST(FileLock, MakesAFileThatIsNotThereClosedToOthers) {
  const TestFolder folder;
  const FileLock lock(folder.At("a"));
  EXPECT_EQ(lock.state(), State::kHeld);
  struct stat status {};
  ASSERT_EQ(stat(folder.At("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST(FileLock, MovesWithItsObject) {
  const TestFolder folder;
  FileLock first(folder.path());
  {
    const FileLock second = std::move(first);
    EXPECT_EQ(FileLock(folder.path()).state(), State::kBusy);
  }
  EXPECT_EQ(FileLock(folder.path()).state(), State::kHeld);
}

TEST(FileLock, WaitsUntilTheOtherIsGone) {
  const TestFolder folder;
  std::optional<FileLock> first(folder.path());
  auto second = std::async(std::launch::async, [&] { return FileLock::Wait(folder.path()); });
  EXPECT_EQ(second.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  first.reset();
  const FileLock lock = second.get();
  EXPECT_EQ(FileLock(folder.path()).state(), State::kBusy);
}

TEST(FileLock, OfAProcessThatDiesIsFree) {
  const TestFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    const FileLock lock(folder.path());
    _exit(lock.state() == State::kHeld ? 0 : 1);  // destroys nothing
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(FileLock(folder.path()).state(), State::kHeld);
}

TEST(FileLock, SaysWhatCannotBeOpened) {
  const TestFolder folder;
  EXPECT_THAT(MessageOf([&] { FileLock lock(folder.At("no/where")); }),
              HasSubstr("no/where: cannot be opened (No such file"));
  EXPECT_THAT(MessageOf([&] { FileLock::Wait(folder.At("no/where")); }),
              HasSubstr("cannot be opened"));
}

}  // namespace
}  // namespace polykern
