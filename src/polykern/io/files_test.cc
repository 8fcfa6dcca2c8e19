#include "polykern/io/files.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "polykern/io/file_size_limit_testing.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

mode_t ModeOf(const std::string& path) {
  struct stat status {};
  stat(path.c_str(), &status);
  return status.st_mode & 0777;
}

/// Every combination of what a writer can ask for.
class ReplacedFile : public testing::TestWithParam<int> {
 protected:
  const WriteOptions options_ = {
      .mode = (GetParam() & 1) != 0 ? FileMode::kSecret : FileMode::kUmask,
      .durable = (GetParam() & 2) != 0,
      .many_writers = (GetParam() & 4) != 0};
  TestFolder folder_;
};

TEST_P(ReplacedFile, HasTheNewTextAndIsAlone) {
  for (const std::string text : {"one", "", "a longer one\n"}) {
    EXPECT_FALSE(TryReplaceFile(folder_.At("a"), text, options_));
    EXPECT_EQ(ReadWholeFile(folder_.At("a")), text);
    EXPECT_THAT(NamesIn(folder_.path()), ElementsAre("a"));
  }
}

TEST_P(ReplacedFile, IsTheOldOneIfTheDiskIsFull) {
  folder_.Write("a", "old");
  const FileSizeLimit limit(10);
  EXPECT_EQ(TryReplaceFile(folder_.At("a"), std::string(11, 'x'), options_).value(), EFBIG);
  EXPECT_EQ(ReadWholeFile(folder_.At("a")), "old");
  EXPECT_THAT(NamesIn(folder_.path()), ElementsAre("a"));
}

TEST_P(ReplacedFile, LeavesNothingBehindIfItsNameIsAFolders) {
  fs::create_directories(folder_.At("a/b"));
  EXPECT_TRUE(TryReplaceFile(folder_.At("a"), "text", options_));
  EXPECT_THAT(NamesIn(folder_.path()), ElementsAre("a"));
}

TEST_P(ReplacedFile, NeverHasMixedText) {
  const std::vector<std::string> texts = {std::string(50'000, 'a'), std::string(80'000, 'b')};
  TryReplaceFile(folder_.At("f"), texts[0], options_);
  std::atomic<bool> done = false;
  std::jthread writer([&] {
    for (int i = 1; i <= 40; ++i) TryReplaceFile(folder_.At("f"), texts[i % 2], options_);
    done = true;
  });
  while (!done) EXPECT_THAT(texts, testing::Contains(ReadWholeFile(folder_.At("f"))));
}

INSTANTIATE_TEST_SUITE_P(EveryOption, ReplacedFile, testing::Range(0, 8));

TEST(WriteOptions, SayWhoMayReadWhateverTheUmask) {
  const TestFolder folder;
  const mode_t before = umask(0077);
  for (const FileMode mode : {FileMode::kSecret, FileMode::kOpen, FileMode::kUmask}) {
    EXPECT_FALSE(TryReplaceFile(folder.At("a"), "x", {.mode = mode}));
    EXPECT_EQ(ModeOf(folder.At("a")), mode == FileMode::kOpen ? 0644U : 0600U);
  }
  umask(0022);
  EXPECT_FALSE(TryReplaceFile(folder.At("a"), "x", {.mode = FileMode::kSecret}));
  EXPECT_EQ(ModeOf(folder.At("a")), 0600U);
  EXPECT_FALSE(TryReplaceFile(folder.At("a"), "x", {.mode = FileMode::kUmask}));
  EXPECT_EQ(ModeOf(folder.At("a")), 0644U);
  umask(before);
}

TEST(WriteOptions, OfOneWriterRemoveWhatAKilledOneLeft) {
  const TestFolder folder;
  folder.Write(".a.new", "half of a secr");
  ReplaceFile(folder.At("a"), "whole", FileMode::kSecret);
  EXPECT_THAT(NamesIn(folder.path()), ElementsAre("a"));
}

TEST(WriteOptions, OfManyWritersLeaveTheOthersFilesAlone) {
  const TestFolder folder;
  folder.Write(".a.tmp1", "of another process");
  EXPECT_FALSE(TryReplaceFile(folder.At("a"), "whole", {.many_writers = true}));
  EXPECT_THAT(NamesIn(folder.path()), ElementsAre(".a.tmp1", "a"));
}

TEST(WriteOptions, MakeTheFolderOnlyIfTold) {
  const TestFolder folder;
  EXPECT_EQ(TryReplaceFile(folder.At("x/y/a"), "text", {}).value(), ENOENT);
  EXPECT_THAT(NamesIn(folder.path()), IsEmpty());
  EXPECT_FALSE(TryReplaceFile(folder.At("x/y/a"), "text", {.make_folder = true}));
  EXPECT_EQ(ReadWholeFile(folder.At("x/y/a")), "text");
  EXPECT_EQ(TryReplaceFile(folder.At("x/y/a/b"), "text", {.make_folder = true}).value(), ENOTDIR);
}

TEST(WriteOptions, MakeTheFolderAgainWhileOthersRemoveIt) {
  const TestFolder folder;
  std::atomic<bool> done = false;
  std::jthread remover([&] {
    while (!done) rmdir(folder.At("x").c_str());
  });
  int failed = 0;
  for (int i = 0; i < 300; ++i) {
    const std::string path = folder.At("x/" + std::to_string(i));
    if (TryReplaceFile(path, "text", {.durable = false, .make_folder = true})) ++failed;
    unlink(path.c_str());
  }
  done = true;
  EXPECT_EQ(failed, 0);
}

TEST(ReplaceFile, SaysWhatToDo) {
  const TestFolder folder;
  const auto write = [&](const std::string& name) {
    return MessageOf([&] { ReplaceFile(folder.At(name), "12345678901", FileMode::kOpen); });
  };
  EXPECT_THAT(write("no/where"), HasSubstr("no/where: cannot be written (No such file"));
  EXPECT_THAT(write("no/where"), HasSubstr("check the path: its folder must be there"));
  const FileSizeLimit limit(10);
  EXPECT_THAT(write("a"), HasSubstr("make room and run the same command again"));
}

TEST(ReadWholeFile, GivesEveryByteAndSaysWhyNot) {
  const TestFolder folder;
  const std::string text("\0\r\n\xff", 4);
  EXPECT_EQ(ReadWholeFile(folder.Write("a", text)), text);
  EXPECT_EQ(ReadWholeFile(folder.Write("empty", "")), "");
  EXPECT_THAT(MessageOf([&] { ReadWholeFile(folder.At("b")); }), HasSubstr("no such file"));
  EXPECT_THAT(MessageOf([&] { ReadWholeFile(folder.path()); }),
              HasSubstr("cannot be read (Is a directory)"));
}

TEST(FileExists, SeesFilesFoldersAndLinksToNowhere) {
  const TestFolder folder;
  EXPECT_FALSE(FileExists(folder.At("a")));
  EXPECT_FALSE(FileExists(folder.At("a/b")));
  EXPECT_TRUE(FileExists(folder.Write("a", "")));
  EXPECT_FALSE(FileExists(folder.At("a/b")));  // below a file
  EXPECT_TRUE(FileExists(folder.path()));
  fs::create_symlink(folder.At("nowhere"), folder.At("link"));
  EXPECT_TRUE(FileExists(folder.At("link")));
}

TEST(HasText, IsNotSaidOfAnEmptyLine) {
  const TestFolder folder;
  EXPECT_FALSE(HasText(folder.At("a")));
  EXPECT_FALSE(HasText(folder.Write("a", "\n")));
  EXPECT_TRUE(HasText(folder.Write("a", "a\n")));
}

TEST(MakePrivateFolder, ClosesItAloneToOthers) {
  const TestFolder folder;
  const mode_t before = umask(0022);
  MakePrivateFolder(folder.At("open/closed"));
  EXPECT_EQ(ModeOf(folder.At("open")), 0755U);
  EXPECT_EQ(ModeOf(folder.At("open/closed")), 0700U);
  chmod(folder.At("open/closed").c_str(), 0777);
  MakePrivateFolder(folder.At("open/closed"));  // one that is there
  EXPECT_EQ(ModeOf(folder.At("open/closed")), 0700U);
  folder.Write("file", "");
  EXPECT_THAT(MessageOf([&] { MakePrivateFolder(folder.At("file")); }),
              HasSubstr("cannot be made (Not a directory)"));
  umask(before);
}

TEST(SyncFolder, SaysIfItFailsButNotWhereThereIsNoSuchThing) {
  const TestFolder folder;
  SyncFolder(folder.At("."));
  SyncFolder("/proc");  // which is on no disk
  EXPECT_THAT(MessageOf([&] { SyncFolder(folder.At("nowhere")); }),
              testing::HasSubstr("cannot be put on the disk"));
}

TEST(FolderOf, IsHereForABareName) {
  EXPECT_EQ(FolderOf("name"), ".");
  EXPECT_EQ(FolderOf("a/name"), "a");
  EXPECT_EQ(FolderOf("/name"), "/");
}

TEST(ReadableByOthers, SaysSoOfFilesThatAreNotTheirOwnersAlone) {
  const TestFolder folder;
  ReplaceFile(folder.At("key"), "secret", FileMode::kSecret);
  EXPECT_EQ(ReadableByOthers(folder.At("key")), "");
  ReplaceFile(folder.At("key"), "secret", FileMode::kOpen);
  EXPECT_THAT(ReadableByOthers(folder.At("key")), HasSubstr("chmod 600"));
  EXPECT_EQ(ReadableByOthers(folder.At("nothing")), "");
}

}  // namespace
}  // namespace polykern
