#include "polykern/data/source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/error.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

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

}  // namespace
}  // namespace polykern
