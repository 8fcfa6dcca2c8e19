#include "polykern/paper/paper_data.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string Refused(const std::vector<std::string>& names, const std::string& folder) {
  return MessageOf([&] { FindPaperData(names, folder); });
}

TEST(PaperData, NamesWhatIsNotThereAndHowToGetIt) {
  const TestFolder folder;
  EXPECT_THAT(Refused({}, folder.path()),
              AllOf(HasSubstr("has no files of: naval uji air wec"),
                    HasSubstr("polykern data get naval uji air wec --data-dir"),
                    HasSubstr("name the folder that has them with data_dir")));
  EXPECT_THAT(Refused({"air", "uji"}, folder.path()), HasSubstr("has no files of: uji air;"));
}

TEST(PaperData, AreNotUsedIfAFileIsAltered) {
  const TestFolder folder;
  folder.Write("naval/data.txt", "1 2 3\n");
  EXPECT_THAT(Refused({"naval"}, folder.path()),
              AllOf(HasSubstr("naval/data.txt is altered"), HasSubstr("--force")));
}

TEST(PaperData, HaveNamesOfTheRecipes) {
  EXPECT_THAT(Refused({"navel"}, "."), HasSubstr("did you mean \"naval\""));
}

TEST(PaperData, AreFoundWithWhatDecidesTheirSamples) {
  const char* folder = std::getenv("POLYKERN_DATA");
  if (folder == nullptr) GTEST_SKIP() << "set POLYKERN_DATA to a folder that holds naval/data.txt";
  const FoundPaperData data = FindPaperData({"naval"}, folder);
  ASSERT_EQ(data.found.size(), 1U);
  EXPECT_TRUE(data.absent.empty());
  EXPECT_EQ(data.found[0].recipe->name, "naval");
  // Kept runs are found by it.
  EXPECT_EQ(data.found[0].settings,
            R"({"data":"naval","files":{"naval/data.txt":)"
            R"("de0ea69da1efaab8b9655ffed828547d10dd68c1fb8c6e0163e6a988def393a6"},)"
            R"("target":"c1","clients":23,"steps":500})");
}

}  // namespace
}  // namespace polykern
