#include "polykern/data/scan.h"

#include <gmock/gmock.h>

#include "polykern/core/error.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ScanTest : public testing::Test {
 protected:
  Scan Look(std::string_view text) { return ScanFiles({folder.Write("some.csv", text)}); }
  SourceOptions Offer(std::string_view text) { return SuggestOptions(Look(text), "", ""); }

  TestFolder folder;
};

TEST_F(ScanTest, SortsColumnsIntoKinds) {
  const Scan scan = Look("a,b,c,d,e,f\n1,x,7,,u,1\n-2.5,y,7,NA,u,oops\nNA,x,7,?,u,2\n");
  EXPECT_EQ(scan.rows, 3U);
  EXPECT_TRUE(scan.has_header);
  std::vector<ColumnKind> kinds;
  for (const ColumnSummary& column : scan.columns) kinds.push_back(column.kind);
  EXPECT_THAT(kinds, ElementsAre(ColumnKind::kNumber, ColumnKind::kText, ColumnKind::kConstant,
                                 ColumnKind::kEmpty, ColumnKind::kConstant, ColumnKind::kMixed));
  EXPECT_EQ(scan.columns[0].range.low, -2.5);
  EXPECT_EQ(scan.columns[0].range.high, 1);
  EXPECT_EQ(scan.columns[0].missing, 1U);
  EXPECT_THAT(scan.columns[1].values, ElementsAre("x", "y"));
  EXPECT_EQ(scan.columns[3].missing, 3U);
  EXPECT_EQ(scan.columns[5].first_text_at, folder.path() + "/some.csv, line 3");
}

TEST_F(ScanTest, StopsCountingTextsSomewhere) {
  std::string text = "id\n";
  for (std::size_t i = 0; i <= ColumnSummary::kMostValues; ++i)
    text += "w" + std::to_string(i) + "\n";
  const Scan more = Look(text);
  EXPECT_EQ(more.columns[0].values.size(), ColumnSummary::kMostValues);
  EXPECT_TRUE(more.columns[0].more_values);
  const Scan exact = Look(text.substr(0, text.rfind('w')));
  EXPECT_EQ(exact.columns[0].values.size(), ColumnSummary::kMostValues);
  EXPECT_FALSE(exact.columns[0].more_values);
}

TEST_F(ScanTest, GuessesTargetSiteAndInputs) {
  std::string text = "row,where,wind,y,seven,mixed,rare,last\n";
  for (int i = 0; i < 40; ++i) {
    text += std::to_string(i) + (i % 2 == 0 ? ",north" : ",south") + (i % 3 == 0 ? ",N," : ",S,") +
            std::to_string(i * i) + ",7," + (i == 20 ? "x" : "1") + "," + (i < 20 ? "NA" : "3") +
            "," + std::to_string(i % 5) + "\n";
  }
  const SourceOptions options = Offer(text);
  EXPECT_EQ(options.target, "y");
  EXPECT_EQ(options.site, "where");
  EXPECT_THAT(options.categorical, ElementsAre("wind"));
  EXPECT_THAT(options.exclude, ElementsAre("mixed", "rare", "seven"));
  ASSERT_EQ(options.ranges.size(), 3U);
  EXPECT_EQ(options.ranges[1].column, "y");
  EXPECT_EQ(options.ranges[1].range.high, 39 * 39);
  EXPECT_EQ(OpenSource(options).rows, 40U);
}

TEST_F(ScanTest, TakesTheLastNumbersForTheTarget) {
  EXPECT_EQ(Offer("a,b,c\n1,2,x\n2,1,y\n").target, "b");
  EXPECT_EQ(Offer("1 2\n2 1\n3 3\n").target, "c2");
}

TEST_F(ScanTest, TakesWhatItIsTold) {
  const Scan scan = Look("a,b,c\n1,2,x\n2,1,y\n3,3,x\n4,1,y\n");
  const SourceOptions options = SuggestOptions(scan, "a", "c");
  EXPECT_EQ(options.target, "a");
  EXPECT_EQ(options.site, "c");
  EXPECT_THAT(options.categorical, IsEmpty());
  EXPECT_THAT(MessageOf([&] { SuggestOptions(scan, "z", ""); }), HasSubstr("no column \"z\""));
  EXPECT_THAT(MessageOf([&] { SuggestOptions(scan, "", "z"); }), HasSubstr("no column \"z\""));
}

TEST_F(ScanTest, NamesNoRangesOfAWideTable) {
  std::string text;
  for (int row = 0; row < 3; ++row) {
    for (int c = 0; c < 30; ++c) text += std::to_string((row * 7 + c) % 5) + (c < 29 ? "," : "\n");
  }
  const SourceOptions options = Offer(text);
  ASSERT_EQ(options.ranges.size(), 1U);
  EXPECT_EQ(options.ranges[0].column, "c30");
  EXPECT_FALSE(options.scaling.has_value());
}

TEST_F(ScanTest, SaysThatNothingCanBeTheTarget) {
  EXPECT_THAT(MessageOf([&] { Offer("a,b\nx,1\ny,1\n"); }),
              HasSubstr("no column can be the target"));
}

TEST_F(ScanTest, WantsTheSameColumnsInAllFiles) {
  const std::string one = folder.Write("one.csv", "a,b\n1,2\n");
  const std::string two = folder.Write("two.csv", "a,c\n1,2\n");
  EXPECT_THAT(MessageOf([&] { ScanFiles({one, two}); }), HasSubstr("two.csv: its columns differ"));
  const Scan scan = ScanFiles({one, folder.Write("three.csv", "a,b\n5,x\n")});
  EXPECT_EQ(scan.rows, 2U);
  EXPECT_EQ(scan.columns[0].range.high, 5);
  EXPECT_EQ(scan.columns[1].kind, ColumnKind::kMixed);
}

}  // namespace
}  // namespace polykern
