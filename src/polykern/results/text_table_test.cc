#include "polykern/results/text_table.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace polykern {
namespace {

TEST(TextTable, CsvQuotesWhatWouldBreakALine) {
  const TextTable table{{"a", "b,c"}, {{"say \"yes\"", "two\nlines"}, {"", "plain"}}};
  EXPECT_EQ(CsvText(table), "a,\"b,c\"\n\"say \"\"yes\"\"\",\"two\nlines\"\n,plain\n");
}

TEST(TextTable, MarkdownKeepsACellInItsCell) {
  const TextTable table{{"a", "b"}, {{"x|y", "two\nlines"}, {"<b>", "1 *2*"}}};
  EXPECT_EQ(MarkdownText(table),
            "| a | b |\n| --- | ---: |\n| x\\|y | two lines |\n| \\<b> | 1 \\*2\\* |\n");
}

TEST(TextTable, NumbersReadBackAsTheSame) {
  for (const double value : {0.1, 1.0 / 3, 16.46, 1e-300, -2.5}) {
    EXPECT_EQ(std::stod(NumberText(value)), value);
  }
  EXPECT_EQ(NumberText(0.1), "0.1");
  EXPECT_EQ(NumberText(std::nan("")), "");
  EXPECT_EQ(NumberText(std::numeric_limits<double>::infinity()), "");
}

}  // namespace
}  // namespace polykern
