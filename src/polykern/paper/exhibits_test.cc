#include "polykern/paper/exhibits.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/paper/made_up_runs_testing.h"
#include "polykern/paper/published_figures.h"

namespace polykern {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(RunsOf, AreThoseOfEveryRowInEveryProtocol) {
  EXPECT_EQ(RunsOf("table1").size(), 12U);  // nine rows, three of them in two protocols
  EXPECT_EQ(RunsOf("table3").size(), 10U);  // without PerFedAvg
  EXPECT_EQ(RunsOf("table4").size(), 9U);   // without OFSKL as well
  EXPECT_EQ(RunsOf("figure1").size(), 9U);
  EXPECT_EQ(RunsOf("figure2").size(), 20U);  // ten rates for two M
  for (const WantedRun& run : RunsOf("table1")) {
    if (!run.carried) continue;
    EXPECT_EQ(run.row.algorithm, "pof-mkl");  // clients have weights
  }
  EXPECT_EQ(*RunsOf("figure2")[3].row.options.exploration, 0.4);
}

TEST(Compare, FindsWhatIsMeasuredAsPublished) {
  for (const char* table : {"table1", "table3"}) {
    for (const char* data : {"naval", "wec"}) {
      const auto rows = Compare(table, data, AsPublished(data));
      ASSERT_EQ(rows.size(), RunsOf(table).size());
      for (const Comparison& row : rows) {
        EXPECT_EQ(row.table, table);
        EXPECT_EQ(row.data, data);
        EXPECT_NEAR(row.deviation, 0, 1e-12) << row.title;
        EXPECT_TRUE(row.reproduced) << row.title;
        EXPECT_EQ(row.note, "");
      }
    }
  }
}

TEST(Compare, SaysByHowMuchAFigureIsOffAndWhy) {
  for (const double factor : {1.02, 1.04, 0.98, 0.96}) {
    const auto rows = Compare("table1", "naval", AsPublished("naval", factor));
    const bool near = std::abs(factor - 1) < 0.03;
    for (const Comparison& row : rows) {
      EXPECT_NEAR(row.deviation, factor - 1, 1e-12);
      EXPECT_EQ(row.reproduced, near);
      EXPECT_EQ(row.note.empty(), near);
    }
  }
}

TEST(Compare, HasTheRowsSettingsAndTheSecondsOfAClient) {
  const auto rows = Compare("table1", "naval", AsPublished("naval"));
  EXPECT_EQ(rows[0].title, "PerFedAvg, beta 0.001");
  EXPECT_EQ(rows[0].kernels, 0U);
  EXPECT_EQ(rows[0].features, 0U);
  EXPECT_FALSE(rows[0].private_weights);
  EXPECT_EQ(rows[0].published_cost, 44.59);
  EXPECT_DOUBLE_EQ(rows[0].cost, 2e-6 * 500);  // two microseconds a sample
  const Comparison& pof = rows[8];             // M = 25, carried
  EXPECT_EQ(pof.kernels, 25U);
  EXPECT_EQ(pof.features, 20U);
  EXPECT_TRUE(pof.private_weights && pof.carried);
  EXPECT_FALSE(rows[9].carried);
}

TEST(Compare, CountsNoRunThatDiverged) {
  FindRun find = [as = AsPublished("air")](const Row& row, bool carried) {
    PaperRun run = as(row, carried);
    run.diverged = true;
    return run;
  };
  for (const Comparison& row : Compare("table3", "air", find)) {
    EXPECT_TRUE(row.diverged);
    EXPECT_FALSE(row.reproduced);
    EXPECT_EQ(row.note, "this run diverged");
  }
}

TEST(Compare, TakesARegretOnlyTogetherWithItsError) {
  const auto with = [](double regret, double mse) {
    return Compare("table4", "air", [=](const Row& row, bool carried) {
      PaperRun run = AsPublished("air")(row, carried);
      run.regret.mean *= regret;
      run.mse.mean *= mse;
      return run;
    });
  };
  for (const Comparison& row : with(1.01, 1.01)) EXPECT_TRUE(row.reproduced) << row.title;
  for (const Comparison& row : with(1.01, 1.05)) {
    EXPECT_FALSE(row.reproduced);
    EXPECT_THAT(row.note, HasSubstr("by chance"));
  }
  for (const Comparison& row : with(0.3, 1)) {
    EXPECT_FALSE(row.reproduced);
    EXPECT_THAT(row.note, HasSubstr("a large part of the cumulative loss"));  // Air: 57 to 89 %
  }
}

TEST(Compare, SaysWhereAPublishedRegretCannotBeOne) {
  const auto rows = Compare("table4", "naval", AsPublished("naval", 0.5));
  for (const Comparison& row : rows) EXPECT_THAT(row.note, HasSubstr("regret (14) cannot be"));
  EXPECT_DOUBLE_EQ(rows[0].published_cost, 500 * 33.25e-3);
}

TEST(Figure1, ShowsTheRegretPerStepOfEveryRow) {
  const Figure figure = MakeFigure("figure1", "uji", AsPublished("uji"));
  EXPECT_EQ(figure.chart.title, "Average regret of clients, uji");
  ASSERT_EQ(figure.chart.lines.size(), 9U);
  EXPECT_EQ(figure.chart.lines[0].name, "OFMKL-Avg");
  EXPECT_EQ(figure.chart.lines[3].name, "POF-MKL, M = 1, carried");
  EXPECT_EQ(figure.chart.lines[4].name, "POF-MKL, M = 1, reset");
  EXPECT_FALSE(figure.chart.lines[3].dashed);
  EXPECT_TRUE(figure.chart.lines[4].dashed);
  EXPECT_THAT(figure.chart.lines[0].x, testing::ElementsAre(250, 500));
  EXPECT_THAT(figure.chart.lines[0].y, testing::ElementsAre(5.0 / 250, 8.0 / 500));
  ASSERT_EQ(figure.numbers.header.size(), 19U);
  ASSERT_EQ(figure.numbers.rows.size(), 2U);
  EXPECT_EQ(figure.numbers.rows[1][0], "500");
  EXPECT_EQ(figure.numbers.rows[1][2], "8");
}

TEST(Figure1, LeavesCellsEmptyOfARunThatEndedEarly) {
  const FindRun find = [as = AsPublished("uji")](const Row& row, bool carried) {
    PaperRun run = as(row, carried);
    if (row.algorithm == "vm-kofl") {
      run.curve_steps.pop_back();
      run.curve_regret.pop_back();
    }
    return run;
  };
  const Figure figure = MakeFigure("figure1", "uji", find);
  for (const auto& row : figure.numbers.rows) EXPECT_EQ(row.size(), figure.numbers.header.size());
  EXPECT_THAT(figure.numbers.header[3], StartsWith("vM-KOFL"));
  EXPECT_NE(figure.numbers.rows[0][3], "");
  EXPECT_EQ(figure.numbers.rows[1][3], "");
}

TEST(Figure2, ShowsTheRegretAgainstTheExploration) {
  const Figure figure = MakeFigure("figure2", "air", [](const Row& row, bool carried) {
    EXPECT_FALSE(carried);
    PaperRun run;
    run.regret = {*row.options.exploration + static_cast<double>(*row.options.kernels_per_upload),
                  0.5};
    return run;
  });
  ASSERT_EQ(figure.chart.lines.size(), 2U);
  EXPECT_EQ(figure.chart.lines[1].name, "POF-MKL, M = 25");
  EXPECT_DOUBLE_EQ(figure.chart.lines[1].x[2], 0.3);
  EXPECT_DOUBLE_EQ(figure.chart.lines[1].y[2], 25.3);
  ASSERT_EQ(figure.numbers.rows.size(), 10U);
  EXPECT_THAT(figure.numbers.rows[9], testing::ElementsAre("1", "2", "0.5", "26", "0.5"));
}

}  // namespace
}  // namespace polykern
