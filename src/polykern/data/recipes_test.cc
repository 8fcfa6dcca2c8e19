#include "polykern/data/recipes.h"

#include <cmath>
#include <cstdlib>

#include <gmock/gmock.h>

#include "polykern/core/error.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// The folder of the real data, or empty.
std::string RealData() {
  const char* folder = std::getenv("POLYKERN_DATA");
  return folder == nullptr ? "" : folder;
}

#define SKIP_WITHOUT_DATA()                                                             \
  if (RealData().empty()) {                                                             \
    GTEST_SKIP() << "set POLYKERN_DATA to the folder that holds naval/, uji/ and air/"; \
  }

double LargestNorm(const Dataset& data) {
  double largest = 0;
  for (std::size_t row = 0; row < data.rows(); ++row) {
    double square = 0;
    for (const float value : data.Row(row)) {
      square += static_cast<double>(value) * static_cast<double>(value);
    }
    largest = std::max(largest, square);
  }
  return std::sqrt(largest);
}

void ExpectScaledAsInThePaper(const Dataset& data) {
  EXPECT_NEAR(LargestNorm(data), 1, 1e-6);
  EXPECT_EQ(*std::min_element(data.y.begin(), data.y.end()), 0);
  EXPECT_EQ(*std::max_element(data.y.begin(), data.y.end()), 1);
}

TEST(Recipes, AreTheFourOfThePaper) {
  std::vector<std::string> names;
  for (const Recipe& recipe : Recipes()) names.push_back(recipe.name);
  EXPECT_THAT(names, ElementsAre("naval", "uji", "air", "wec"));
  EXPECT_EQ(FindRecipe("uji").columns.features.front(), "WAP001");
  EXPECT_EQ(FindRecipe("uji").columns.features.back(), "WAP520");
}

TEST(Recipes, OfferTheNearestName) {
  EXPECT_EQ(MessageOf([] { FindRecipe("navel"); }),
            "there is no data set \"navel\"; did you mean \"naval\"?");
}

TEST(Recipes, SayHowToGetAMissingFile) {
  const TestFolder folder;
  EXPECT_EQ(MessageOf([&] { LoadRecipe("naval", folder.path()); }),
            folder.path() +
                "/naval/data.txt: there is no such file; get it with: polykern data get naval "
                "--data-dir " +
                folder.path() + " (or name the folder that has it with data_dir)");
  EXPECT_EQ(GetCommand("naval uji", "data"), "polykern data get naval uji");
  EXPECT_EQ(GetCommand("air", "my data"), "polykern data get air --data-dir 'my data'");
}

/// A file in the form of the wave data: 48 positions and powers, the total power last.
std::string WaveFile(int site, int rows) {
  std::string text;
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < 48; ++column) {
      text += std::to_string(column < 32 ? 0.25 * ((row * 7 + column + site) % 31) : 100.5 + row);
      text += ',';
    }
    text += std::to_string(1000 * site + row) + ".125\n";
  }
  return text;
}

TEST(Recipes, LoadFilesInTheFormOfTheWaveData) {
  const TestFolder folder;
  Recipe recipe = FindRecipe("wec");
  recipe.rows_per_site = 70;
  recipe.clients = 56;
  recipe.steps = 5;
  for (int site = 0; site < 4; ++site) {
    folder.Write(recipe.files[static_cast<std::size_t>(site)], WaveFile(site, 72));
  }
  const auto data = std::make_shared<Dataset>(LoadRecipe(recipe, folder.path()));
  EXPECT_EQ(data->rows(), 280U);
  EXPECT_EQ(data->dimension, 48U);
  EXPECT_THAT(data->site_names, ElementsAre("Adelaide", "Perth", "Sydney", "Tasmania"));
  EXPECT_EQ(data->scale.target.low, 0.125);
  EXPECT_EQ(data->scale.target.high, 3069.125);
  ExpectScaledAsInThePaper(*data);
  EXPECT_EQ(Deal(data, recipe.PaperSplit(1))->clients(), 56U);
}

TEST(Recipes, SayThatAFileIsTooShort) {
  const TestFolder folder;
  Recipe recipe = FindRecipe("wec");
  recipe.rows_per_site = 10;
  for (int site = 0; site < 4; ++site) {
    folder.Write(recipe.files[static_cast<std::size_t>(site)], WaveFile(site, site == 2 ? 9 : 10));
  }
  EXPECT_THAT(MessageOf([&] { LoadRecipe(recipe, folder.path()); }),
              HasSubstr("Sydney_Data.csv: 9 complete rows, but 10 are needed"));
}

TEST(Recipes, LoadNaval) {
  SKIP_WITHOUT_DATA();
  const auto data = std::make_shared<Dataset>(LoadRecipe("naval", RealData()));
  EXPECT_EQ(data->rows(), 11934U);
  EXPECT_EQ(data->dimension, 15U);
  EXPECT_EQ(data->scale.target.low, 1.138);
  EXPECT_EQ(data->scale.target.high, 9.3);
  ExpectScaledAsInThePaper(*data);
  const auto stream = Deal(data, FindRecipe("naval").PaperSplit(0));
  EXPECT_EQ(stream->clients(), 23U);
  EXPECT_EQ(stream->steps(), 500U);
}

TEST(Recipes, LoadUji) {
  SKIP_WITHOUT_DATA();
  const auto data = std::make_shared<Dataset>(LoadRecipe("uji", RealData()));
  EXPECT_EQ(data->rows(), 21048U);
  EXPECT_EQ(data->dimension, 520U);
  EXPECT_NEAR(data->scale.norm, 100 * std::sqrt(520.0), 1e-3);  // a row that heard nothing at all
  // "Not detected" has become 0, without changing the norm: 96.5 % of all cells.
  const auto zeros = static_cast<double>(std::ranges::count(data->x, 0.0F));
  EXPECT_NEAR(zeros / static_cast<double>(data->x.size()), 0.9655, 1e-3);
  EXPECT_EQ(Deal(data, FindRecipe("uji").PaperSplit(0))->clients(), 42U);
}

TEST(Recipes, LoadAir) {
  SKIP_WITHOUT_DATA();
  const auto data = std::make_shared<Dataset>(LoadRecipe("air", RealData()));
  EXPECT_EQ(data->rows(), 120000U);
  EXPECT_EQ(data->dimension, 14U);
  EXPECT_THAT(data->site_names, ElementsAre("Aotizhongxin", "Changping", "Dingling", "Dongsi"));
  ExpectScaledAsInThePaper(*data);
  const auto stream = Deal(data, FindRecipe("air").PaperSplit(0));
  EXPECT_EQ(stream->clients(), 240U);
  EXPECT_EQ(stream->steps(), 500U);
}

}  // namespace
}  // namespace polykern
