#include "polykern/net/store_kinds/open_store.h"

#include <filesystem>
#include <string>

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

}  // namespace
}  // namespace polykern
