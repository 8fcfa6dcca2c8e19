#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "polykern/core/error.h"
#include "polykern/data/csv.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

class CsvFileTest : public testing::Test {
 protected:
  CsvFile Open(std::string_view text, HeaderLine header = HeaderLine::kAuto) {
    return OpenCsv(folder.Write("some.csv", text), 0, header);
  }

  TestFolder folder;
};

TEST_F(CsvFileTest, GuessesTheDelimiterThatIsEquallyOftenInEveryLine) {
  struct Case {
    const char* text;
    char delimiter;
  };
  for (const Case& c : {
           Case{"a\tb,c\n1\t2,3\n", '\t'},       // both are: tabs come first
           Case{"a;b,c\n1;2\n", ';'},            // commas are not in every line
           Case{"a,b;c\n1,2\n", ','},            //
           Case{"1;2,3,4\n1;2;3,4\n", ','},      // none is: the first line's most frequent
           Case{"1;2,3\n1;2;3,4,5\n", ';'},      // a draw: the first of them
           Case{"\n  \na;b\n\r\n1;2\n", ';'},    // blank lines do not count
           Case{"\"a;b\"\"c;\",d\n1,2\n", ','},  // nor does what is quoted
           Case{"1 2\n3 4\n5\n", ','},           // blanks only if every line has one
           Case{" 1 \n 2 \n", ','},              // those around a line do not count
           Case{"1,2 3\n4,5 6\n", ','},          // blanks are the last resort
           Case{"1\n", ','},                     //
       }) {
    EXPECT_EQ(Open(c.text).delimiter, c.delimiter) << c.text;
  }
}

TEST_F(CsvFileTest, LooksAtTheFirstTenLinesForTheDelimiter) {
  const auto lines = [](std::size_t alike) {
    std::string text;
    for (std::size_t i = 0; i < alike; ++i) text += "1;2,3,4\n";
    return text + "1;2;3,4\n";
  };
  EXPECT_EQ(Open(lines(10)).delimiter, ';');  // the eleventh, with two of them, is not seen
  EXPECT_EQ(Open(lines(9)).delimiter, ',');
}

TEST_F(CsvFileTest, RefusesEveryDelimiterThatNumbersAndQuotesAreMadeOf) {
  const std::string path = folder.Write("some.csv", "a,b\n1,2\n");
  for (const char c : std::string_view("\"\r\n.+-0123456789")) {
    EXPECT_EQ(MessageOf([&] { OpenCsv(path, c, HeaderLine::kAuto); }),
              path +
                  ": a quote, a line end or a part of a number cannot be the delimiter; choose a "
                  "comma, a semicolon, a tab or a blank")
        << c;
  }
  for (const char c : std::string_view(",;\t |:/")) {
    EXPECT_NO_THROW(OpenCsv(path, c, HeaderLine::kYes)) << c;
  }
}

TEST_F(CsvFileTest, TakesOnlyWordsWithoutANumberForAHeader) {
  struct Case {
    const char* first_line;
    bool header;
  };
  for (const Case& c : {Case{"a,b", true}, Case{"a,", true}, Case{"a,NA", true}, Case{",", false},
                        Case{"NA,?", false}, Case{"a,1", false}, Case{"\"1\",a", false},
                        Case{"-1e3,x", false}, Case{"1x,2y", true}, Case{"1e999,b", true}}) {
    const CsvFile file = Open(std::string(c.first_line) + "\n1,2\n");
    EXPECT_EQ(file.has_header, c.header) << c.first_line;
    RowScanner rows = file.Rows();
    std::size_t count = 0;
    while (rows.Next()) ++count;
    EXPECT_EQ(count, c.header ? 1U : 2U) << c.first_line;
  }
}

TEST_F(CsvFileTest, ReadsNamesWithoutTheirQuotes) {
  EXPECT_THAT(Open("\"wind, \"\"W\"\"\", t ,\"two\nlines\"\n1,2,3\n").names,
              ElementsAre("wind, \"W\"", "t", "two\nlines"));
}

TEST_F(CsvFileTest, KnowsWhereTheRowsBeginBehindAHeaderOfSeveralLines) {
  const CsvFile file = Open("\xEF\xBB\xBF\n\"a\nb\",c\n1,2\n");
  EXPECT_EQ(file.body_line, 4U);
  EXPECT_EQ(file.text.substr(file.body), "1,2\n");
  RowScanner rows = file.Rows();
  ASSERT_TRUE(rows.Next());
  EXPECT_EQ(rows.line(), 4U);
}

TEST_F(CsvFileTest, SaysThatAMadeUpNameIsTaken) {
  EXPECT_THAT(MessageOf([&] { Open("\nc2,\n1,2\n"); }),
              EndsWith("line 2: two columns are called \"c2\"; give every column its own name"));
}

TEST_F(CsvFileTest, SaysThatThereIsNoRow) {
  EXPECT_THAT(MessageOf([&] { Open("\"\"\n\n"); }),
              EndsWith("some.csv: there is no row in the file; check its delimiter"));
  EXPECT_THAT(MessageOf([&] { Open("1,2\n", HeaderLine::kYes); }),
              EndsWith("there is a line of column names but no row below it; add the rows"));
}

TEST_F(CsvFileTest, SaysThatBothKindsOfUtf16AreNotText) {
  for (const std::string_view text : {std::string_view("\xFF\xFE"
                                                       "a\0",
                                                       4),
                                      std::string_view("\xFE\xFF\0a", 4)}) {
    EXPECT_THAT(MessageOf([&] { Open(text); }), EndsWith("this is UTF-16 text; save it as UTF-8"));
  }
}

TEST_F(CsvFileTest, ReadsAPipeUntilNothingComes) {
  const std::string path = folder.At("pipe.csv");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::string text = "a,b\n";
  while (text.size() < (std::size_t{1} << 21U) + 1000) text += "1234567,7654321\n";
  std::thread writer([&] { std::ofstream(path, std::ios::binary) << text; });
  const CsvFile file = OpenCsv(path, 0, HeaderLine::kAuto);
  writer.join();
  EXPECT_EQ(file.text.size(), text.size());
  EXPECT_TRUE(file.text == text);
}

TEST_F(CsvFileTest, SaysWhyAFileCannotBeOpened) {
  const std::string path = folder.At("socket.csv");  // there, but not to be opened by anybody
  const int socket_of_ours = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof address.sun_path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  ASSERT_EQ(bind(socket_of_ours, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(MessageOf([&] { OpenCsv(path, 0, HeaderLine::kAuto); }),
            path + ": cannot be opened (No such device or address); check its permissions");
  close(socket_of_ours);
}

TEST_F(CsvFileTest, NamesTheOffsetOfAZeroByteBeyondTheByteOrderMark) {
  EXPECT_THAT(MessageOf([&] {
                Open(
                    std::string_view("\xEF\xBB\xBF"
                                     "a\0b",
                                     6));
              }),
              HasSubstr("zero byte at offset 4"));
}

TEST_F(CsvFileTest, GuessesNoCommaBesideDecimalCommas) {
  const auto open = [&](std::string_view text, char delimiter) {
    return OpenCsv(folder.Write("some.csv", text), delimiter, HeaderLine::kAuto, ',');
  };
  EXPECT_EQ(open("a,b;c\n1,5;2,5\n", 0).delimiter, ';');
  EXPECT_EQ(open("1,5\t2,5\n1,25\t3\n", 0).delimiter, '\t');
  EXPECT_FALSE(open("1,5\t2,5\n1,25\t3\n", 0).has_header);
  EXPECT_EQ(open("1,5 2,5\n1,25 3\n", 0).delimiter, ' ');
  EXPECT_EQ(open("1,5\n2\n", 0).delimiter, ';');
  EXPECT_THAT(MessageOf([&] { open("a;b\n1;2\n", ','); }),
              HasSubstr("a comma cannot divide cells and be the decimal comma"));
}

TEST_F(CsvFileTest, SaysHowAParquetFileBecomesOne) {
  for (const std::string& path :
       {folder.Write("a.parquet", "a,b\n1,2\n"), folder.Write("other.csv", "PAR1 and more")}) {
    EXPECT_THAT(MessageOf([&] { OpenCsv(path, 0, HeaderLine::kAuto); }),
                HasSubstr("pandas.read_parquet('in.parquet').to_csv('out.csv', index=False)"));
  }
}

}  // namespace
}  // namespace polykern
