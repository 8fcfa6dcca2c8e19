#include "polykern/data/dataset.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <gmock/gmock.h>

#include "polykern/core/error.h"
#include "polykern/core/random.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kStations =
    "time,station,user,wd,temp,no2\n"
    "1,north,u7,N,10,3\n"
    "2,south,u3,S,NA,4\n"
    "3,south,u3,S,20,5\n"
    "4,north,u7,W,30,7\n";

class DatasetTest : public testing::Test {
 protected:
  Dataset Load(const DatasetOptions& options) {
    return LoadDataset({folder.Write("stations.csv", kStations)}, options);
  }
  std::string Complaint(const DatasetOptions& options) {
    return MessageOf([&] { Load(options); });
  }

  TestFolder folder;
  const ScalingOptions raw = {.kind = Scaling::kNone};
};

TEST_F(DatasetTest, TakesEveryOtherColumnOfNumbersAsInput) {
  const Dataset data = Load({.target = "no2", .scaling = raw});
  EXPECT_EQ(data.name, "stations");
  EXPECT_EQ(data.dimension, 2U);
  EXPECT_THAT(data.feature_names, ElementsAre("time", "temp"));
  EXPECT_THAT(data.x, ElementsAre(1, 10, 3, 20, 4, 30));
  EXPECT_THAT(data.y, ElementsAre(3, 5, 7));
  EXPECT_THAT(data.site_names, ElementsAre("all"));
  EXPECT_THAT(data.site, ElementsAre(0, 0, 0));
  EXPECT_THAT(data.client, IsEmpty());
  EXPECT_THAT(data.unused_columns, ElementsAre("station", "user", "wd"));
  EXPECT_EQ(data.dropped_rows, 1U);
}

TEST_F(DatasetTest, TakesTheNamedInputsInTheirOrder) {
  const Dataset data =
      Load({.target = "no2", .features = {"wd", "time"}, .categorical = {"wd"}, .scaling = raw});
  EXPECT_THAT(data.feature_names, ElementsAre("wd", "time"));
  EXPECT_THAT(data.x, ElementsAre(0, 1, 1, 2, 1, 3, 2, 4));
}

TEST_F(DatasetTest, AddsCategoricalColumnsToTheDefaultInputs) {
  const Dataset data =
      Load({.target = "no2", .exclude = {"time"}, .categorical = {"wd"}, .scaling = raw});
  EXPECT_THAT(data.feature_names, ElementsAre("wd", "temp"));
}

TEST_F(DatasetTest, ReadsSitesAndClientsFromColumns) {
  const Dataset data = Load({.target = "no2", .site = "station", .client = "user"});
  EXPECT_THAT(data.site_names, ElementsAre("north", "south"));
  EXPECT_THAT(data.site, ElementsAre(0, 1, 0));
  EXPECT_THAT(data.client_names, ElementsAre("u7", "u3"));
  EXPECT_THAT(data.client, ElementsAre(0, 1, 0));
  EXPECT_THAT(data.feature_names, ElementsAre("time", "temp"));
}

TEST_F(DatasetTest, AcceptsNumbersAsSites) {
  const Dataset data = Load({.target = "no2", .site = "time"});
  EXPECT_THAT(data.site_names, ElementsAre("1", "3", "4"));
  EXPECT_THAT(data.feature_names, ElementsAre("temp"));
}

TEST_F(DatasetTest, TakesEveryFileAsASite) {
  const std::string one = folder.Write("perth.csv", "a,t\n1,2\n3,4\n");
  const std::string two = folder.Write("sydney.csv", "a,t\n5,6\n");
  DatasetOptions options = {.target = "t"};
  const Dataset data = LoadDataset({one, two}, options);
  EXPECT_THAT(data.site_names, ElementsAre("perth", "sydney"));
  EXPECT_THAT(data.site, ElementsAre(0, 0, 1));
  options.site_per_file = false;
  EXPECT_THAT(LoadDataset({one, two}, options).site_names, ElementsAre("all"));
}

TEST_F(DatasetTest, TellsFilesOfOneNameApartByTheirFolders) {
  const std::string one = folder.Write("perth/data.csv", "a,t\n1,2\n3,4\n");
  const std::string two = folder.Write("sydney/data.csv", "a,t\n5,6\n");
  EXPECT_THAT(LoadDataset({one, two}, {.target = "t"}).site_names, ElementsAre(one, two));
}

TEST_F(DatasetTest, ScalesByAllRows) {
  const Dataset data = Load({.target = "no2", .scaling = {.kind = Scaling::kRange}});
  EXPECT_THAT(data.y, ElementsAre(0, 0.5, 1));
  EXPECT_THAT(data.x, ElementsAre(-1, -1, testing::FloatEq(1.0F / 3), 0, 1, 1));
  EXPECT_EQ(data.scale.UnscaleLabel(0.5), 5);
  EXPECT_EQ(data.clipped_inputs, 0U);
}

TEST_F(DatasetTest, CountsWhatADeclaredRangeClips) {
  const Dataset data =
      Load({.target = "no2",
            .scaling = {.kind = Scaling::kRange, .ranges = {{"temp", {15, 25}}, {"no2", {0, 5}}}}});
  EXPECT_EQ(data.clipped_inputs, 2U);
  EXPECT_EQ(data.clipped_labels, 1U);
  EXPECT_THAT(data.y, ElementsAre(0.6, 1, 1));
}

TEST_F(DatasetTest, NeedsATargetAndListsTheColumns) {
  EXPECT_THAT(Complaint({}),
              EndsWith("no target is given; as the column to predict, choose one of \"time\", "
                       "\"station\", \"user\", \"wd\", \"temp\", \"no2\""));
}

TEST_F(DatasetTest, OffersNamesNearAnUnknownTarget) {
  EXPECT_THAT(Complaint({.target = "NO"}), EndsWith("did you mean \"no2\"?"));
}

TEST_F(DatasetTest, RefusesATargetOfTexts) {
  EXPECT_THAT(Complaint({.target = "wd"}),
              HasSubstr("line 2, column \"wd\": \"N\" is not a number"));
}

TEST_F(DatasetTest, RefusesAColumnWithTwoMeanings) {
  EXPECT_THAT(Complaint({.target = "no2", .features = {"temp", "no2"}}),
              HasSubstr("\"no2\" is both the target and an input"));
  EXPECT_THAT(Complaint({.target = "no2", .site = "no2"}),
              HasSubstr("\"no2\" is both the target and the site"));
  EXPECT_THAT(Complaint({.target = "no2", .site = "temp", .features = {"temp"}}),
              HasSubstr("\"temp\" is both an input and the site"));
  EXPECT_THAT(Complaint({.target = "no2", .features = {"temp", "temp"}}),
              HasSubstr("\"temp\" is an input twice"));
}

TEST_F(DatasetTest, NeedsAnInput) {
  EXPECT_THAT(Complaint({.target = "no2", .exclude = {"time", "temp"}}),
              HasSubstr("no input column is left beside the target \"no2\""));
}

TEST_F(DatasetTest, SaysThatAllInputsHaveDecimalCommas) {
  const std::string european = folder.Write("wind.csv", "speed;power\n1,5;2\n2,5;3\n");
  EXPECT_THAT(MessageOf([&] { LoadDataset({european}, {.target = "power"}); }),
              HasSubstr("wind.csv, line 2, column \"speed\": \"1,5\" has a decimal comma"));
}

TEST_F(DatasetTest, NeedsANameForEveryFile) {
  const std::string one = folder.Write("perth.csv", "a,t\n1,2\n3,4\n");
  EXPECT_THAT(MessageOf([&] {
                LoadDataset({one, one}, {.target = "t", .site_names = {"perth"}});
              }),
              HasSubstr("1 site names for 2 files"));
}

/// A table of three columns, x, t and w, made by hand.
Table HandMade(std::vector<double> values) {
  Table table;
  table.columns = {"x", "t", "w"};
  table.values = std::move(values);
  table.labels.resize(3);
  table.line.resize(table.values.size() / 3);
  table.file.resize(table.values.size() / 3);
  return table;
}

TEST_F(DatasetTest, IsMadeFromATableThatCameFromNowhere) {
  const Dataset data =
      MakeDataset(HandMade({1, 5, 2, 3, 6, 4}), {.name = "hand", .target = "t", .scaling = raw});
  EXPECT_EQ(data.name, "hand");
  EXPECT_THAT(data.feature_names, ElementsAre("x", "w"));
  EXPECT_THAT(data.x, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(data.y, ElementsAre(5, 6));
  EXPECT_THAT(data.site_names, ElementsAre("all"));
  EXPECT_EQ(MessageOf([] {
              MakeDataset(HandMade({1, 5, 2, 3, 5, 4}), {.target = "t"});
            }),
            "the target \"t\" is 5 in every row, so there is nothing to learn; choose another "
            "target");
}

TEST_F(DatasetTest, ScalesAsOneWouldByHand) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Random random(seed, Purpose::kTest);
    std::vector<double> values(3 * (2 + random.Below(20)));
    for (double& value : values) value = 50 * random.Normal();
    const std::size_t rows = values.size() / 3;
    double norm = 0;
    std::array<double, 3> low = {values[0], values[1], values[2]};
    std::array<double, 3> high = low;
    for (std::size_t r = 0; r < rows; ++r) {
      norm = std::max(norm, std::hypot(values[3 * r], values[3 * r + 2]));
      for (std::size_t c = 0; c < 3; ++c) {
        low.at(c) = std::min(low.at(c), values[3 * r + c]);
        high.at(c) = std::max(high.at(c), values[3 * r + c]);
      }
    }
    const Dataset by_norm = MakeDataset(HandMade(values), {.target = "t"});
    const Dataset by_range =
        MakeDataset(HandMade(values), {.target = "t", .scaling = {.kind = Scaling::kRange}});
    for (std::size_t r = 0; r < rows; ++r) {
      const double y = (values[3 * r + 1] - low[1]) / (high[1] - low[1]);
      EXPECT_EQ(by_norm.y[r], y);
      EXPECT_EQ(by_range.y[r], y);
      for (const std::size_t input : {0U, 1U}) {
        const std::size_t c = 2 * input;
        const double value = values[3 * r + c];
        EXPECT_NEAR(by_norm.Row(r)[input], value / norm, 1e-7);  // a float's rounding below 1
        EXPECT_NEAR(by_range.Row(r)[input], 2 * (value - low.at(c)) / (high.at(c) - low.at(c)) - 1,
                    1e-7);
      }
    }
  }
}

TEST_F(DatasetTest, ReadsTheNamedInputsWhateverIsExcluded) {
  const Dataset data =
      Load({.target = "no2", .features = {"temp"}, .exclude = {"time"}, .scaling = raw});
  EXPECT_THAT(data.feature_names, ElementsAre("temp"));
  EXPECT_THAT(data.unused_columns, ElementsAre("time", "station", "user", "wd"));
  EXPECT_EQ(data.dropped_rows, 1U);
}

TEST_F(DatasetTest, DropsARowWhoseSiteIsMissing) {
  const std::string path = folder.Write("s.csv", "a,t,s\n1,2,N\n3,4,NA\n5,6,S\n");
  const Dataset data = LoadDataset({path}, {.target = "t", .site = "s"});
  EXPECT_EQ(data.dropped_rows, 1U);
  EXPECT_THAT(data.site_names, ElementsAre("N", "S"));
}

TEST_F(DatasetTest, TakesOneColumnForSitesAndClients) {
  const Dataset data = Load({.target = "no2", .site = "user", .client = "user"});
  EXPECT_EQ(data.site, data.client);
  EXPECT_EQ(data.site_names, data.client_names);
}

TEST_F(DatasetTest, CallsItsSitesAsItIsTold) {
  const std::string one = folder.Write("a.csv", "a,t\n1,2\n");
  const std::string two = folder.Write("b.csv", "a,t\n5,6\n");
  EXPECT_THAT(
      LoadDataset({one, two}, {.target = "t", .site_names = {"Perth", "Sydney"}}).site_names,
      ElementsAre("Perth", "Sydney"));
}

TEST_F(DatasetTest, SaysOfTheClientColumnWhatItSaysOfTheSite) {
  EXPECT_EQ(Complaint({.target = "no2", .client = "no2"}),
            "column \"no2\" is both the target and the client; choose another client");
  EXPECT_EQ(Complaint({.target = "no2", .client = "temp", .features = {"temp"}}),
            "column \"temp\" is both an input and the client; remove it from the inputs");
  EXPECT_EQ(Complaint({.target = "wd", .categorical = {"wd"}}),
            "column \"wd\" is both the target and an input; remove it from the inputs");
}

TEST_F(DatasetTest, NamesTheFileOfAScaleThatCannotBeFound) {
  const std::string path = folder.Write("flat.csv", "a,t\n1,2\n3,2\n");
  EXPECT_EQ(MessageOf([&] { LoadDataset({path}, {.target = "t"}); }),
            path +
                ": the target \"t\" is 2 in every row, so there is nothing to learn; choose "
                "another target");
  EXPECT_EQ(MessageOf([] { LoadDataset({}, {.target = "t"}); }),
            "no file is given; name at least one CSV file");
  EXPECT_EQ(MessageOf([] { MakeDataset({}, {}); }),
            "no target is given; name the column to predict");
}

}  // namespace
}  // namespace polykern
