#include "polykern/io/output_file.h"

#include <filesystem>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/io/file_size_limit_testing.h"
#include "polykern/io/files.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::HasSubstr;

TEST(OutputFile, AppendsToWhatIsThere) {
  const TestFolder folder;
  const std::string path = folder.At("a");
  {
    OutputFile file(path);
    EXPECT_EQ(file.size(), 0U);
    file.Write("one ", 4);
    file.Write("two", 3);
    EXPECT_EQ(file.size(), 7U);
    EXPECT_EQ(ReadWholeFile(path), "one two");  // nothing waits in a buffer
  }
  OutputFile again(path);
  EXPECT_EQ(again.size(), 7U);
  again.Write("!", 1);
  again.Sync();
  EXPECT_EQ(ReadWholeFile(path), "one two!");
}

TEST(OutputFile, IsBegunByOneOfManyThatOpenItTogether) {
  const TestFolder folder;
  for (int round = 0; round < 50; ++round) {
    const std::string path = folder.At(std::to_string(round));
    std::latch together(4);
    {
      std::vector<std::jthread> threads;
      for (int k = 0; k < 4; ++k) {
        threads.emplace_back([&] {
          OutputFile file(path);
          together.arrive_and_wait();  // all have seen it empty
          file.Begin("header\n");
          file.Write("line\n", 5);
        });
      }
    }
    EXPECT_EQ(ReadWholeFile(path), "header\nline\nline\nline\nline\n");
  }
}

TEST(OutputFile, BeginsNothingThatHasALine) {
  const TestFolder folder;
  OutputFile file(folder.Write("a", "old\n"));
  file.Begin("header\n");
  EXPECT_EQ(ReadWholeFile(folder.At("a")), "old\n");
  EXPECT_EQ(file.size(), 4U);
}

TEST(OutputFile, StartsAnewAfterClear) {
  const TestFolder folder;
  OutputFile file(folder.Write("a", "old"));
  file.Clear();
  EXPECT_EQ(file.size(), 0U);
  file.Write("new", 3);
  EXPECT_EQ(ReadWholeFile(folder.At("a")), "new");
}

TEST(OutputFile, CountsWhatAFullDiskTook) {
  const TestFolder folder;
  OutputFile file(folder.At("a"));
  FileSizeLimit limit(10);
  EXPECT_THAT(MessageOf([&] { file.Write("twelve bytes", 12); }),
              HasSubstr("/a: cannot be written (File too large); make room"));
  EXPECT_EQ(file.size(), 10U);
  limit.Lift();
  file.Write("es", 2);
  EXPECT_EQ(ReadWholeFile(folder.At("a")), "twelve bytes");
}

TEST(OutputFile, DoesNotFollowALink) {
  const TestFolder folder;
  folder.Write("mine", "precious");
  std::filesystem::create_symlink(folder.At("mine"), folder.At("link"));
  EXPECT_THAT(MessageOf([&] { OutputFile file(folder.At("link")); }),
              HasSubstr("cannot be written"));
  EXPECT_EQ(ReadWholeFile(folder.At("mine")), "precious");
}

TEST(MoveIntoPlace, ReplacesTheOldFile) {
  const TestFolder folder;
  folder.Write("a", "old");
  MoveIntoPlace(folder.Write("a.part", "new"), folder.At("a"));
  EXPECT_EQ(ReadWholeFile(folder.At("a")), "new");
  EXPECT_FALSE(FileExists(folder.At("a.part")));
  EXPECT_THAT(MessageOf([&] { MoveIntoPlace(folder.At("none"), folder.At("a")); }),
              HasSubstr("/a: cannot be written"));
}

TEST(MakeFolder, MakesThoseAboveAndSaysWhyNot) {
  const TestFolder folder;
  MakeFolder(folder.At("a/b"));
  MakeFolder(folder.At("a/b"));
  EXPECT_TRUE(std::filesystem::is_directory(folder.At("a/b")));
  folder.Write("file", "");
  EXPECT_THAT(MessageOf([&] { MakeFolder(folder.At("file/b")); }),
              HasSubstr("file/b: cannot be written (Not a directory)"));
}

}  // namespace
}  // namespace polykern
