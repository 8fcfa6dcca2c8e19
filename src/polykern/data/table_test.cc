#include "polykern/data/table.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>

#include "polykern/core/error.h"
#include "polykern/core/random.h"
#include "polykern/core/text.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

class TableTest : public testing::Test {
 protected:
  Table Read(std::string_view text, const ColumnChoice& choice, const TableOptions& options = {}) {
    return ReadTable({folder.Write("some.csv", text)}, choice, options);
  }
  std::string Complaint(std::string_view text, const ColumnChoice& choice,
                        const TableOptions& options = {}) {
    return MessageOf([&] { Read(text, choice, options); });
  }

  TestFolder folder;
  const ColumnChoice numbers = {.other_numbers = true};
};

TEST_F(TableTest, KeepsNumbersLinesAndNames) {
  const Table table = Read("a,b\n1,2\n\n3,4.5\n", numbers);
  EXPECT_THAT(table.columns, ElementsAre("a", "b"));
  EXPECT_THAT(table.values, ElementsAre(1, 2, 3, 4.5));
  EXPECT_THAT(table.line, ElementsAre(2, 4));
  EXPECT_EQ(table.rows(), 2U);
  EXPECT_EQ(table.At(1, table.Find("b")), 4.5);
}

TEST_F(TableTest, DropsAndCountsRowsWithMissingCells) {
  const Table table = Read("a,b\n1,NA\n2,3\n,4\n5,?\n6,-inf\n7,8\n", numbers);
  EXPECT_THAT(table.values, ElementsAre(2, 3, 7, 8));
  EXPECT_THAT(table.line, ElementsAre(3, 7));
  EXPECT_EQ(table.dropped_rows, 4U);
}

TEST_F(TableTest, NamesTheCellOfAMissingValueIfAsked) {
  EXPECT_THAT(Complaint("a,b\n1,2\n3,NA\n", numbers, {.missing = MissingPolicy::kError}),
              EndsWith("some.csv, line 3, column \"b\": the value is missing (\"NA\"); fill it in, "
                       "or let such rows be dropped (missing=drop)"));
}

TEST_F(TableTest, LeavesOutTextColumnsAndDoesNotMindThem) {
  const Table table = Read("a,station,b\n1,Dongsi,2\n3,NA,4\n", numbers);
  EXPECT_THAT(table.columns, ElementsAre("a", "b"));
  EXPECT_THAT(table.unused, ElementsAre("station"));
  EXPECT_EQ(table.dropped_rows, 0U);
}

TEST_F(TableTest, LeavesOutAColumnWithoutAnyValue) {
  const Table table = Read("a,b\n1,\n3,\n", numbers);
  EXPECT_THAT(table.columns, ElementsAre("a"));
  EXPECT_EQ(table.rows(), 2U);
}

TEST_F(TableTest, DoesNotDropARowForAColumnThatIsNotRead) {
  EXPECT_EQ(Read("a,b\n1,NA\n2,3\n", {.columns = {"a"}}).rows(), 2U);
  EXPECT_EQ(Read("a,b\n1,NA\n2,3\n", {.other_numbers = true, .exclude = {"b"}}).rows(), 2U);
}

TEST_F(TableTest, NamesTheCellThatIsNotANumber) {
  EXPECT_THAT(Complaint("a,b\n1,2\n3,calm\n", numbers),
              EndsWith("some.csv, line 3, column \"b\": \"calm\" is not a number; correct it, name "
                       "the column as categorical, or leave the column out"));
  EXPECT_THAT(Complaint("a,b\n1," + std::string(50, 'x') + "\n", {.columns = {"b"}}),
              HasSubstr("\"" + std::string(30, 'x') + "..\" is not a number"));
}

TEST_F(TableTest, RecognisesADecimalComma) {
  EXPECT_THAT(Complaint("a;b\n1,5;2\n", {.columns = {"a"}}),
              HasSubstr("\"1,5\" is not a number; if its comma is the decimal one, add decimal=,"));
}

TEST_F(TableTest, CodesTextsAsTheyFirstAppearInCompleteRows) {
  const Table table =
      Read("wd,v\nW,NA\nN,1\nS,2\n\"N\",3\nW,4\n", {.columns = {"v"}, .categorical = {"wd"}});
  EXPECT_THAT(table.values, ElementsAre(0, 1, 1, 2, 0, 3, 2, 4));
  EXPECT_THAT(table.labels[table.Find("wd")], ElementsAre("N", "S", "W"));
  EXPECT_THAT(table.labels[table.Find("v")], IsEmpty());
}

TEST_F(TableTest, AppendsFilesThatHaveTheSameColumns) {
  const std::string one = folder.Write("one.csv", "a,w\n1,N\n2,S\n");
  const std::string two = folder.Write("two.csv", "a,w\n3,S\nNA,N\n4,E\n");
  const ColumnChoice choice = {.columns = {"a"}, .categorical = {"w"}};
  const Table table = ReadTable({one, two}, choice);
  EXPECT_THAT(table.values, ElementsAre(1, 0, 2, 1, 3, 1, 4, 2));
  EXPECT_THAT(table.file, ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(table.line, ElementsAre(2, 3, 2, 4));
  EXPECT_EQ(table.dropped_rows, 1U);

  const Table per_file = ReadTable({one, two}, choice, {.codes_per_file = true});
  EXPECT_THAT(per_file.values, ElementsAre(1, 0, 2, 1, 3, 0, 4, 1));
}

TEST_F(TableTest, NeverRestartsTheCodesOfKeys) {
  const std::string one = folder.Write("one.csv", "a,w\n1,N\n2,S\n");
  const std::string two = folder.Write("two.csv", "a,w\n3,S\n");
  const Table table = ReadTable({one, two}, {.keys = {"w"}}, {.codes_per_file = true});
  EXPECT_THAT(table.values, ElementsAre(0, 1, 1));
  EXPECT_THAT(table.labels[0], ElementsAre("N", "S"));
}

TEST_F(TableTest, NamesTheFileWithOtherColumns) {
  const std::string one = folder.Write("one.csv", "a,b\n1,2\n");
  const std::string two = folder.Write("two.csv", "a,c\n1,2\n");
  const std::string three = folder.Write("three.csv", "a\n1\n");
  EXPECT_EQ(MessageOf([&] {
              ReadTable({one, two}, numbers);
            }),
            two + ": its columns differ from those of " + one +
                " (column 2 is \"c\", not \"b\"); give both files the same columns");
  EXPECT_THAT(
      MessageOf([&] {
        ReadTable({one, three}, numbers);
      }),
      HasSubstr("three.csv: its columns differ from those of " + one + " (1 columns, not 2)"));
}

TEST_F(TableTest, StopsAfterTheWantedCompleteRowsOfEachFile) {
  const std::string one = folder.Write("one.csv", "a\n1\nNA\n2\nnot read\n");
  const std::string two = folder.Write("two.csv", "a\n3\n4\n5\n");
  const Table table = ReadTable({one, two}, numbers, {.rows_per_file = 2});
  EXPECT_THAT(table.values, ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(table.dropped_rows, 1U);
}

TEST_F(TableTest, OffersNamesNearAnUnknownColumn) {
  EXPECT_THAT(Complaint("year,NO2\n1,2\n", {.columns = {"NO"}}),
              EndsWith("some.csv: there is no column \"NO\"; did you mean \"NO2\"?"));
  EXPECT_THAT(Complaint("year,NO2\n1,2\n", {.columns = {"pressure"}}),
              EndsWith("choose one of \"year\", \"NO2\""));
}

TEST_F(TableTest, NamesTheColumnThatLeavesNoCompleteRow) {
  EXPECT_THAT(Complaint("a,b\n1,NA\n2,NA\n", {.columns = {"a", "b"}}),
              HasSubstr("no row is complete (column \"b\" lacks 2 of 2 values)"));
}

TEST_F(TableTest, SaysThatNoColumnHoldsNumbers) {
  EXPECT_THAT(Complaint("a,b\nx,y\n", numbers), HasSubstr("no column is left to read"));
}

TEST_F(TableTest, NeedsAFile) {
  EXPECT_THAT(MessageOf([&] { ReadTable({}, numbers); }), HasSubstr("name at least one CSV file"));
}

/// A random file of number, text and sparse columns, and what must come out of it.
struct RandomTable {
  explicit RandomTable(std::uint64_t seed) {
    Random random(seed, Purpose::kTest);
    const std::size_t columns = 2 + random.Below(4);
    const std::size_t rows = 1 + random.Below(12);
    std::vector<bool> is_text(columns);
    for (std::size_t c = 0; c < columns; ++c) {
      is_text[c] = c > 0 && random.Below(3) == 0;
      names.push_back("n" + std::to_string(c));
      (is_text[c] ? choice.categorical : choice.columns).push_back(names.back());
      text += (c > 0 ? "," : "") + names.back();
    }
    labels.resize(columns);
    for (std::size_t r = 0; r < rows; ++r) {
      text += "\n";
      std::vector<double> row;
      std::vector<std::string> words(columns);
      bool complete = true;
      for (std::size_t c = 0; c < columns; ++c) {
        const double number = std::ldexp(static_cast<double>(random.Below(1000)), -3);
        words[c] = is_text[c] ? "w" + std::to_string(random.Below(3)) : ExactText(number);
        if (random.Below(12) == 0) words[c] = random.Below(2) == 0 ? "" : "NA";
        const bool missing = words[c].empty() || words[c] == "NA";
        complete = complete && !missing;
        row.push_back(number);
        text += (c > 0 ? "," : "") + words[c];
      }
      dropped += complete ? 0 : 1;
      if (!complete) continue;
      for (std::size_t c = 0; c < columns; ++c) {
        if (is_text[c]) {  // the place of the word among those seen so far
          auto& seen = labels[c];
          const auto found = std::ranges::find(seen, words[c]);
          row[c] = static_cast<double>(found - seen.begin());
          if (found == seen.end()) seen.push_back(words[c]);
        }
      }
      values.insert(values.end(), row.begin(), row.end());
      lines.push_back(static_cast<std::uint32_t>(r + 2));
    }
    text += "\n";
  }
  std::string text;
  std::vector<std::string> names;
  ColumnChoice choice;
  std::vector<double> values;
  std::vector<std::uint32_t> lines;
  std::vector<std::vector<std::string>> labels;
  std::size_t dropped = 0;
};

TEST_F(TableTest, HoldsWhatASlowReaderFindsInRandomFiles) {
  std::size_t empty = 0;
  for (std::uint64_t seed = 0; seed < 80; ++seed) {
    const RandomTable expected(seed);
    SCOPED_TRACE(expected.text);
    const TableOptions options = {.delimiter = ',', .header = HeaderLine::kYes};
    if (expected.lines.empty()) {
      EXPECT_THAT(Complaint(expected.text, expected.choice, options),
                  HasSubstr("no row is complete"));
      ++empty;
      continue;
    }
    const Table table = Read(expected.text, expected.choice, options);
    EXPECT_EQ(table.columns, expected.names);
    EXPECT_EQ(table.values, expected.values);
    EXPECT_EQ(table.line, expected.lines);
    EXPECT_EQ(table.labels, expected.labels);
    EXPECT_EQ(table.dropped_rows, expected.dropped);
  }
  EXPECT_GT(empty, 0U);
}

TEST_F(TableTest, LetsANameBeatAnExclusionAndAKeyBeatACategory) {
  const std::string text = "a,b,w\n1,2,x\n3,4,y\n";
  EXPECT_THAT(Read(text, {.columns = {"b"}, .other_numbers = true, .exclude = {"b"}}).columns,
              ElementsAre("a", "b"));
  const std::string one = folder.Write("one.csv", "a,w\n1,N\n2,S\n");
  const std::string two = folder.Write("two.csv", "a,w\n3,S\n");
  const ColumnChoice both = {.columns = {"a"}, .categorical = {"w"}, .keys = {"w"}};
  EXPECT_THAT(ReadTable({one, two}, both, {.codes_per_file = true}).values,
              ElementsAre(1, 0, 2, 1, 3, 1));
}

TEST_F(TableTest, TakesTheFirstValueOfAColumnToSayWhetherItHoldsNumbers) {
  EXPECT_THAT(Read("a,b\nNA,x\n,1\n3,2\n", {.columns = {"a"}, .other_numbers = true}).columns,
              ElementsAre("a"));
  EXPECT_THAT(Complaint("a,b\nNA,1\n3,2\nx,1\n", numbers),
              EndsWith("line 4, column \"a\": \"x\" is not a number; correct it, name the column "
                       "as categorical, or leave the column out"));
}

TEST_F(TableTest, CodesNumbersAndQuotedWordsByTheirText) {
  const Table table = Read("k,v\n1.0,1\n1,2\n\"say \"\"hi\"\"\",3\n1,4\n",
                           {.columns = {"v"}, .categorical = {"k"}});
  EXPECT_THAT(table.labels[0], ElementsAre("1.0", "1", "say \"hi\""));
  EXPECT_THAT(table.values, ElementsAre(0, 1, 1, 2, 2, 3, 1, 4));
}

TEST_F(TableTest, NamesTheSecondFileOfAMissingValue) {
  const std::string one = folder.Write("one.csv", "a\n1\n");
  const std::string two = folder.Write("two.csv", "a\n\n2\nnull\n");
  EXPECT_THAT(MessageOf([&] {
                ReadTable({one, two}, numbers, {.missing = MissingPolicy::kError});
              }),
              HasSubstr(two + ", line 4, column \"a\": the value is missing (\"null\")"));
  EXPECT_THAT(MessageOf([&] {
                ReadTable({one, folder.Write("none.csv", "a\nNA\n?\n")}, numbers);
              }),
              EndsWith("none.csv: no row is complete (column \"a\" lacks 2 of 2 values); leave out "
                       "the columns with missing values"));
}

TEST_F(TableTest, RecognisesADecimalCommaOnlyAmongDigits) {
  for (const auto& [cell, comma] : {std::pair("-1,5", true), std::pair("+1,234,5", false),
                                    std::pair("1,5x", false), std::pair("1-5", false)}) {
    const std::string text = Complaint(std::string("a;b\n") + cell + ";2\n", {.columns = {"a"}});
    EXPECT_EQ(text.ends_with("add decimal=,"), comma) << cell;
  }
}

TEST_F(TableTest, FindsNothingInATableWithoutFiles) {
  Table table;
  table.columns = {"temp"};
  EXPECT_EQ(MessageOf([&] { table.Find("tmp"); }),
            "table: there is no column \"tmp\"; did you mean \"temp\"?");
}

}  // namespace
}  // namespace polykern
