#include "polykern/data/samples/sample_reader.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "polykern/data/input_columns.h"
#include "polykern/data/samples/agreed_columns.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::Eq;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;
using testing::SizeIs;

const SampleColumns kNamed{.inputs = {"a", "b"}, .dimension = 2};
const SampleColumns kUnnamed{.dimension = 2};

std::vector<InputSample> Read(const std::string& text, const SampleColumns& columns = kNamed) {
  std::istringstream input(text);
  SampleReader reader(input, "in.csv", columns);
  std::vector<InputSample> all;
  InputSample sample;
  while (reader.Next(sample)) all.push_back(sample);
  return all;
}

InputSample ReadOne(const std::string& text, const SampleColumns& columns = kNamed) {
  const std::vector<InputSample> all = Read(text, columns);
  EXPECT_THAT(all, SizeIs(1));
  return all.empty() ? InputSample() : all.front();
}

TEST(SamplesInCsv, AreFoundByTheNamesOfTheirColumns) {
  const InputSample sample = ReadOne("b,more,y,a\n2,text,5,-1e-3\n");
  EXPECT_EQ(sample.problem, "");
  EXPECT_THAT(sample.x, ElementsAre(-1e-3, 2));
  EXPECT_THAT(sample.y, Optional(5));
  EXPECT_EQ(sample.id, "2");  // the header is line 1
  EXPECT_FALSE(sample.named);
}

TEST(SamplesInCsv, WithoutNamesAreAllColumnsButLabelAndName) {
  const InputSample sample = ReadOne("id,u,y,v\ns,1,2,3\n", kUnnamed);
  EXPECT_THAT(sample.x, ElementsAre(1, 3));
  EXPECT_THAT(sample.y, Optional(2));
  EXPECT_EQ(sample.id, "\"s\"");
  EXPECT_THAT(
      MessageOf([&] { Read("u,v,w,y\n1,2,3,4\n", kUnnamed); }),
      HasSubstr("in.csv: has 3 input columns beside \"y\", but the federation works with 2"));
}

TEST(SamplesInCsv, MayBeSeparatedBySemicolonsOrTabs) {
  for (const char* text : {"a;b;y\n1;2;3\n", "a\tb\ty\n1\t2\t3\n", "a,b,y\r\n1,2,3\r\n"}) {
    const InputSample sample = ReadOne(text);
    EXPECT_THAT(sample.x, ElementsAre(1, 2)) << text;
    EXPECT_THAT(sample.y, Optional(3)) << text;
  }
  // A comma in the header decides, whatever else there is.
  EXPECT_THAT(ReadOne("a,b,y,semi;colon\n1,2,3,4\n").x, ElementsAre(1, 2));
}

TEST(SamplesInCsv, MayHaveDecimalCommasAndOtherDelimiters) {
  SampleColumns commas = kNamed;
  commas.decimal = ',';
  const InputSample sample = ReadOne("a;b;y\n1,5;-0,25;2\n", commas);
  EXPECT_THAT(sample.x, ElementsAre(1.5, -0.25));
  EXPECT_THAT(sample.y, Optional(2));
  EXPECT_THAT(ReadOne("a;b;y\n1,5;2;3\n").problem,
              HasSubstr("\"1,5\" in column \"a\" is not a number; if its comma is the decimal "
                        "one, add "));
  SampleColumns bars = kNamed;
  bars.delimiter = '|';
  EXPECT_THAT(ReadOne("a|b,c|b|y\n1|9|2|3\n", bars).x, ElementsAre(1, 2));
  commas.delimiter = ',';
  EXPECT_THAT(MessageOf([&] { Read("a,b,y\n", commas); }), HasSubstr("in.csv: a comma cannot"));
}

TEST(SamplesInCsv, MayBeQuoted) {
  const InputSample sample =
      ReadOne("\"a\",\"b\",\"y\",\"id\"\n\"1\",\"2\",3,\"say \"\"hi\"\", you\"\n");
  EXPECT_THAT(sample.x, ElementsAre(1, 2));
  EXPECT_EQ(sample.id, "\"say \\\"hi\\\", you\"");
  EXPECT_TRUE(sample.named);
  EXPECT_THAT(ReadOne("a,b,y\n1,\"2,3\n").problem, HasSubstr("in.csv, line 2: "));
}

TEST(SamplesInCsv, NeedNoLabel) {
  for (const char* cell : {"", "NA", "nan", "?", "null", "inf"}) {
    const InputSample sample = ReadOne(std::string("a,b,y\n1,2,") + cell + "\n");
    EXPECT_EQ(sample.problem, "") << cell;
    EXPECT_EQ(sample.y, std::nullopt) << cell;
    EXPECT_THAT(sample.x, ElementsAre(1, 2)) << cell;
  }
}

TEST(SamplesInCsv, NeedNoColumnOfLabelsIfNoneIsAskedFor) {
  SampleColumns columns = kNamed;
  columns.labelled = false;
  EXPECT_THAT(ReadOne("a,b\n1,2\n", columns).y, Eq(std::nullopt));
  EXPECT_THAT(ReadOne("a,y,b\n1,3,2\n", columns).y, Optional(3));
}

TEST(SamplesInCsv, MayBeLabelsOfEarlierOnes) {
  const auto all = Read("id,a,b,y\nn,1,2,\nn,,,7\n");
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].id, "\"n\"");
  EXPECT_TRUE(all[0].named);
  EXPECT_EQ(all[0].y, std::nullopt);
  EXPECT_EQ(all[1].id, "\"n\"");
  EXPECT_THAT(all[1].x, IsEmpty());
  EXPECT_THAT(all[1].y, Optional(7));
  // Without a name it would be nobody's label, and half an input is not a label.
  EXPECT_THAT(Read("id,a,b,y\n,,,7\nn,1,,7\nn,,,\n"),
              testing::Each(testing::Field(&InputSample::problem, HasSubstr("\"\" in column"))));
}

TEST(SamplesInCsv, TellWhatIsWrongWithALineAndContinueWithTheNext) {
  const auto all = Read("a,b,y\n1,2\n1,two,3\n1,2,three\n1,2,3,4\n\n1,inf,3\n1,2,3\n");
  ASSERT_THAT(all, SizeIs(6));
  EXPECT_EQ(all[0].problem, "in.csv, line 2: 3 cells expected, 2 found");
  EXPECT_EQ(all[1].problem, "in.csv, line 3: \"two\" in column \"b\" is not a number");
  EXPECT_EQ(all[2].problem, "in.csv, line 4: \"three\" in column \"y\" is not a number");
  EXPECT_EQ(all[3].problem, "in.csv, line 5: 3 cells expected, 4 found");
  EXPECT_EQ(all[4].problem, "in.csv, line 7: \"inf\" in column \"b\" is not a number");
  EXPECT_EQ(all[5].problem, "");
  EXPECT_EQ(all[5].read.line, 8U);
}

TEST(SamplesInCsv, NeedAHeaderThatHasTheirColumns) {
  EXPECT_THAT(MessageOf([] { Read("a,b,z\n1,2,3\n"); }),
              HasSubstr("in.csv: there is no column \"y\"; did you mean \"a\""));
  EXPECT_THAT(MessageOf([] { Read("a,y\n1,2\n"); }), HasSubstr("there is no column \"b\""));
  EXPECT_THAT(MessageOf([] { Read("a,b,a,y\n1,2,3,4\n"); }),
              HasSubstr("two columns are called \"a\""));
  EXPECT_THAT(Read("a,b,y,,\n1,2,3,4,5\n"), SizeIs(1));  // columns without a name may be many
  EXPECT_THAT(Read("a,b,y\n"), IsEmpty());
  EXPECT_THAT(Read(""), IsEmpty());
}

TEST(SamplesInCsv, CallTheirLabelAndNameAsTheyAreTold) {
  SampleColumns columns = kNamed;
  columns.target = "power";
  columns.id = "when";
  const InputSample sample = ReadOne("when,id,a,b,power,y\nnoon,no,1,2,3,4\n", columns);
  EXPECT_EQ(sample.id, "\"noon\"");
  EXPECT_THAT(sample.y, Optional(3));
}

TEST(SamplesInCsv, MayNotCallThemselvesByVeryLongNames) {
  const std::string longest(SampleReader::kLongestId - 2, 'n');  // with its quotes
  EXPECT_EQ(ReadOne("id,a,b,y\n" + longest + ",1,2,3\n").id, "\"" + longest + "\"");
  EXPECT_THAT(ReadOne("id,a,b,y\n" + longest + "n,1,2,3\n").problem,
              HasSubstr("its name is longer than 256 bytes"));
}

TEST(SamplesInCsv, MayHoldNulBytesAndOtherNonsense) {
  const std::string nul(1, '\0');
  EXPECT_THAT(ReadOne("a,b,y\n1,2" + nul + ",3\n").problem, HasSubstr("is not a number"));
  const InputSample named = ReadOne("id,a,b,y\n\xff" + nul + ",1,2,3\n");
  EXPECT_EQ(named.id, "\"\xef\xbf\xbd\\u0000\"");  // JSON, whatever the bytes are
}

TEST(Samples, InLinesThatAreTooLongAreAProblemOfTheseLines) {
  const std::string endless(InputLines::kLongest + 1, '1');
  const auto all = Read("a,b,y\n" + endless + "\n1,2,3\n");
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].problem, "in.csv, line 2: longer than 4194304 bytes");
  EXPECT_EQ(all[1].problem, "");
  EXPECT_THAT(MessageOf([&] { Read(endless); }),
              HasSubstr("its first line is too long; is it CSV or JSON lines?"));
  EXPECT_THAT(ReadOne("{" + endless).problem, HasSubstr("longer than"));
}

TEST(SamplesInJson, HaveFieldsInAnyOrder) {
  const auto all =
      Read(" {\"y\": 3, \"b\": 2.5, \"other\": [\"x\"], \"a\": 1}\n{\"a\":4,\"b\":5}\n");
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].problem, "");
  EXPECT_THAT(all[0].x, ElementsAre(1, 2.5));
  EXPECT_THAT(all[0].y, Optional(3));
  EXPECT_EQ(all[0].id, "1");
  EXPECT_EQ(all[1].y, std::nullopt);
  EXPECT_EQ(ReadOne("{\"a\":1,\"b\":2,\"y\":null}").y, std::nullopt);
}

TEST(SamplesInJson, WithoutNamesAreTheListX) {
  EXPECT_THAT(ReadOne("{\"x\":[1,2],\"y\":3}", kUnnamed).x, ElementsAre(1, 2));
  EXPECT_THAT(ReadOne("{\"x\":[1,2,3],\"y\":3}", kUnnamed).problem,
              HasSubstr("3 inputs, but the federation works with 2"));
  EXPECT_THAT(ReadOne("{\"x\":5,\"y\":3}", kUnnamed).problem, HasSubstr("no list \"x\""));
  EXPECT_THAT(ReadOne("{\"y\":3}", kUnnamed).problem, HasSubstr("no list \"x\""));
  EXPECT_THAT(ReadOne("{\"x\":[1,\"2\"]}", kUnnamed).problem, HasSubstr("\"x\" is not a number"));
}

TEST(SamplesInJson, MayBeNamedByAnyValue) {
  EXPECT_EQ(ReadOne("{\"id\":\"s 1\",\"a\":1,\"b\":2}").id, "\"s 1\"");
  EXPECT_EQ(ReadOne("{\"id\":17,\"a\":1,\"b\":2}").id, "17");
  EXPECT_EQ(ReadOne("{\"id\":[1, \"two\"],\"a\":1,\"b\":2}").id, "[1,\"two\"]");
}

TEST(SamplesInJson, MayBeLabelsOfEarlierOnes) {
  const auto all = Read(
      "{\"id\":1,\"a\":1,\"b\":2}\n{\"id\":1,\"y\":9}\n{\"y\":9}\n{\"id\":1,\"a\":1,\"y\":9}\n");
  ASSERT_THAT(all, SizeIs(4));
  EXPECT_THAT(all[1].x, IsEmpty());
  EXPECT_THAT(all[1].y, Optional(9));
  EXPECT_EQ(all[1].problem, "");
  EXPECT_THAT(all[2].problem, HasSubstr("there is no \"a\""));
  EXPECT_THAT(all[3].problem, HasSubstr("there is no \"b\""));
}

TEST(SamplesInJson, TellWhatIsWrongWithALineAndContinueWithTheNext) {
  const auto all = Read(
      "{\"a\":1,\"b\":2}\n"
      "[1,2]\n"
      "{\"a\":1,\n"
      "{\"a\":\"1\",\"b\":2}\n"
      "{\"a\":1,\"b\":2,\"y\":true}\n"
      "1,2,3\n"
      "{\"a\":1,\"b\":1e999}\n"
      "{\"a\":1,\"b\":2}\n");
  ASSERT_THAT(all, SizeIs(8));
  EXPECT_EQ(all[1].problem, "in.csv, line 2: not a JSON object");
  EXPECT_EQ(all[2].problem, "in.csv, line 3: not a JSON object");
  EXPECT_EQ(all[3].problem, "in.csv, line 4: \"a\" is not a number");
  EXPECT_EQ(all[4].problem, "in.csv, line 5: \"y\" is not a number");
  EXPECT_EQ(all[5].problem, "in.csv, line 6: not a JSON object");
  EXPECT_EQ(all[6].problem, "in.csv, line 7: not a JSON object");
  EXPECT_EQ(all[7].problem, "");
}

/// Each column beside each other would be ten thousand million comparisons.
TEST(SamplesInCsv, MayHaveAHundredThousandColumns) {
  std::string names;
  std::string cells;
  for (int i = 0; i < 100'000; ++i) {
    names += "column" + std::to_string(i) + ",";
    cells += "0,";
  }
  const auto began = std::chrono::steady_clock::now();
  const InputSample sample = Read(names + "a,b,y\n" + cells + "1,2,3\n").front();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
  EXPECT_EQ(sample.x, (std::vector<double>{1, 2}));
}

TEST(SamplesInJson, MayNotNestWithoutEnd) {
  const std::string deep = "{\"a\":" + std::string(100'000, '[');
  EXPECT_THAT(ReadOne(deep).problem, HasSubstr("lists are nested too deeply"));
}

TEST(Samples, AreReadAgainFromTheBeginningAfterALookAtIt) {
  const std::string text = "a,b,y\n1,2,3\n4,5,6\n";
  const InputPosition first = Read(text).front().read;
  EXPECT_EQ(first.line, 2U);
  EXPECT_EQ(first.bytes, 12U);
  std::istringstream input(text);
  SampleReader reader(input, "in.csv", kNamed);
  EXPECT_TRUE(reader.BeginsWith(first));
  InputSample sample;
  ASSERT_TRUE(reader.Next(sample));
  EXPECT_EQ(sample.read.line, 2U);
  EXPECT_EQ(sample.read.sum, first.sum);
}

TEST(AgreedColumns, AreWhatTheServerTellsUnlessTheUserKnowsBetter) {
  struct Column {
    std::string name;
  };
  struct SampleTexts {
    std::string name;
    std::vector<std::string> texts;
  };
  struct {
    std::vector<Column> columns = {};
    Column target = {};
    std::vector<std::size_t> lags = {};
    std::vector<std::string> calendar = {};
    std::string time = {};
    std::vector<SampleTexts> texts = {};
    struct {
      std::size_t ahead = 1;
    } problem = {};
    std::size_t own_inputs() const { return 2; }
    std::vector<std::string> own_columns() const {
      std::vector<std::string> names;
      for (const Column& column : columns) names.push_back(column.name);
      names.resize(std::min<std::size_t>(names.size(), 2));
      return names;
    }
    std::vector<SampleTexts> text_columns() const { return texts; }
    bool imputes() const { return true; }
  } told;
  EXPECT_EQ(AgreedColumns(told, "", "id").dimension, 2U);
  EXPECT_THAT(AgreedColumns(told, "", "id").inputs, IsEmpty());
  EXPECT_EQ(AgreedColumns(told, "", "id").target, "y");
  told.columns = {{"a"}, {"b"}};
  told.target.name = "power";
  EXPECT_THAT(AgreedColumns(told, "", "id").inputs, ElementsAre("a", "b"));
  EXPECT_EQ(AgreedColumns(told, "", "id").target, "power");
  EXPECT_EQ(AgreedColumns(told, "mine", "when").target, "mine");
  EXPECT_EQ(AgreedColumns(told, "mine", "when").id, "when");
  told.columns = {{"a"}, {"b"}, {"power.lag1"}, {"hour.sin"}, {"hour.cos"}};
  told.lags = {1};
  told.calendar = {"hour"};
  told.time = "t";
  const SampleColumns columns = AgreedColumns(told, "", "id");
  EXPECT_THAT(columns.inputs, ElementsAre("a", "b"));
  EXPECT_EQ(columns.time, "t");
  EXPECT_EQ(columns.derived.size(), 3U);
  EXPECT_TRUE(columns.texts.empty());
  EXPECT_TRUE(columns.impute);
  told.texts = {{"b", {"N", "S"}}};
  EXPECT_THAT(AgreedColumns(told, "", "id").texts.at("b"), ElementsAre("N", "S"));
}

/// A number that may be missing, one of two texts, and any text.
const SampleColumns kMixed = {.inputs = {"a", "wd", "who"},
                              .dimension = 3,
                              .texts = {{"wd", {"N", "S"}}, {"who", {}}},
                              .impute = true};

std::vector<InputSample> Mixed(const std::string& text) {
  std::istringstream input(text);
  SampleReader reader(input, "in.csv", kMixed);
  std::vector<InputSample> all;
  InputSample sample;
  while (reader.Next(sample)) all.push_back(sample);
  return all;
}

TEST(SampleReader, ReadsTextsAsPlacesAndGapsAsNoNumber) {
  const auto place = static_cast<double>(HashedPlace("ann"));
  for (const std::string& text :
       {std::string("a,wd,who,y\n1,S,ann,2\nNA,,,3\n,X,ann,4\nx,N,ann,5\n"),
        std::string("{\"a\":1,\"wd\":\"S\",\"who\":\"ann\",\"y\":2}\n{\"wd\":null,\"y\":3}\n"
                    "{\"wd\":\"X\",\"who\":\"ann\",\"y\":4}\n"
                    "{\"a\":\"x\",\"wd\":\"N\",\"who\":\"ann\",\"y\":5}\n")}) {
    const auto all = Mixed(text);
    ASSERT_EQ(all.size(), 4U);
    EXPECT_THAT(all[0].x, ElementsAre(1, 1, place));
    ASSERT_EQ(all[1].x.size(), 3U);
    for (const double value : all[1].x) EXPECT_TRUE(std::isnan(value));
    EXPECT_THAT(all[2].problem,
                HasSubstr("\"X\" in column \"wd\" is not one of the federation's texts"));
    EXPECT_THAT(all[3].problem, HasSubstr("is not a number"));
  }
}

}  // namespace
}  // namespace polykern
