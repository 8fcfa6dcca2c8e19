#include "polykern/results/result_file.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/error.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::ThrowsMessage;

class ResultFile : public testing::Test {
 protected:
  TestFolder made_;
  const fs::path folder_ = made_.path();
};

TEST_F(ResultFile, ReplacesAFileWholeAndLeavesNothingElse) {
  WriteResultFile(folder_ / "new" / "deeper", "a.json", "one", Durable::kYes);
  WriteResultFile(folder_ / "new" / "deeper", "a.json", "two", Durable::kNo);
  std::ifstream file(folder_ / "new" / "deeper" / "a.json");
  std::string text;
  file >> text;
  EXPECT_EQ(text, "two");
  const auto count = std::distance(fs::directory_iterator(folder_ / "new" / "deeper"), {});
  EXPECT_EQ(count, 1);
}

TEST_F(ResultFile, SaysWhyAFolderCannotBeUsed) {
  std::ofstream(folder_ / "file") << "x";
  const auto on_a_file = [&] { CheckWritable((folder_ / "file").string()); };
  EXPECT_THAT(on_a_file, ThrowsMessage<Error>(HasSubstr("choose another with out")));
  const auto below_a_file = [&] { CheckWritable((folder_ / "file" / "sub").string()); };
  EXPECT_THAT(below_a_file, ThrowsMessage<Error>(HasSubstr("file/sub")));
}

}  // namespace
}  // namespace polykern
