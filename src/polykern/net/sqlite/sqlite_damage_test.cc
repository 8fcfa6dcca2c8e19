// Stores whose files were damaged, cut, or had no room: refused in one line, or as they were.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/random.h"
#include "polykern/io/file_size_limit_testing.h"
#include "polykern/io/files.h"
#include "polykern/io/folder_testing.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/store/store_testing.h"
#include "polykern/net/store_kinds/open_store.h"

namespace polykern {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr std::size_t kStateNumbers = 700;

class ADamagedStore : public testing::Test {
 protected:
  /// A copy of the files that a server which was killed left.
  std::string Copy(const std::string& bytes, const std::string& log) {
    for (const char* part : {"", "-wal", "-shm", "-lock"}) fs::remove(copy + part);
    std::ofstream(copy, std::ios::binary) << bytes;
    if (!log.empty()) std::ofstream(copy + "-wal", std::ios::binary) << log;
    return copy;
  }
  /// Steps that a store has, with the right state after them; or the error, of one line.
  std::string Opened(const std::string& place) const {
    try {
      const StoreContents contents = OpenStore(place, configuration)->Contents();
      const std::uint64_t steps = contents.newest ? contents.newest->steps : 0;
      if (steps > 0) {
        EXPECT_EQ(contents.newest->state, StateOf(steps, kStateNumbers)) << steps;
      }
      EXPECT_LE(contents.clients.size(), 2U);
      return std::to_string(steps);
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_THAT(text, HasSubstr(place));
      EXPECT_EQ(text.find('\n'), std::string::npos) << text;
      return text;
    }
  }

  TestFolder folder;
  const StoreConfiguration configuration = ToTexts({.problem = {3, 100, 1}});
  const std::string path = folder.At("store.db");
  const std::string copy = folder.At("copy.db");
};

TEST_F(ADamagedStore, ResumesFromAStepThatWasCommittedWhereverItsLogIsCut) {
  Random random(1, Purpose::kTest);
  const auto store = OpenStore(path, configuration);
  EnrolIn(*store, {"a", "b"});
  std::vector<std::size_t> ends;  // of the log, after each step
  for (std::uint64_t steps = 1; steps <= 12; ++steps) {
    CommitTo(*store, steps, {0}, kStateNumbers);
    ends.push_back(fs::file_size(path + "-wal"));
  }
  const std::string bytes = ReadWholeFile(path);
  const std::string log = ReadWholeFile(path + "-wal");
  ASSERT_EQ(log.size(), ends.back());
  for (int n = 0; n < 40; ++n) {
    const std::size_t cut = random.Below(log.size() + 1);
    std::uint64_t whole = 0;
    while (whole < ends.size() && ends[whole] <= cut) ++whole;
    const std::string opened = Opened(Copy(bytes, log.substr(0, cut)));
    EXPECT_EQ(opened, std::to_string(whole)) << "all that is whole, and nothing else: " << cut;
  }
}

TEST_F(ADamagedStore, ResumesFromAnEarlierStepWhereItsLogIsDamaged) {
  Random random(2, Purpose::kTest);
  const auto store = OpenStore(path, configuration);
  for (std::uint64_t steps = 1; steps <= 8; ++steps) CommitTo(*store, steps, {}, kStateNumbers);
  const std::string bytes = ReadWholeFile(path);
  const std::string log = ReadWholeFile(path + "-wal");
  bool earlier = false;
  for (int n = 0; n < 40; ++n) {
    std::string damaged = log;
    damaged[random.Below(log.size())] ^= static_cast<char>(1 + random.Below(255));
    const std::string opened = Opened(Copy(bytes, damaged));
    EXPECT_LE(opened.size(), 1U) << "a number of steps: " << opened;
    earlier = earlier || opened < "8";
  }
  EXPECT_TRUE(earlier);
}

TEST_F(ADamagedStore, IsRefusedOrWholeWhicheverBytesAreWrong) {
  Random random(3, Purpose::kTest);
  {
    const auto store = OpenStore(path, configuration);
    EnrolIn(*store, {"a", "b"});
    for (std::uint64_t steps = 1; steps <= 5; ++steps) {
      CommitTo(*store, steps, {0, 1}, kStateNumbers);
    }
  }
  const std::string bytes = ReadWholeFile(path);
  int refused = 0;
  for (int n = 0; n < 150; ++n) {
    std::string damaged = bytes;
    for (std::uint64_t k = 1 + random.Below(20); k > 0; --k) {
      damaged[random.Below(bytes.size())] = static_cast<char>(random.Below(256));
    }
    const std::string opened = Opened(Copy(damaged, ""));
    refused += static_cast<int>(opened.size() > 1);
  }
  EXPECT_GT(refused, 20);
  int cut_off = 0;
  for (int n = 0; n < 40; ++n) {
    const std::string opened = Opened(Copy(bytes.substr(0, random.Below(bytes.size())), ""));
    cut_off += static_cast<int>(opened == "0" || opened.size() > 1);
  }
  EXPECT_GT(cut_off, 30) << "it is no store, or a new one, unless nothing that matters is missing";
}

class ACopyWithoutRoom : public ADamagedStore {
 protected:
  void SetUp() override {
    const auto store = OpenStore(path, configuration);
    for (std::uint64_t steps = 1; steps <= 2; ++steps) CommitTo(*store, steps, {}, 200'000);
  }
};

TEST_F(ACopyWithoutRoom, IsNotMadeAndLeavesNothingBehind) {
  {
    const FileSizeLimit limit(1 << 20);
    EXPECT_THROW(BackupStore(path, copy), Error);
    EXPECT_FALSE(FileExists(copy));
    EXPECT_FALSE(FileExists(copy + ".part"));
    limit.Lift();
  }
  EXPECT_EQ(BackupStore(path, copy), 2U);
  EXPECT_EQ(ReadStore(copy).newest->state, StateOf(2, 200'000));
}

TEST_F(ACopyWithoutRoom, IsNotPutBackAndLeavesItsStoreAsItIs) {
  BackupStore(path, copy);
  { CommitTo(*OpenStore(path), 3, {}, 200'000); }
  const std::string before = ReadWholeFile(path);
  {
    const FileSizeLimit limit(1 << 20);
    EXPECT_THROW(RestoreStore(copy, path), Error);
    limit.Lift();
  }
  EXPECT_EQ(ReadWholeFile(path), before);
  EXPECT_FALSE(FileExists(path + ".part"));
  EXPECT_FALSE(FileExists(path + "-before"));
  EXPECT_EQ(RestoreStore(copy, path), 2U);
}

}  // namespace
}  // namespace polykern
