#include "polykern/paper/tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/paper/published_figures.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::vector<Comparison> TwoRows(const std::string& table) {
  Comparison right;
  right.table = table;
  right.title = "OFSKL";
  right.kernels = 1;
  right.features = 100;
  right.data = "naval";
  right.published = {77.77, 1.04};
  right.measured = {76.5, 3.25};
  right.deviation = -0.0163;
  right.reproduced = true;
  right.published_cost = 0.07;
  right.cost = 0.004;
  Comparison wrong = right;
  wrong.title = "POF-MKL";
  wrong.kernels = wrong.features = 0;
  wrong.data = "air";
  wrong.private_weights = wrong.carried = true;
  wrong.deviation = 0.25;
  wrong.reproduced = false;
  wrong.note = "because of <this>";
  return {right, wrong};
}

TEST(ReadableTable, HasASectionForEachDataSetAndItsNotesBelow) {
  const std::string text = ReadableTable("table1", TwoRows("table1"), false);
  EXPECT_EQ(text, std::string(
                      "Table 1: mean squared error and run time of a client\n\n"
                      "naval\n\n"
                      "algorithm  M    D  weights  MSE x 1e-3 published       measured  deviation  "
                      "seconds published  measured  reproduced\n") +
                      std::string(115, '-') +
                      "\n"
                      "OFSKL      1  100        -                 77.77  76.50 +- 3.25     -1.6 %  "
                      "             0.07   0.00400         yes\n\n"
                      "air\n\n"
                      "algorithm  M  D  weights  MSE x 1e-3 published       measured  deviation  "
                      "seconds published  measured  reproduced\n" +
                      std::string(113, '-') +
                      "\n"
                      "POF-MKL    -  -  carried                 77.77  76.50 +- 3.25    +25.0 %  "
                      "             0.07   0.00400      no (1)\n\n"
                      "(1) because of <this>.\n");
}

TEST(ReadableTable, NumbersEachNoteOnce) {
  std::vector<Comparison> rows = TwoRows("table3");
  rows.push_back(rows[1]);
  rows.push_back(rows[1]);
  rows[2].note = "another";
  const std::string text = ReadableTable("table3", rows, true);
  EXPECT_THAT(text, StartsWith("## Table 3: "));
  EXPECT_THAT(text, HasSubstr("### naval\n"));
  EXPECT_THAT(text, HasSubstr("| 77.77 +- 1.04 |"));
  EXPECT_THAT(text, HasSubstr("no (2)"));
  EXPECT_THAT(text, HasSubstr("\n1. because of <this>.\n2. another.\n"));
  EXPECT_THAT(text, Not(HasSubstr("seconds")));
}

TEST(ReadableTable, ExplainsTheRegretOfTable4) {
  const std::string text = ReadableTable("table4", TwoRows("table4"), false);
  EXPECT_THAT(text, HasSubstr(std::string(RegretRemark())));
  EXPECT_THAT(text, HasSubstr("measured (14)"));
  EXPECT_THAT(text, HasSubstr("T x MSE published"));
}

TEST(FullTable, HasEveryNumberInFull) {
  std::vector<Comparison> rows = TwoRows("table1");
  rows[0].published.deviation = 0;  // not published
  rows[0].deviation = 1.0 / 3;
  const TextTable table = FullTable("table1", rows);
  EXPECT_THAT(table.header, ElementsAre("data", "algorithm", "M", "D", "weights", "published",
                                        "published_std", "measured", "measured_std", "deviation",
                                        "reproduced", "note", "published_seconds", "seconds"));
  EXPECT_THAT(table.rows[0], ElementsAre("naval", "OFSKL", "1", "100", "reset", "77.77", "", "76.5",
                                         "3.25", "0.3333333333333333", "yes", "", "0.07", "0.004"));
  EXPECT_THAT(table.rows[1][11], "because of <this>");
}

TEST(FullTable, HasTheColumnsOfItsTable) {
  EXPECT_EQ(FullTable("table3", {}).header.size(), 12U);
  EXPECT_EQ(FullTable("table4", {}).header.back(), "steps_x_mse");
}

}  // namespace
}  // namespace polykern
