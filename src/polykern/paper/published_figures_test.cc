#include "polykern/paper/published_figures.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/registry.h"
#include "polykern/data/recipes.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Paper, HasTheFiguresOfTheTables) {
  const auto rows = PaperRows();
  std::vector<std::string> titles;
  for (const PaperRow& row : rows) titles.push_back(row.title);
  EXPECT_THAT(titles,
              ElementsAre("PerFedAvg, beta 0.001", "PerFedAvg, beta 0.0447", "OFSKL", "OFMKL-Avg",
                          "vM-KOFL", "eM-KOFL", "POF-MKL", "POF-MKL", "POF-MKL"));
  EXPECT_EQ(rows[0].published.at("wec").mse.mean, 77.33);
  EXPECT_EQ(rows[1].published.at("uji").seconds, 41.67);
  EXPECT_EQ(rows[2].published.at("naval").mse.deviation, 1.04);
  EXPECT_EQ(rows[4].published.at("air").mse.mean, 10.58);
  EXPECT_EQ(rows[5].published.at("uji").seconds, 10.13);
  EXPECT_EQ(rows[6].published.at("naval").regret->mean, 8.33);
  EXPECT_EQ(rows[7].published.at("air").mse.mean, 9.34);
  EXPECT_EQ(rows[8].published.at("wec").regret->deviation, 5.57);
  EXPECT_FALSE(rows[2].published.at("air").regret.has_value());
}

TEST(Paper, HasFiguresByTheNamesOfTheRecipesAndNoneOfOthers) {
  for (const PaperRow& row : PaperRows()) {
    std::vector<std::string> names;
    for (const auto& [name, figures] : row.published) names.push_back(name);
    EXPECT_THAT(names, ElementsAre("air", "naval", "uji", "wec"));
    for (const std::string& name : names) EXPECT_NO_THROW(FindRecipe(name)) << name;
  }
  // A recipe that is added has none, wherever it stands in the list of recipes.
  EXPECT_TRUE(InPaper("naval"));
  EXPECT_FALSE(InPaper("a fifth recipe"));
  for (const std::string_view exhibit : PaperExhibits()) {
    EXPECT_FALSE(Shows(exhibit, "a fifth recipe")) << exhibit;
  }
}

TEST(Paper, RowsCanRunAndSendWhatTheTablesSay) {
  std::vector<std::size_t> kernels;
  std::vector<std::size_t> features;
  for (const PaperRow& row : PaperRows()) {
    const AlgorithmOptions& options = row.row.options;
    EXPECT_NO_THROW(CheckAlgorithm(row.row.algorithm, options)) << row.title;
    kernels.push_back(UplinkOf(row.row.algorithm, options).kernels);
    features.push_back(FeaturesOf(row.row.algorithm, options));
    EXPECT_EQ(row.private_weights, row.row.algorithm == "pof-mkl");
    EXPECT_EQ(options.budget, 1000U);
    EXPECT_EQ(ExplorationOf(row.row.algorithm, options), 1);
    EXPECT_EQ(options.regularization, 1e-6);
    EXPECT_FALSE(options.learning_rate || options.weight_rate);  // 1 / sqrt(T)
  }
  EXPECT_THAT(kernels, ElementsAre(0, 0, 1, 51, 51, 1, 1, 25, 51));
  EXPECT_THAT(features, ElementsAre(0, 0, 100, 9, 9, 100, 100, 20, 9));
}

// What RegretRemark says of Table 4, from the tables themselves.
TEST(Paper, PublishedRegretIsAboveTheCumulativeLossOnNavalAndWec) {
  const auto part = [](const PaperFigures& figures) {
    return figures.regret->mean / (500 * 1e-3 * figures.mse.mean);
  };
  for (const PaperRow& row : PaperRows()) {
    if (!row.published.at("naval").regret) continue;
    for (const char* data : {"naval", "wec"}) {
      EXPECT_GT(part(row.published.at(data)), 1.0035) << row.title;
      EXPECT_LT(part(row.published.at(data)), 1.115) << row.title;
    }
    for (const char* data : {"uji", "air"}) {
      EXPECT_GT(part(row.published.at(data)), 0.565) << row.title;
      EXPECT_LT(part(row.published.at(data)), 0.895) << row.title;
    }
  }
  EXPECT_THAT(RegretRemark(), HasSubstr("by 0.4 to 11 %"));
  EXPECT_THAT(RegretRemark(), HasSubstr("57 to 89 %"));
}

TEST(Paper, GivesAReasonForEveryRowThatMayDeviate) {
  const auto rows = PaperRows();
  EXPECT_THAT(WhyNot(rows[0], "air", false, 20), HasSubstr("rates"));
  EXPECT_THAT(WhyNot(rows[5], "naval", false, 20), HasSubstr("12 readings"));
  EXPECT_THAT(WhyNot(rows[6], "naval", false, 20), HasSubstr("reset"));
  EXPECT_THAT(WhyNot(rows[2], "wec", false, 20), HasSubstr("WEC"));
  EXPECT_THAT(WhyNot(rows[2], "naval", false, 3), HasSubstr("3 feature draws"));
  EXPECT_THAT(WhyNot(rows[2], "naval", false, 20), HasSubstr("not explained"));
}

TEST(Paper, Figure2LeavesUjiOut) {
  EXPECT_FALSE(Shows("figure2", "uji"));
  EXPECT_TRUE(Shows("figure2", "air"));
  EXPECT_TRUE(Shows("figure1", "uji"));
}

}  // namespace
}  // namespace polykern
