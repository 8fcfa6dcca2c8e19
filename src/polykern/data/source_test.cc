#include "polykern/data/source.h"

#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/error.h"
#include "polykern/data/source_testing.h"
#include "polykern/data/synthetic.h"
#include "polykern/data/table_stream.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Source, IsTheSyntheticFleetByDefault) {
  SourceOptions options;
  options.clients = 8;
  const Source source = OpenSource(options);
  EXPECT_EQ(source.name, "synthetic");
  EXPECT_EQ(source.stream->clients(), 8U);
  EXPECT_EQ(source.stream->steps(), 500U);
}

TEST(Source, TakesABareWordForARecipeAndAPathForAFile) {
  EXPECT_THAT(MessageOf([] { OpenSource(FilesOptions({"navel"})); }), HasSubstr("naval"));
  EXPECT_THAT(MessageOf([] { OpenSource(FilesOptions({"./navel"})); }), HasSubstr("no such file"));
}

TEST(Source, MakesAClientOfAColumnOfASiteOrOfAllRows) {
  const TestFolder folder;
  std::string text = "a,y,who,where\n";
  for (int i = 0; i < 40; ++i) {
    text += std::to_string(i % 7) + "," + std::to_string(i % 5) + ",u" + std::to_string(i % 3) +
            "," + (i % 2 == 0 ? "north" : "south") + "\n";
  }
  SourceOptions options = FilesOptions({folder.Write("data.csv", text)});
  const auto shape = [&] {
    const Source source = OpenSource(options);
    return std::pair(source.stream->clients(), source.stream->steps());
  };
  EXPECT_EQ(OpenSource(options).split, "order");
  EXPECT_EQ(shape(), std::pair(1UL, 40UL));
  EXPECT_EQ(OpenSource(options).order, "all rows are one client's, in the order of the file");
  options.clients = 3;
  EXPECT_EQ(shape(), std::pair(3UL, 14UL));
  options.clients = {};
  options.site = "where";
  EXPECT_EQ(shape(), std::pair(2UL, 20UL));
  EXPECT_EQ(OpenSource(options).order,
            "a client for each value of \"where\", in the order of the file");
  options.split = Split::kSite;
  EXPECT_EQ(OpenSource(options).order, "most of a client's rows from its own site, shuffled");
  options.split = Split::kColumn;  // the site column names the clients
  EXPECT_EQ(OpenSource(options).stream->clients(), 2U);
  options.split = {};
  options.client = "who";
  const Source by_client = OpenSource(options);
  EXPECT_EQ(by_client.split, "column");
  EXPECT_EQ(by_client.stream->clients(), 3U);
  EXPECT_EQ(by_client.stream->steps(), 14U);
}

TEST(Source, RefusesZeroClientsAndSteps) {
  SourceOptions options;
  options.clients = 0;
  EXPECT_THAT(MessageOf([&] { OpenSource(options); }), HasSubstr("clients is 0"));
  options.clients = 3;
  options.steps = 0;
  EXPECT_THAT(MessageOf([&] { OpenSource(options); }), HasSubstr("steps is 0"));
}

TEST(Source, ParsesNamesAndRefusesOthers) {
  EXPECT_EQ(ParseSplit("column"), Split::kColumn);
  EXPECT_EQ(ParseScaling("range"), Scaling::kRange);
  EXPECT_THAT(MessageOf([] { ParseSplit("x"); }), HasSubstr("iid, runs, site, column"));
  EXPECT_THAT(MessageOf([] { ParseScaling("x"); }), HasSubstr("norm, range"));
}

TEST(Source, RefusesWhatHasNoEffectWithTheSyntheticFleet) {
  using Give = void (*)(SourceOptions&);
  const std::vector<std::pair<std::string, Give>> options = {
      {"target", [](SourceOptions& o) { o.target = "y"; }},
      {"site", [](SourceOptions& o) { o.site = "y"; }},
      {"client", [](SourceOptions& o) { o.client = "y"; }},
      {"inputs", [](SourceOptions& o) { o.features = {"y"}; }},
      {"exclude", [](SourceOptions& o) { o.exclude = {"y"}; }},
      {"categorical", [](SourceOptions& o) { o.categorical = {"y"}; }},
      {"categories", [](SourceOptions& o) { o.categories = Categories::kCode; }},
      {"delimiter", [](SourceOptions& o) { o.delimiter = ';'; }},
      {"decimal", [](SourceOptions& o) { o.decimal = ','; }},
      {"missing", [](SourceOptions& o) { o.missing = MissingPolicy::kImpute; }},
      {"header", [](SourceOptions& o) { o.header = HeaderLine::kNo; }},
      {"split", [](SourceOptions& o) { o.split = Split::kIid; }},
      {"scaling", [](SourceOptions& o) { o.scaling = Scaling::kNorm; }},
      {"range", [](SourceOptions& o) {
         o.ranges = {{"y", {0, 1}}};
       }}};
  for (const auto& [name, give] : options) {
    SourceOptions given;
    give(given);
    EXPECT_EQ(MessageOf([&] { OpenSource(given); }),
              name + " has no effect with data=synthetic; leave it out");
  }
}

TEST(Source, RefusesTheFleetsOptionsWithFilesAndRecipes) {
  using Give = void (*)(SourceOptions&);
  const std::vector<std::pair<std::string, Give>> options = {
      {"dimension", [](SourceOptions& o) { o.dimension = 3; }},
      {"noise", [](SourceOptions& o) { o.noise = 0; }},
      {"drift", [](SourceOptions& o) { o.drift = 0; }}};
  for (const auto& [name, give] : options) {
    for (const char* data : {"naval", "./some.csv"}) {
      SourceOptions given;
      given.data = {data};
      give(given);
      EXPECT_EQ(MessageOf([&] { OpenSource(given); }),
                name + " has no effect with data=" + data + "; leave it out");
    }
  }
  EXPECT_EQ(MessageOf([] { OpenSource(FilesOptions({"naval"})); }),
            "target has no effect with data=naval; leave it out");
}

TEST(Source, PassesEveryOptionOnToTheFleet) {
  SourceOptions options;
  options.clients = 3;
  options.steps = 4;
  options.dimension = 5;
  options.noise = 0.25;
  options.drift = 0.5;
  options.seed = 6;
  const Source source = OpenSource(options);
  const SyntheticFleet fleet(
      {.clients = 3, .steps = 4, .dimension = 5, .noise = 0.25, .drift = 0.5, .seed = 6});
  SampleBlock ours;
  SampleBlock theirs;
  source.stream->Read(3, 0, 3, ours);
  fleet.Read(3, 0, 3, theirs);
  EXPECT_EQ(source.stream->steps(), 4U);
  EXPECT_EQ(ours.x, theirs.x);
  EXPECT_EQ(ours.y, theirs.y);
  EXPECT_EQ(source.scaling, "none");
  EXPECT_EQ(source.rows, 0U);
}

TEST(Source, SaysWhatItReadAndWhatItLeftOut) {
  const TestFolder folder;
  const std::string path =
      folder.Write("plant.csv", "a,note,y\n1,x,2\nNA,x,3\n3,x,5\n9,x,4\n2,x,1\n");
  SourceOptions options = FilesOptions({path});
  options.scaling = Scaling::kRange;
  options.ranges = {{"a", {0, 3}}, {"y", {2, 9}}};
  options.split = Split::kRuns;
  options.clients = 2;
  const Source source = OpenSource(options);
  EXPECT_EQ(source.name, "plant");
  EXPECT_THAT(source.files, ElementsAre(path));
  EXPECT_EQ(source.target, "y");
  EXPECT_THAT(source.inputs, ElementsAre("a"));
  EXPECT_THAT(source.unused_columns, ElementsAre("note"));
  EXPECT_EQ(source.scaling, "range");
  EXPECT_EQ(source.split, "runs");
  EXPECT_EQ(source.rows, 4U);
  EXPECT_EQ(source.dropped_rows, 1U);
  EXPECT_EQ(source.clipped_values, 2U);  // a = 9 and y = 1
  EXPECT_EQ(source.stream->clients(), 2U);
  EXPECT_EQ(source.stream->steps(), 2U);
}

TEST(Source, RefusesMissingCellsAndHeadersAsItIsTold) {
  const TestFolder folder;
  SourceOptions options = FilesOptions({folder.Write("some.csv", "a,y\n1,2\n3,NA\n4,5\n")});
  EXPECT_EQ(OpenSource(options).rows, 2U);
  options.missing = MissingPolicy::kError;
  EXPECT_THAT(MessageOf([&] { OpenSource(options); }), HasSubstr("line 3, column \"y\""));
  options.missing = MissingPolicy::kDrop;
  options.header = HeaderLine::kNo;
  EXPECT_THAT(MessageOf([&] { OpenSource(options); }), HasSubstr("there is no column \"y\""));
}

TEST(Source, RefusesAnInputThatIsAlsoExcluded) {
  const TestFolder folder;
  SourceOptions options = FilesOptions({folder.Write("some.csv", "a,y\n1,2\n3,4\n")});
  options.features = {"a"};
  options.exclude = {"b", "a"};
  EXPECT_EQ(MessageOf([&] { OpenSource(options); }),
            "column \"a\" is named by inputs and by exclude; choose one");
}

TEST(Source, UsesTheSeedAndTheShareOfTheOwnSite) {
  const TestFolder folder;
  std::string text = "a,y,s\n";
  for (int i = 0; i < 60; ++i) {
    text += std::to_string(i) + "," + std::to_string(i % 9) + (i < 30 ? ",N\n" : ",S\n");
  }
  SourceOptions options = FilesOptions({folder.Write("sites.csv", text)});
  options.site = "s";
  options.split = Split::kSite;
  options.clients = 2;
  options.steps = 20;
  const auto first_client = [&](std::uint64_t seed, double share) {
    options.seed = seed;
    options.major_share = share;
    const Source source = OpenSource(options);
    const auto& stream = dynamic_cast<const TableStream&>(*source.stream);
    std::vector<std::uint32_t> rows;
    for (std::size_t step = 0; step < 20; ++step) rows.push_back(stream.RowOf(step, 0));
    return rows;
  };
  EXPECT_EQ(first_client(1, 0.5), first_client(1, 0.5));
  EXPECT_NE(first_client(1, 0.5), first_client(2, 0.5));
  for (const std::uint32_t row : first_client(1, 1)) EXPECT_LT(row, 30U);
}

TEST(Source, TakesSeveralNamesForFilesAndNothingForAMistake) {
  EXPECT_EQ(MessageOf([] {
              OpenSource(FilesOptions({"naval", "uji"}));
            }),
            "naval: there is no such file; check the path");
  EXPECT_EQ(MessageOf([] { OpenSource(FilesOptions({})); }),
            "data names nothing; give synthetic, a recipe or files");
  SourceOptions recipe;
  recipe.data = {"naval"};
  recipe.data_dir = "not here";
  EXPECT_THAT(MessageOf([&] { OpenSource(recipe); }),
              HasSubstr("get it with: polykern data get naval --data-dir 'not here'"));
}

/// The inputs of a client's sample.
std::vector<float> Inputs(const Source& source, std::size_t step, std::size_t client = 0) {
  SampleBlock block;
  source.stream->Read(step, client, 1, block);
  return block.x;
}

TEST(Source, ImputesInputsByTheMeanOfTheClientsRowsSoFar) {
  const TestFolder folder;
  SourceOptions options = FilesOptions({folder.Write(
      "some.csv",
      "t,who,a,b,y\n4,v,NA,1,1\n1,u,NA,1,0\n2,u,0,1,NA\n3,u,1,2,1\n6,u,NA,1,1\n5,u,3,1,0\n")});
  options.client = "who";
  options.time = {"t"};
  options.missing = MissingPolicy::kImpute;
  options.scaling = Scaling::kRange;  // a: 1 to 3 becomes -1 to 1
  const Source source = OpenSource(options);
  EXPECT_EQ(source.rows, 5U);
  EXPECT_EQ(source.dropped_rows, 1U);  // its label is missing
  EXPECT_THAT(source.inputs, ElementsAre("a", "b", "a.missing"));
  EXPECT_EQ(source.clipped_values, 0U);
  const std::size_t u = 1;  // v came first
  std::vector<std::vector<float>> seen;
  for (std::size_t step = 0; step < source.stream->steps(); ++step) {
    SampleBlock block;
    source.stream->Read(step, u, 1, block);
    if (block.present[0] != 0) seen.push_back(block.x);
  }
  EXPECT_THAT(seen, ElementsAre(ElementsAre(0, -1, 1), ElementsAre(-1, 1, 0), ElementsAre(1, -1, 0),
                                ElementsAre(0, -1, 1)));
}

TEST(Source, ImputesByFileWhereRowsAreShuffled) {
  const TestFolder folder;
  SourceOptions options = FilesOptions(
      {folder.Write("one.csv", "a,y\n1,1\nNA,2\n"), folder.Write("two.csv", "a,y\nNA,1\n2,2\n")});
  options.split = Split::kIid;
  options.clients = 1;
  options.missing = MissingPolicy::kImpute;
  const Source source = OpenSource(options);
  const auto& rows = dynamic_cast<const TableStream&>(*source.stream).data();
  const float unit = rows.x[0];  // 1 in the common scale
  EXPECT_EQ(rows.x[2], unit);
  EXPECT_EQ(rows.x[4], 0);
}

TEST(Source, MakesAnInputOfEveryText) {
  const TestFolder folder;
  SourceOptions options = FilesOptions({folder.Write("some.csv", "wd,y\nN,1\nS,2\nN,3\n")});
  options.categorical = {"wd"};
  options.scaling = Scaling::kRange;
  const Source marks = OpenSource(options);
  EXPECT_THAT(marks.inputs, ElementsAre("wd=N", "wd=S"));
  EXPECT_THAT(Inputs(marks, 0), ElementsAre(1, 0));
  EXPECT_THAT(Inputs(marks, 1), ElementsAre(0, 1));
  options.categories = Categories::kCode;
  const Source codes = OpenSource(options);
  EXPECT_THAT(codes.inputs, ElementsAre("wd"));
  EXPECT_THAT(Inputs(codes, 1), ElementsAre(1));
}

TEST(Source, ReadsDecimalCommasAndNoticesThem) {
  const TestFolder folder;
  SourceOptions options = FilesOptions({folder.Write("some.csv", "a;b;y\n1,5;1;2\n2,5;2;3\n")});
  const Source without = OpenSource(options);
  EXPECT_THAT(without.inputs, ElementsAre("b"));
  ASSERT_EQ(without.notices.size(), 1U);
  EXPECT_THAT(Error(without.notices[0]).what(),
              HasSubstr("some.csv, line 2, column \"a\": \"1,5\" has a decimal comma"));
  options.decimal = ',';
  const Source with = OpenSource(options);
  EXPECT_THAT(with.inputs, ElementsAre("a", "b"));
  EXPECT_TRUE(with.notices.empty());
}

TEST(Source, NoticesWhatAPersonWouldWantToKnow) {
  const TestFolder folder;
  std::string text = "id,who,one,a,y\n";
  for (int i = 0; i < 12; ++i) {
    text += std::to_string(i) + ",w" + std::to_string(i) + ",1," + (i == 7 ? "1e300" : "2") + "," +
            std::to_string(i) + "\n";
  }
  SourceOptions options = FilesOptions({folder.Write("some.csv", text)});
  options.client = "who";
  options.scaling = Scaling::kRange;
  EXPECT_THAT(OpenSource(options).notices,
              ElementsAre(HasSubstr("line 9, column \"a\""), HasSubstr("numbers the rows"),
                          HasSubstr("column \"one\""), HasSubstr("\"who\" has a different value")));
  options.scaling = Scaling::kNorm;  // it cannot be, and the error says where to look
  EXPECT_THAT(MessageOf([&] { OpenSource(options); }), HasSubstr("line 9, column \"a\""));
}

TEST(Source, ParsesTheFormOfFiles) {
  EXPECT_EQ(ParseDelimiter("tab"), '\t');
  EXPECT_EQ(ParseDelimiter("semicolon"), ';');
  EXPECT_EQ(ParseDelimiter("comma"), ',');
  EXPECT_EQ(ParseDelimiter("blank"), ' ');
  EXPECT_EQ(ParseDelimiter("|"), '|');
  EXPECT_EQ(ParseDecimal(","), ',');
  EXPECT_EQ(ParseDecimal("point"), '.');
  EXPECT_EQ(ParseMissing("impute"), MissingPolicy::kImpute);
  EXPECT_THAT(MessageOf([] { ParseDelimiter("pipe"); }), HasSubstr("unknown delimiter 'pipe'"));
  EXPECT_THAT(MessageOf([] { ParseDelimiter(""); }), HasSubstr("unknown delimiter ''"));
  EXPECT_THAT(MessageOf([] { ParseDecimal(";"); }), HasSubstr("there are: point, comma"));
  EXPECT_THAT(MessageOf([] { ParseMissing("zero"); }), HasSubstr("drop, error, impute"));
}

}  // namespace
}  // namespace polykern
