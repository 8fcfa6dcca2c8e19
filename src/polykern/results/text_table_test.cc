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

TEST(FormatTable, AlignsTheFirstColumnToTheLeftAndTheOthersToTheRight) {
  EXPECT_EQ(FormatTable({"name", "n"}, {{"a", "10"}, {"longer", "9"}}),
            "name     n\n"
            "----------\n"
            "a       10\n"
            "longer   9\n");
  EXPECT_EQ(FormatTable({"a"}, {}), "a\n-\n");
}

TEST(Numbers, AreShownAsReadersLikeThem) {
  EXPECT_EQ(Fixed(2.0 / 3, 2), "0.67");
  EXPECT_EQ(Fixed(1e6, 0), "1000000");
  EXPECT_EQ(PlusMinus({0.0123, 0.0004}, 1e3), "12.30 +- 0.40");
  EXPECT_EQ(OrDash(0), "-");
  EXPECT_EQ(OrDash(12), "12");
  EXPECT_EQ(Count(0, "run"), "0 runs");
  EXPECT_EQ(Count(1, "run"), "1 run");
  EXPECT_EQ(Bytes(999), "999 B");
  EXPECT_EQ(Bytes(1500), "1.5 kB");
  EXPECT_EQ(Bytes(2'340'000), "2.3 MB");
}

}  // namespace
}  // namespace polykern
