#include "polykern/io/temporary_folder.h"

#include <filesystem>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

namespace fs = std::filesystem;

TEST(TemporaryFolder, IsItsOwnAndGoesWithWhatIsInIt) {
  const TestFolder above;
  std::optional<TemporaryFolder> one(above.path());
  const TemporaryFolder other(above.path());
  EXPECT_NE(one->path(), other.path());
  EXPECT_EQ(fs::path(one->path()).parent_path(), above.path());
  fs::create_directories(one->path() + "/a/b");
  const std::string gone = one->path();
  one.reset();
  EXPECT_FALSE(fs::exists(gone));
  EXPECT_TRUE(fs::exists(other.path()));
}

TEST(TemporaryFolder, SaysWhereNoneCanBeMade) {
  const TestFolder above;
  EXPECT_EQ(MessageOf([&] { TemporaryFolder folder(above.At("none")); }),
            above.At("none") + ": no folder can be created there; name another");
}

}  // namespace
}  // namespace polykern
