#include "polykern/data/recipes.h"

#include <algorithm>
#include <array>
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

TEST(Recipes, LoadFilesInTheFormOfTheNavalData) {
  const TestFolder folder;
  std::string text;
  for (int row = 0; row < 30; ++row) {
    for (int column = 1; column <= 18; ++column) {
      text += "   " + std::to_string(column * 10 + row % 7) + ".5e0";
    }
    text += " \r\n";
  }
  folder.Write("naval/data.txt", text);
  const Dataset data = LoadRecipe("naval", folder.path(), {.kind = Scaling::kNone});
  EXPECT_EQ(data.rows(), 30U);
  EXPECT_EQ(data.dimension, 15U);
  EXPECT_EQ(data.feature_names.front(), "c2");
  EXPECT_EQ(data.feature_names.back(), "c16");
  EXPECT_EQ(data.y[3], 13.5);
  EXPECT_EQ(data.Row(3)[0], 23.5F);
  EXPECT_THAT(data.unused_columns, ElementsAre("c17", "c18"));
  EXPECT_THAT(data.site_names, ElementsAre("all"));
}

/// A line of the indoor data: 520 signals, of which one is heard, and where the phone was.
std::string SignalLine(int heard, int strength, const std::string& latitude) {
  std::string line;
  for (int i = 1; i <= 520; ++i) line += std::to_string(i == heard ? strength : 100) + ",";
  return line + "-7541.25," + latitude + ",2\n";
}

TEST(Recipes, LoadFilesInTheFormOfTheIndoorData) {
  const TestFolder folder;
  std::string header;
  for (int i = 1; i <= 520; ++i) {
    const std::string number = std::to_string(i);
    header += "WAP" + std::string(3 - number.size(), '0') + number + ",";
  }
  header += "LONGITUDE,LATITUDE,FLOOR\n";
  folder.Write("uji/trainingData.csv",
               header + SignalLine(1, -50, "4864921") + SignalLine(520, -97, "4864925"));
  folder.Write("uji/validationData.csv", header + SignalLine(7, 0, "4864923"));
  const Dataset data = LoadRecipe("uji", folder.path());
  ASSERT_EQ(data.rows(), 3U);
  EXPECT_THAT(data.y, ElementsAre(0, 1, 0.5));
  EXPECT_THAT(data.site_names, ElementsAre("all"));  // the two files are one site
  // The longest row measures the norm before "not detected", 100, becomes 0.
  const double norm = std::sqrt(519 * 1e4 + 97 * 97);
  EXPECT_NEAR(data.scale.norm, norm, 1e-9);
  for (std::size_t row = 0; row < 3; ++row) {
    const std::size_t heard = std::array{0U, 519U, 6U}.at(row);
    const double strength = std::array{-50.0, -97.0, 0.0}.at(row);
    for (std::size_t i = 0; i < 520; ++i) {
      const double expected = i == heard ? (strength - 100) / norm : 0;
      EXPECT_NEAR(data.Row(row)[i], expected, 1e-8) << row << " " << i;
    }
  }
}

TEST(Recipes, LoadFilesInTheFormOfTheAirData) {
  const TestFolder folder;
  Recipe recipe = FindRecipe("air");
  recipe.rows_per_site = 2;
  const std::string header =
      "No,year,month,day,hour,PM2.5,PM10,SO2,NO2,CO,O3,TEMP,PRES,DEWP,RAIN,wd,WSPM,station\n";
  const auto line = [](int hour, const std::string& no2, const std::string& wind) {
    return "1,2013,3,1," + std::to_string(hour) + ",4,4,4," + no2 + ",300,77,-0.7,1023,-18.8,0,\"" +
           wind + "\",4.4,\"Any\"\n";
  };
  folder.Write(recipe.files[0], header + line(0, "7", "NNW") + line(1, "NA", "E") +
                                    line(2, "9", "N") + line(3, "11", "S"));
  for (std::size_t site = 1; site < 4; ++site) {
    folder.Write(recipe.files[site], header + line(5, "8", "S") + line(6, "10", "NNW"));
  }
  const Dataset data = LoadRecipe(recipe, folder.path(), {.kind = Scaling::kNone});
  ASSERT_EQ(data.rows(), 8U);  // two complete rows of each station, the fourth is not read
  EXPECT_THAT(data.y, ElementsAre(7, 9, 8, 10, 8, 10, 8, 10));
  EXPECT_THAT(data.site, ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
  EXPECT_EQ(data.dropped_rows, 1U);
  // Winds are coded in every file anew, as they come: N is 1 at the first station, S is 0
  // elsewhere.
  EXPECT_EQ(data.feature_names[12], "wd");
  EXPECT_EQ(data.Row(1)[12], 1);
  EXPECT_EQ(data.Row(2)[12], 0);
  EXPECT_EQ(data.Row(3)[12], 1);
  EXPECT_THAT(data.unused_columns, ElementsAre("No", "year", "station"));
}

TEST(Recipes, AreScaledAsTheUserSays) {
  const TestFolder folder;
  Recipe recipe = FindRecipe("wec");
  recipe.rows_per_site = 5;
  for (int site = 0; site < 4; ++site) {
    folder.Write(recipe.files[static_cast<std::size_t>(site)], WaveFile(site, 5));
  }
  const Dataset data =
      LoadRecipe(recipe, folder.path(), {.kind = Scaling::kRange, .ranges = {{"c49", {0, 10000}}}});
  EXPECT_EQ(data.scale.kind, Scaling::kRange);
  EXPECT_EQ(data.y[0], 0.125 / 10000);
  EXPECT_EQ(*std::ranges::max_element(data.x), 1);
  EXPECT_EQ(*std::ranges::min_element(data.x), -1);
}

}  // namespace
}  // namespace polykern
