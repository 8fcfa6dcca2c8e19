#include "polykern/net/store_kinds/open_store.h"

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/io/folder_testing.h"
#include "polykern/net/store/store_testing.h"

namespace polykern {
namespace {

using testing::HasSubstr;

TEST(AStoresUrl, IsThePathOfAFileUnlessItNamesAScheme) {
  const TestFolder folder;
  { EnrolIn(*OpenStore(folder.At("a.db"), kTestConfiguration), {"a"}); }
  EXPECT_EQ(OpenStore("sqlite:" + folder.At("a.db"))->Contents().clients.size(), 1U);
  { OpenStore(folder.At("other:b.db"), kTestConfiguration); }
  EXPECT_TRUE(std::filesystem::exists(folder.At("other:b.db")));
}

TEST(AStoresUrl, IsNotEmpty) {
  EXPECT_EQ(MessageOf([] { OpenStore("", kTestConfiguration); }), "store names no file");
}

TEST(AStoresUrl, OfMemoryHasNoPlace) {
  EXPECT_THAT(MessageOf([] { OpenStore("memory:x", kTestConfiguration); }),
              HasSubstr("memory:x: a store in memory has no place"));
  const auto one = OpenStore("memory:", kTestConfiguration);
  EnrolIn(*one, {"a"});
  EXPECT_TRUE(OpenStore("memory:", kTestConfiguration)->Contents().clients.empty());
}

TEST(AStoresPath, IsAFileInAFolder) {
  const TestFolder folder;
  EXPECT_EQ(StorePath(folder.path()), folder.At("store.db"));
  EXPECT_EQ(StorePath(folder.At("x.db")), folder.At("x.db"));
  EXPECT_EQ(StorePath("memory:"), "memory:");
}

TEST(AStoresUrl, SaysWhatCanBeDoneWithItsKind) {
  struct Kind {
    std::string url;
    std::optional<std::string> file, fronts;
  };
  for (const Kind& kind :
       {Kind{"a.db", "a.db", {}}, Kind{"sqlite:a.db", "a.db", {}},
        Kind{"/x:y/a.db", "/x:y/a.db", {}}, Kind{"memory:", {}, {}},
        Kind{"postgresql://h/d", {}, "//h/d"}, Kind{"mysql://h", "mysql://h", {}},
        Kind{"postgres://h/d", "postgres://h/d", {}}}) {
    EXPECT_EQ(StoreFile(kind.url), kind.file) << kind.url;
    EXPECT_EQ(FrontPlace(kind.url), kind.fronts) << kind.url;
  }
}

TEST(AStoresUrl, OfAKindWithoutCopiesSaysWhatToDoInstead) {
  const TestFolder folder;
  for (const auto& [url, says] :
       {std::pair{"memory:", "one in memory ends with its server; name a file"},
        std::pair{"postgresql://h/d", "backed up and restored with its own tools"}}) {
    EXPECT_THAT(MessageOf([&] { BackupStore(url, folder.At("copy")); }), HasSubstr(says));
    EXPECT_THAT(MessageOf([&] { RestoreStore(folder.At("copy"), url); }), HasSubstr(says));
    EXPECT_FALSE(std::filesystem::exists(folder.At("copy")));
  }
}

TEST(AStoresUrl, IsOpenedForNotesOnlyIfItIsThere) {
  const TestFolder folder;
  const std::string path = folder.At("a.db");
  EXPECT_THAT(MessageOf([&] { OpenToNote(path); }), HasSubstr("there is no store here"));
  EXPECT_THAT(MessageOf([&] { OpenToNote("memory:"); }), HasSubstr("there is no store here"));
  { EnrolIn(*OpenStore(path, kTestConfiguration), {"a"}); }
  const std::vector<NotedClient> notes = {{0, {.label = "roof"}}};
  OpenToNote(path)->Write({.notes = notes});
  EXPECT_EQ(ReadStore(path).clients.at(0).note.label, "roof");
}

}  // namespace
}  // namespace polykern
