#include "polykern/data/published.h"

#include <cstdlib>
#include <set>

#include <gmock/gmock.h>

#include "polykern/core/error.h"
#include "polykern/data/recipes.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

TEST(Published, HasTheFilesOfEveryRecipe) {
  ASSERT_EQ(Publications().size(), Recipes().size());
  std::set<std::string> sums;
  for (const Recipe& recipe : Recipes()) {
    const Publication& publication = FindPublication(recipe.name);
    EXPECT_EQ(publication.name, recipe.name);
    ASSERT_EQ(publication.files.size(), recipe.files.size());
    for (std::size_t i = 0; i < recipe.files.size(); ++i) {
      EXPECT_EQ(publication.files[i].path, recipe.files[i]);
      const std::string& sum = publication.files[i].sha256;
      if (recipe.name == "wec") {
        EXPECT_EQ(sum, "");
      } else {
        EXPECT_THAT(sum, MatchesRegex("[0-9a-f]{64}"));
        EXPECT_TRUE(sums.insert(sum).second);
      }
    }
  }
  EXPECT_THAT(MessageOf([] { FindPublication("navel"); }), HasSubstr("\"naval\""));
}

TEST(Published, TellsRightMissingAndAlteredFiles) {
  const TestFolder folder;
  const PublishedFile abc = {
      .path = "abc", .sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"};
  EXPECT_EQ(CheckFile(folder.path() + "/abc", abc).state, FileState::kMissing);
  EXPECT_EQ(CheckFile(folder.Write("abc", "abc"), abc).state, FileState::kRight);
  const FileCheck altered = CheckFile(folder.Write("abc", "abd"), abc);
  EXPECT_EQ(altered.state, FileState::kAltered);
  EXPECT_THAT(altered.detail, HasSubstr("not ba7816bf"));
  EXPECT_EQ(CheckFile(folder.path(), abc).state, FileState::kAltered);
}

TEST(Published, ChecksTheShapeWhereNoSumIsKnown) {
  const TestFolder folder;
  const PublishedFile shape = {.path = "x.csv", .columns = 3, .rows = 2};
  const auto check = [&](std::string_view text) {
    return CheckFile(folder.Write("x.csv", text), shape);
  };
  EXPECT_EQ(check("1,2,3\n4,5,6\n").state, FileState::kUnchecked);
  EXPECT_EQ(check("1,2,3\n4,5,6\n7,8,9\n").state, FileState::kUnchecked);
  EXPECT_EQ(check("1,2,3\n").detail, "1 rows, fewer than 2");
  EXPECT_EQ(check("1,2\n4,5\n").detail, "2 columns, not 3");
  EXPECT_EQ(check("a,b,c\n1,2,3\n4,5,6\n").detail, "line 1: \"a\" is not a number");
  EXPECT_EQ(check("1,2,3\n4,NA,6\n").detail, "line 2: \"NA\" is not a number");
  EXPECT_THAT(check("1,2,3\n4,6\n").detail, HasSubstr("line 2: 3 cells expected"));
  EXPECT_THAT(check("").detail, HasSubstr("empty"));
  EXPECT_EQ(check("").state, FileState::kAltered);
}

TEST(Published, KnowsTheRealFiles) {
  const char* data = std::getenv("POLYKERN_DATA");
  if (data == nullptr) GTEST_SKIP() << "set POLYKERN_DATA to the folder that holds naval/ and air/";
  for (const char* name : {"naval", "uji", "air"}) {
    for (const PublishedFile& file : FindPublication(name).files) {
      EXPECT_EQ(CheckFile(std::string(data) + "/" + file.path, file).state, FileState::kRight)
          << file.path;
    }
  }
}

TEST(Published, SaysWhatIsWrongWithoutTheNameOfTheFile) {
  const TestFolder folder;
  const PublishedFile shape = {.path = "x.csv", .columns = 2, .rows = 1};
  const auto detail = [&](std::string_view text) {
    return CheckFile(folder.Write("x.csv", text), shape).detail;
  };
  EXPECT_EQ(detail("1,2\n3\n"),
            "line 2: 2 cells expected, 1 found; correct the line, or check the delimiter and the "
            "quotes");
  EXPECT_EQ(detail("1,\"2\n"), "line 1: a quote is opened and never closed; close it or remove it");
  EXPECT_EQ(detail(" \n"), "the file is empty; give one with a line of column names and rows");
  EXPECT_EQ(detail("1;2\n3;4\n"), "1 columns, not 2");  // commas alone divide
  EXPECT_EQ(detail("1,2\n"), "its SHA-256 is not known, so only its shape was checked");
}

TEST(Published, NamesBothSumsOfAnAlteredFile) {
  const TestFolder folder;
  const PublishedFile file = {.path = "x", .sha256 = std::string(64, 'a')};
  EXPECT_EQ(CheckFile(folder.Write("x", "abc"), file).detail,
            "SHA-256 ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad, not " +
                std::string(64, 'a'));
  EXPECT_EQ(CheckFile(folder.path(), file).detail, "this is not a file");
}

TEST(Published, WantsTheColumnsAndRowsThatTheRecipeReads) {
  const Publication& wec = FindPublication("wec");
  for (const PublishedFile& file : wec.files) {
    EXPECT_EQ(file.columns, 49U);
    EXPECT_EQ(file.rows, FindRecipe("wec").rows_per_site);
  }
  EXPECT_EQ(FindPublication("naval").files[0].columns, 16U);
}

}  // namespace
}  // namespace polykern
