#include "polykern/data/source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/error.h"
#include "polykern/data/synthetic.h"
#include "polykern/data/table_stream.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

SourceOptions Options(std::vector<std::string> data) {
  SourceOptions options;
  options.data = std::move(data);
  options.target = "y";
  return options;
}

TEST(Source, IsTheSyntheticFleetByDefault) {
  SourceOptions options;
  options.clients = 8;
  const Source source = OpenSource(options);
  EXPECT_EQ(source.name, "synthetic");
  EXPECT_EQ(source.stream->clients(), 8U);
  EXPECT_EQ(source.stream->steps(), 500U);
}

TEST(Source, TakesABareWordForARecipeAndAPathForAFile) {
  EXPECT_THAT(MessageOf([] { OpenSource(Options({"navel"})); }), HasSubstr("naval"));
  EXPECT_THAT(MessageOf([] { OpenSource(Options({"./navel"})); }), HasSubstr("no such file"));
}

TEST(Source, DealsByColumnBySiteOrAtRandomByWhatTheDataOffer) {
  const TestFolder folder;
  std::string text = "a,y,who,where\n";
  for (int i = 0; i < 40; ++i) {
    text += std::to_string(i % 7) + "," + std::to_string(i % 5) + ",u" + std::to_string(i % 3) +
            "," + (i % 2 == 0 ? "north" : "south") + "\n";
  }
  SourceOptions options = Options({folder.Write("data.csv", text)});
  EXPECT_EQ(OpenSource(options).split, "iid");
  options.site = "where";
  EXPECT_EQ(OpenSource(options).split, "site");
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
  EXPECT_EQ(MessageOf([] { OpenSource(Options({"naval"})); }),
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
  SourceOptions options = Options({path});
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
  SourceOptions options = Options({folder.Write("some.csv", "a,y\n1,2\n3,NA\n4,5\n")});
  EXPECT_EQ(OpenSource(options).rows, 2U);
  options.missing = MissingPolicy::kError;
  EXPECT_THAT(MessageOf([&] { OpenSource(options); }), HasSubstr("line 3, column \"y\""));
  options.missing = MissingPolicy::kDrop;
  options.header = HeaderLine::kNo;
  EXPECT_THAT(MessageOf([&] { OpenSource(options); }), HasSubstr("there is no column \"y\""));
}

TEST(Source, RefusesAnInputThatIsAlsoExcluded) {
  const TestFolder folder;
  SourceOptions options = Options({folder.Write("some.csv", "a,y\n1,2\n3,4\n")});
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
  SourceOptions options = Options({folder.Write("sites.csv", text)});
  options.site = "s";
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
              OpenSource(Options({"naval", "uji"}));
            }),
            "naval: there is no such file; check the path");
  EXPECT_EQ(MessageOf([] { OpenSource(Options({})); }),
            "data names nothing; give synthetic, a recipe or files");
  SourceOptions recipe;
  recipe.data = {"naval"};
  recipe.data_dir = "not here";
  EXPECT_THAT(MessageOf([&] { OpenSource(recipe); }),
              HasSubstr("get it with: polykern data get naval --data-dir 'not here'"));
}

}  // namespace
}  // namespace polykern
