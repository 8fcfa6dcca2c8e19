#include <gmock/gmock.h>

#include "polykern/core/error.h"
#include "polykern/core/random.h"
#include "polykern/data/suggest.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

SourceOptions Known(const std::string& target, const std::string& site) {
  SourceOptions known;
  known.target = target;
  known.site = site;
  return known;
}

class ScanTest : public testing::Test {
 protected:
  Scan Look(std::string_view text) { return ScanFiles({folder.Write("some.csv", text)}); }
  SourceOptions Offer(std::string_view text) { return SuggestOptions(Look(text)); }

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
  EXPECT_EQ(options.client, "where");
  EXPECT_THAT(options.categorical, ElementsAre("wind"));
  EXPECT_THAT(options.exclude, ElementsAre("row", "seven", "mixed", "rare"));
  ASSERT_EQ(options.ranges.size(), 2U);
  EXPECT_EQ(options.ranges[0].column, "y");
  EXPECT_EQ(options.ranges[0].range.high, 39 * 39);
  EXPECT_EQ(OpenSource(options).rows, 40U);
}

TEST_F(ScanTest, TakesTheLastNumbersForTheTarget) {
  EXPECT_EQ(Offer("a,b,c\n1,2,x\n2,1,y\n").target, "b");
  EXPECT_EQ(Offer("1 2\n2 1\n3 3\n").target, "c2");
}

TEST_F(ScanTest, TakesWhatItIsTold) {
  const Scan scan = Look("a,b,c\n1,2,x\n2,1,y\n3,3,x\n4,1,y\n");
  const SourceOptions options = SuggestOptions(scan, Known("a", "c"));
  EXPECT_EQ(options.target, "a");
  EXPECT_EQ(options.site, "c");
  EXPECT_THAT(options.categorical, IsEmpty());
  EXPECT_THAT(MessageOf([&] { SuggestOptions(scan, Known("z", "")); }),
              HasSubstr("no column \"z\""));
  EXPECT_THAT(MessageOf([&] { SuggestOptions(scan, Known("", "z")); }),
              HasSubstr("no column \"z\""));
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

/// A column of `rows` cells; the first `missing` of them are empty.
std::string ColumnWith(std::size_t rows, std::size_t missing, const std::string& other) {
  std::string text = other + ",y\n";
  for (std::size_t i = 0; i < rows; ++i) {
    text += (i < missing ? "NA" : std::to_string(i)) + "," + std::to_string(i) + "\n";
  }
  return text;
}

TEST_F(ScanTest, LeavesOutAColumnThatLacksMoreThanAFifthOfItsValues) {
  EXPECT_THAT(Offer(ColumnWith(10, 2, "a")).exclude, IsEmpty());
  EXPECT_THAT(Offer(ColumnWith(10, 3, "a")).exclude, ElementsAre("a"));
}

TEST_F(ScanTest, TakesAColumnForTheTargetByItsName) {
  for (const char* name : {"y", "Y", "Target", "LABEL", "output"}) {
    EXPECT_EQ(Offer("a," + std::string(name) + ",b\n1,2,3\n2,1,4\n").target, name);
  }
  EXPECT_EQ(Offer("a,yy,b\n1,2,3\n2,1,4\n").target, "b");
  EXPECT_EQ(Offer("a,y,b\n1,7,3\n2,7,4\n").target, "b");  // y never changes
}

TEST_F(ScanTest, TakesATextColumnForTheClientIfItsNameSaysSoAndItsValuesAreFew) {
  const auto offer = [&](const std::string& name, std::size_t values) {
    std::string text = name + ",y\n";
    for (std::size_t i = 0; i < 40; ++i) {
      text += "w" + std::to_string(i % values) + "," + std::to_string(i) + "\n";
    }
    return Offer(text);
  };
  for (const char* name : {"site", "Station_ID", "my_city", "LOCATION"}) {
    EXPECT_EQ(offer(name, 4).client, name);
  }
  EXPECT_EQ(offer("wind", 4).client, "");
  EXPECT_EQ(offer("site", 5).client, "");  // fewer than ten rows each
  EXPECT_THAT(offer("site", 5).categorical, ElementsAre("site"));
}

TEST_F(ScanTest, OffersTextsAsInputsUpToFiftyOfThem) {
  const auto offer = [&](std::size_t values) {
    std::string text = "w,y\n";
    for (std::size_t i = 0; i < 60; ++i) {
      text += "w" + std::to_string(i % values) + "," + std::to_string(i) + "\n";
    }
    return Offer(text).categorical.size();
  };
  EXPECT_EQ(offer(50), 1U);
  EXPECT_EQ(offer(51), 0U);
}

TEST_F(ScanTest, NamesTheRangesOfAnyNumberOfColumns) {
  std::string text;
  for (int row = 0; row < 3; ++row) {
    for (int c = 0; c < 30; ++c) text += std::to_string(row + c) + ",";
    text += "7," + std::to_string(row) + "\n";  // a constant, and the target
  }
  const SourceOptions options = Offer(text);
  EXPECT_EQ(options.ranges.size(), 31U);
  EXPECT_EQ(options.scaling, Scaling::kRange);
  EXPECT_THAT(options.exclude, ElementsAre("c31"));
}

TEST_F(ScanTest, NamesNoRangeThatTheCommandLineWouldDivide) {
  const SourceOptions options = Offer("\"a,b\",c,y\n1,2,3\n2,1,4\n");
  ASSERT_EQ(options.ranges.size(), 2U);
  EXPECT_EQ(options.ranges[0].column, "c");
  EXPECT_EQ(options.scaling, Scaling::kRange);
}

TEST_F(ScanTest, KeepsABareNameApartFromARecipe) {
  Scan scan = Look("a,y\n1,2\n2,1\n");
  scan.paths = {"naval", "sub/naval", "naval.csv"};
  EXPECT_THAT(SuggestOptions(scan).data, ElementsAre("./naval", "sub/naval", "naval.csv"));
}

TEST_F(ScanTest, TakesNoColumnForTwoThings) {
  const Scan scan = Look("site,y\nN,1\nS,2\n");
  EXPECT_EQ(SuggestOptions(scan, Known("site", "site")).site, "");
  EXPECT_EQ(SuggestOptions(scan, Known("site", "site")).target, "site");
  const Scan numbers = Look("a,b\n1,5\n2,6\n");
  EXPECT_EQ(SuggestOptions(numbers, Known("", "b")).target, "a");  // the site is not the target
}

TEST_F(ScanTest, GuessesNoClientWhereEveryFileIsOne) {
  std::string text = "site,y\n";
  for (int i = 0; i < 20; ++i) text += (i % 2 == 0 ? "N," : "S,") + std::to_string(i) + "\n";
  const std::string one = folder.Write("one.csv", text);
  const std::string two = folder.Write("two.csv", text);
  EXPECT_EQ(SuggestOptions(ScanFiles({one})).client, "site");
  EXPECT_EQ(SuggestOptions(ScanFiles({one, two})).client, "");
  EXPECT_EQ(SuggestOptions(ScanFiles({one, two}), Known("", "site")).site, "site");
}

TEST_F(ScanTest, OffersOptionsWithWhichRandomFilesCanBeLearntFrom) {
  std::size_t opened = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed, Purpose::kTest);
    const std::size_t columns = 2 + random.Below(5);
    std::vector<std::uint64_t> kinds(columns);
    std::string text;
    for (std::size_t c = 0; c < columns; ++c) {
      kinds[c] = random.Below(6);
      text += (c > 0 ? ",n" : "n") + std::to_string(c);
    }
    for (int row = 0; row < 12; ++row) {
      text += '\n';
      for (std::size_t c = 0; c < columns; ++c) {
        if (c > 0) text += ',';
        const bool word = kinds[c] == 2 || (kinds[c] == 3 && random.Below(2) == 0);
        if (kinds[c] == 4 && random.Below(3) > 0) continue;  // sparse
        text += kinds[c] == 5 ? "7" : (word ? "w" : "") + std::to_string(random.Below(6));
      }
    }
    SCOPED_TRACE(text);
    const Scan scan = ScanFiles({folder.Write("some.csv", text)});
    SourceOptions options;
    try {
      options = SuggestOptions(scan);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("no column can be the target"));
      continue;
    }
    try {
      EXPECT_GT(OpenSource(options).rows, 0U);
      ++opened;
    } catch (const Error& error) {  // the target stands alone, or no row has all of its inputs
      EXPECT_THAT(error.what(),
                  testing::AnyOf(HasSubstr("no input column is left"),
                                 HasSubstr("no row is complete"), HasSubstr("in every row")));
    }
  }
  EXPECT_GT(opened, 25U);
}

TEST_F(ScanTest, FindsDecimalCommas) {
  const Scan scan = Look("a;b;note\n1,5;2;x\n2,25;3;y\n");
  EXPECT_EQ(scan.decimal, ',');
  EXPECT_EQ(scan.columns[0].range.high, 2.25);
  EXPECT_EQ(SuggestOptions(scan).decimal, ',');
  EXPECT_EQ(Look("a;b\n1,5;2\nx;3\n").decimal, '.');  // other texts as well
  EXPECT_EQ(Look("a;b\n1.5;2\n2.5;3\n").decimal, '.');
  const std::string quoted = folder.Write("quoted.csv", "a,b\n\"1,5\",2\n\"2,5\",3\n");
  EXPECT_EQ(ScanFiles({quoted}).decimal, '.');  // a comma that divides is not the decimal one
  EXPECT_EQ(ScanFiles({folder.path() + "/some.csv"}, 0, ',').decimal, ',');
}

TEST_F(ScanTest, NeedsAFileToLookAt) {
  EXPECT_EQ(MessageOf([] { ScanFiles({}); }), "no file is given; name at least one CSV file");
}

}  // namespace
}  // namespace polykern
