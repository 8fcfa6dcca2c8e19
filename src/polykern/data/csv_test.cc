#include "polykern/data/csv.h"

#include <cmath>
#include <regex>

#include <gmock/gmock.h>

#include "polykern/core/error.h"
#include "polykern/core/random.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

using Rows = std::vector<std::vector<std::string>>;

Rows RowsOf(const CsvFile& file) {
  Rows result;
  RowScanner rows = file.Rows();
  while (rows.Next()) {
    std::vector<std::string>& row = result.emplace_back();
    for (const Cell& cell : rows.cells()) row.push_back(cell.Unescape());
  }
  return result;
}

class Csv : public testing::Test {
 protected:
  CsvFile Open(std::string_view text, char delimiter = 0, HeaderLine header = HeaderLine::kAuto) {
    return OpenCsv(folder.Write("some.csv", text), delimiter, header);
  }
  std::string Complaint(std::string_view text, char delimiter = 0) {
    return MessageOf([&] { RowsOf(Open(text, delimiter)); });
  }

  TestFolder folder;
};

TEST(Cells, AreNumbersMissingOrText) {
  const auto kind = [](std::string_view text) {
    double ignored = 0;
    return ParseCell(text, ignored);
  };
  for (const char* text : {"0", "-7", "+3", "1.5", "-.5", "2.", "1e-3", "+1E+5",
                           "123456789012345678", "-7541.2642999999225"}) {
    EXPECT_EQ(kind(text), CellKind::kNumber) << text;
  }
  for (const char* text : {"", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "?", "inf", "-inf",
                           "Inf", "+inf", "-nan"}) {
    EXPECT_EQ(kind(text), CellKind::kMissing) << text;
  }
  for (const char* text :
       {"NNW", "1,5", "0x10", "1 2", "-", "+", "+-1", "--1", "1e", "12a", "1e999", "naval"}) {
    EXPECT_EQ(kind(text), CellKind::kText) << text;
  }
}

TEST(Cells, GiveTheNearestDouble) {
  for (const char* text : {"0.1", "-7541.2642999999225", "123456789012345678", "-42", "+3.25e2"}) {
    double value = 0;
    EXPECT_EQ(ParseCell(text, value), CellKind::kNumber);
    EXPECT_EQ(value, std::strtod(text, nullptr)) << text;
  }
  double zero = 1;
  ParseCell("-0", zero);
  EXPECT_EQ(zero, 0);
}

/// Slow and obvious: what a cell is, by regular expressions and the C library.
CellKind SlowKind(const std::string& text, double& value) {
  static const std::regex missing("|na|n/a|null|\\?|[+-]?(nan|inf|infinity)", std::regex::icase);
  static const std::regex number("[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?");
  if (std::regex_match(text, missing)) return CellKind::kMissing;
  if (!std::regex_match(text, number)) return CellKind::kText;
  const double parsed = std::strtod(text.c_str(), nullptr);
  const bool digits = text.find_first_of("123456789") < text.find_first_of("eE");
  if (std::isinf(parsed) || (parsed == 0 && digits)) return CellKind::kText;  // no such double
  value = parsed;
  return CellKind::kNumber;
}

TEST(Cells, AreWhatTheSlowVersionSaysOfRandomTexts) {
  const std::vector<std::string> pieces = {
      "+", "-",   "1", "0", ".", "5",   "e",  "E",   "12", "na",   "N",   "NaN",
      "?", "inf", "/", "x", "A", "300", "-3", "Inf", " ",  "null", "999", "infinity"};
  Random random(1, Purpose::kTest);
  std::array<int, 3> seen{};
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (std::uint64_t left = random.Below(6); left > 0; --left) {
      text += pieces[random.Below(pieces.size())];
    }
    double fast = -7;
    double slow = -7;
    const CellKind kind = ParseCell(text, fast);
    ASSERT_EQ(kind, SlowKind(text, slow)) << "'" << text << "'";
    ASSERT_EQ(fast, slow) << "'" << text << "'";
    ++seen.at(static_cast<std::size_t>(kind));
  }
  EXPECT_THAT(seen, testing::Each(testing::Gt(500)));
}

TEST(Cells, AreExactOnBothSidesOfTheShortIntegers) {
  for (const char* text : {"999999999999999", "1000000000000000", "-999999999999999",
                           "9007199254740993", "000000000000001", "0000000000000001"}) {
    double value = 0;
    EXPECT_EQ(ParseCell(text, value), CellKind::kNumber) << text;
    EXPECT_EQ(value, std::strtod(text, nullptr)) << text;
  }
}

/// A random cell, and one of the ways in which it can be written.
std::string RandomCell(Random& random, bool plain) {
  const std::string_view letters = plain ? "ab1.-" : "ab1 ,;\t\"\n'";
  std::string cell;
  for (std::uint64_t left = 1 + random.Below(6); left > 0; --left) {
    cell += letters[random.Below(letters.size())];
  }
  return cell;
}
std::string InQuotes(const std::string& cell) {
  std::string quoted = "\"";
  for (const char c : cell) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

TEST(Rows, AreReadBackAsTheyWereWritten) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed, Purpose::kTest);
    const char delimiter = std::string_view(",;\t ")[seed % 4];
    const std::string line_end = random.Below(2) == 0 ? "\n" : "\r\n";
    const std::size_t columns = 2 + random.Below(4);
    Rows rows(1 + random.Below(6));
    std::vector<std::size_t> lines;
    std::size_t line = 1;
    std::string text;
    for (auto& row : rows) {
      for (std::uint64_t blank = random.Below(2); blank > 0; --blank, ++line) text += line_end;
      lines.push_back(line);
      for (std::size_t c = 0; c < columns; ++c) {
        const bool plain = random.Below(2) == 0;
        row.push_back(RandomCell(random, plain));
        line += static_cast<std::size_t>(std::ranges::count(row.back(), '\n'));
        if (c > 0) text += delimiter;
        if (random.Below(2) == 0) text += ' ';
        text += plain ? row.back() : InQuotes(row.back());
        if (random.Below(2) == 0) text += ' ';
      }
      text += line_end;
      ++line;
    }
    if (random.Below(2) == 0) text.resize(text.size() - line_end.size());
    RowScanner scanner(text, delimiter, "some.csv", 1, columns);
    Rows read;
    while (scanner.Next()) {
      EXPECT_EQ(scanner.line(), lines.at(read.size())) << text;
      std::vector<std::string>& row = read.emplace_back();
      for (const Cell& cell : scanner.cells()) row.push_back(cell.Unescape());
    }
    ASSERT_EQ(read, rows) << "seed " << seed << "\n" << text;
    EXPECT_EQ(scanner.rest(), text.size());
  }
}

TEST(Rows, OfATextCutOffAnywhereAreItsFirstOnesOrAnError) {
  const std::string whole = "1, \"two \"\"2\"\"\" ,3\r\n\n4,\"5\n\n5\",\r\n7,8,\"\"\n";
  Rows all;
  for (RowScanner scanner(whole, ',', "cut.csv"); scanner.Next();) {
    std::vector<std::string>& row = all.emplace_back();
    for (const Cell& cell : scanner.cells()) row.push_back(cell.Unescape());
  }
  ASSERT_EQ(all, (Rows{{"1", "two \"2\"", "3"}, {"4", "5\n\n5", ""}, {"7", "8", ""}}));
  std::size_t errors = 0;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::vector<char> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    RowScanner scanner({cut.data(), cut.size()}, ',', "cut.csv");
    std::size_t count = 0;
    try {
      while (scanner.Next()) {
        ASSERT_LT(count, all.size());
        const bool last = scanner.rest() == cut.size();
        for (std::size_t c = 0; !last && c < 3; ++c) {
          EXPECT_EQ(scanner.cells()[c].Unescape(), all[count][c]) << length;
        }
        ++count;
      }
    } catch (const Error& error) {
      ++errors;
      EXPECT_THAT(error.what(), HasSubstr("a quote is opened and never closed")) << length;
    }
  }
  EXPECT_GT(errors, 10U);
}

TEST(Rows, AreCountedFromTheLineTheyAreSaidToBeginAt) {
  RowScanner scanner("1,2\n3\n", ',', "part.csv", 40, 2);
  ASSERT_TRUE(scanner.Next());
  EXPECT_EQ(scanner.line(), 40U);
  EXPECT_EQ(MessageOf([&] { scanner.Next(); }),
            "part.csv, line 41: 2 cells expected, 1 found; correct the line, or check the "
            "delimiter and the quotes");
}

TEST_F(Csv, ReadsAPlainFile) {
  const CsvFile file = Open("a,b\n1,2\n3,4\n");
  EXPECT_TRUE(file.has_header);
  EXPECT_THAT(file.names, ElementsAre("a", "b"));
  EXPECT_EQ(RowsOf(file), (Rows{{"1", "2"}, {"3", "4"}}));
}

TEST_F(Csv, AcceptsCarriageReturnsAByteOrderMarkAndNoLastNewline) {
  const CsvFile file = Open("\xEF\xBB\xBF\"a\",b\r\n1,2\r\n3,4");
  EXPECT_THAT(file.names, ElementsAre("a", "b"));
  EXPECT_EQ(RowsOf(file), (Rows{{"1", "2"}, {"3", "4"}}));
}

TEST_F(Csv, UnderstandsQuotes) {
  const CsvFile file =
      Open("a,b,c\n \"x, y\" ,\"say \"\"hi\"\"\",\"\"\n\"two\nlines\",5\" pipe,3\n");
  EXPECT_EQ(RowsOf(file), (Rows{{"x, y", "say \"hi\"", ""}, {"two\nlines", "5\" pipe", "3"}}));
}

TEST_F(Csv, CountsLinesInsideQuotesAndSkipsBlankOnes) {
  const CsvFile file = Open("\na,b\n\n1,\"two\nlines\"\n  \n3,4\n");
  RowScanner rows = file.Rows();
  ASSERT_TRUE(rows.Next());
  EXPECT_EQ(rows.line(), 4U);
  ASSERT_TRUE(rows.Next());
  EXPECT_EQ(rows.line(), 7U);
  EXPECT_FALSE(rows.Next());
}

TEST_F(Csv, DropsBlanksAroundCells) {
  EXPECT_EQ(RowsOf(Open(" a , b \n 1 ,\t2 \n")), (Rows{{"1", "2"}}));
}

TEST_F(Csv, GuessesTheDelimiter) {
  EXPECT_EQ(Open("a,b\n1,2\n").delimiter, ',');
  EXPECT_EQ(Open("a;b\n1;2\n").delimiter, ';');
  EXPECT_EQ(Open("a\tb\n1\t2\n").delimiter, '\t');
  EXPECT_EQ(Open("  1.0e0   2.0e0\n  3 4\n").delimiter, ' ');
  EXPECT_EQ(Open("1,5;2,5\n3,5;4,5\n").delimiter, ';');
  EXPECT_EQ(Open("\"a;b\",c\n1,2\n").delimiter, ',');
  EXPECT_EQ(Open("wind speed\n1\n2\n").delimiter, ',');
  EXPECT_EQ(Open("a,b,c\n1,2,3\n4,5;6,7\n").delimiter, ',');
}

TEST_F(Csv, ReadsColumnsDividedByBlanks) {
  const CsvFile file = Open("   1.0   2.0 \n 3.0\t \t4.0\r\n5.0 6.0");
  EXPECT_THAT(file.names, ElementsAre("c1", "c2"));
  EXPECT_EQ(RowsOf(file), (Rows{{"1.0", "2.0"}, {"3.0", "4.0"}, {"5.0", "6.0"}}));
}

TEST_F(Csv, KeepsEmptyCellsBetweenTabs) {
  EXPECT_EQ(RowsOf(Open("a\tb\tc\n1\t\t3\n")), (Rows{{"1", "", "3"}}));
}

TEST_F(Csv, SeesWhetherThereIsAHeader) {
  EXPECT_TRUE(Open("a,b\n1,2\n").has_header);
  EXPECT_FALSE(Open("1,2\n3,4\n").has_header);
  EXPECT_FALSE(Open("1,NNW\n3,N\n").has_header);
  EXPECT_FALSE(Open("NA,?\n3,4\n").has_header);
  EXPECT_TRUE(Open("1,2\n3,4\n", 0, HeaderLine::kYes).has_header);
  EXPECT_FALSE(Open("a,b\n1,2\n", 0, HeaderLine::kNo).has_header);
}

TEST_F(Csv, NamesColumnsThatHaveNoName) {
  EXPECT_THAT(Open(",a,\n1,2,3\n").names, ElementsAre("c1", "a", "c3"));
  EXPECT_THAT(Open("1,2\n").names, ElementsAre("c1", "c2"));
}

TEST_F(Csv, NamesTheLineOfARaggedRow) {
  EXPECT_THAT(Complaint("a,b\n1,2\n3\n"), HasSubstr("some.csv, line 3: 2 cells expected, 1 found"));
  EXPECT_THAT(Complaint("1,2\n1,2,3\n"), HasSubstr("line 2: 2 cells expected, 3 found"));
}

TEST_F(Csv, NamesTheLineOfABadQuote) {
  EXPECT_THAT(Complaint("a,b\n1,\"2\n3,4\n"), HasSubstr("line 2: a quote is opened and never"));
  EXPECT_THAT(Complaint("a,b\n1,2\n\"x\"y,4\n"), HasSubstr("line 3: text follows a closing quote"));
}

TEST_F(Csv, SaysThatAFileIsMissing) {
  const std::string path = folder.path() + "/nothing.csv";
  EXPECT_EQ(MessageOf([&] { OpenCsv(path, 0, HeaderLine::kAuto); }),
            path + ": there is no such file; check the path");
}

TEST_F(Csv, SaysThatAFolderIsNotAFile) {
  EXPECT_EQ(MessageOf([&] { OpenCsv(folder.path(), 0, HeaderLine::kAuto); }),
            folder.path() + ": this is a folder; name a file in it");
}

TEST_F(Csv, SaysThatAFileIsEmpty) {
  EXPECT_THAT(Complaint(""), HasSubstr("some.csv: the file is empty"));
  EXPECT_THAT(Complaint("\xEF\xBB\xBF \r\n\n"), HasSubstr("some.csv: the file is empty"));
}

TEST_F(Csv, SaysThatThereIsOnlyAHeader) {
  EXPECT_THAT(Complaint("a,b\n"), HasSubstr("column names but no row below it"));
  EXPECT_THAT(Complaint("a,b\n\n  \n"), HasSubstr("column names but no row below it"));
}

TEST_F(Csv, SaysThatTwoColumnsHaveOneName) {
  EXPECT_THAT(Complaint("a,b,a\n1,2,3\n"),
              EndsWith("some.csv, line 1: two columns are called \"a\"; give every column its own "
                       "name"));
}

TEST_F(Csv, SaysThatAFileIsNotText) {
  EXPECT_THAT(Complaint(std::string_view("a,b\n1\0,2\n", 9)),
              HasSubstr("not a text file (zero byte at offset 5)"));
  EXPECT_THAT(Complaint(std::string_view("\xFF\xFE\x61\0", 4)), HasSubstr("save it as UTF-8"));
}

TEST_F(Csv, RefusesADelimiterThatCannotBeOne) {
  EXPECT_THAT(Complaint("a,b\n1,2\n", '.'), HasSubstr("cannot be the delimiter"));
}

TEST(ParseCell, ReadsDecimalCommasIfTold) {
  double value = 0;
  for (const auto& [text, number] :
       {std::pair("3,5", 3.5), std::pair("-0,25", -0.25), std::pair("1,5e3", 1500.0),
        std::pair("+,5", 0.5), std::pair("12", 12.0)}) {
    EXPECT_EQ(ParseCell(text, value, ','), CellKind::kNumber) << text;
    EXPECT_EQ(value, number) << text;
  }
  for (const char* text : {"3.5", "1.234,5", "1,2,3", "16.11.2026", "a,b"}) {
    EXPECT_EQ(ParseCell(text, value, ','), CellKind::kText) << text;
  }
  EXPECT_EQ(ParseCell("NA", value, ','), CellKind::kMissing);
}

TEST(ParseCell, TellsADecimalCommaFromOthers) {
  for (const char* text : {"3,5", "-0,25", "1,234"}) EXPECT_TRUE(HasDecimalComma(text)) << text;
  for (const char* text : {"3.5", "35", "1,2,3", "a,b", "", "NA"}) {
    EXPECT_FALSE(HasDecimalComma(text)) << text;
  }
}

}  // namespace
}  // namespace polykern
