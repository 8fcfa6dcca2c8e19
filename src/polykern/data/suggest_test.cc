#include "polykern/data/suggest.h"

#include <cmath>
#include <numbers>

#include <gmock/gmock.h>

#include "polykern/data/time_text.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Labels of an hour: with a day in them, or without anything that lasts.
using LabelOf = double (*)(int hour);
double Daily(int hour) {
  return std::sin(2 * std::numbers::pi * hour / 24) + 0.1 * (hour * 7919 % 31) / 31;
}
double Restless(int hour) {
  return static_cast<double>((hour * 7919 + hour * hour * 31) % 97);
}

class SuggestTest : public testing::Test {
 protected:
  /// A file of hours with a column that names two zones.
  std::string Hours(const std::string& name, int hours, LabelOf label, double step = 3600) {
    std::string text = "ZONEID,TIMESTAMP,TARGETVAR,U10\n";
    for (int zone = 1; zone <= 2; ++zone) {
      for (int hour = 0; hour < hours; ++hour) {
        text += std::to_string(zone) + "," + TimeText(1325376000 + step * hour) + "," +
                std::to_string(label(hour)) + "," + std::to_string(hour % 5) + "\n";
      }
    }
    return folder.Write(name, text);
  }
  SourceOptions Offer(const std::vector<std::string>& paths, const SourceOptions& known = {}) {
    SourceOptions options = SuggestOptions(ScanFiles(paths), known);
    SuggestFromTimes(options, known);
    return options;
  }

  TestFolder folder;
};

TEST_F(SuggestTest, FindsTargetClientTimeAndLags) {
  const SourceOptions options = Offer({Hours("wind.csv", 240, Daily)});
  EXPECT_EQ(options.target, "TARGETVAR");
  EXPECT_EQ(options.client, "ZONEID");
  EXPECT_THAT(options.time, ElementsAre("TIMESTAMP"));
  EXPECT_THAT(options.derived.lags, ElementsAre(1, 24));
  EXPECT_THAT(options.derived.calendar, ElementsAre(Calendar::kHour));
  EXPECT_THAT(options.exclude, IsEmpty());
  const Source source = OpenSource(options);
  EXPECT_EQ(source.stream->clients(), 2U);
  EXPECT_EQ(source.stream->steps(), 240U);
}

TEST_F(SuggestTest, OffersNoLagsWhereLabelsAreNotAlike) {
  const SourceOptions options = Offer({Hours("wind.csv", 240, Restless)});
  EXPECT_THAT(options.time, ElementsAre("TIMESTAMP"));
  EXPECT_THAT(options.derived.lags, IsEmpty());
}

TEST_F(SuggestTest, OffersTheCalendarThatFitsTheSteps) {
  EXPECT_THAT(Offer({Hours("a.csv", 24 * 70, Daily)}).derived.calendar,
              ElementsAre(Calendar::kHour, Calendar::kMonth));
  EXPECT_THAT(Offer({Hours("b.csv", 100, Restless, 86400)}).derived.calendar,
              ElementsAre(Calendar::kWeekday, Calendar::kMonth));
}

TEST_F(SuggestTest, TakesFilesForClientsAndLeavesOutWhatNumbersThem) {
  std::vector<std::string> paths;
  for (const char* name : {"one", "two", "three"}) {
    paths.push_back(Hours(std::string(name) + ".csv", 60, Daily));
  }
  const SourceOptions options = Offer(paths);
  EXPECT_EQ(options.client, "");
  EXPECT_THAT(options.exclude, ElementsAre("ZONEID"));
}

TEST_F(SuggestTest, FindsADateInPartsAndNamesLikePower) {
  std::string text = "No,year,month,day,hour,power,temp\n";
  for (int i = 0; i < 96; ++i) {
    text += std::to_string(i) + ",2026,3," + std::to_string(1 + i / 24) + "," +
            std::to_string(i % 24) + "," + std::to_string(Daily(i)) + "," + std::to_string(i % 7) +
            "\n";
  }
  const SourceOptions options = Offer({folder.Write("plant.csv", text)});
  EXPECT_EQ(options.target, "power");
  EXPECT_THAT(options.time, ElementsAre("year", "month", "day", "hour"));
  EXPECT_THAT(options.exclude, ElementsAre("No"));
  EXPECT_EQ(options.ranges.size(), 2U);
}

TEST_F(SuggestTest, TakesBackTimesThatAreNotAClientsOwn) {
  std::string text = "date,a,y\n";
  for (int i = 0; i < 96; ++i) {
    text += "2026-03-0" + std::to_string(1 + i / 24) + "," + std::to_string(i % 5) + "," +
            std::to_string(i % 7) + "\n";
  }
  const std::string path = folder.Write("some.csv", text);
  EXPECT_THAT(SuggestOptions(ScanFiles({path})).time, ElementsAre("date"));
  EXPECT_THAT(Offer({path}).time, IsEmpty());
}

TEST_F(SuggestTest, ImputesWhereManyRowsWouldBeLost) {
  const auto offer = [&](int missing) {
    std::string text = "a,b,y\n";
    for (int i = 0; i < 100; ++i) {
      text += (i < missing ? "NA," : "1,") + std::to_string(i % 7) + "," + std::to_string(i) + "\n";
    }
    text += "2,1,1\n";
    return Offer({folder.Write("some.csv", text)}).missing;
  };
  EXPECT_EQ(offer(5), MissingPolicy::kDrop);
  EXPECT_EQ(offer(6), MissingPolicy::kImpute);
}

/// Thirty days of two people's readings: nothing is called as one would guess.
std::string Readings(TestFolder& folder) {
  std::string text = "who,code,day,noted,level,power\n";
  for (int i = 0; i < 60; ++i) {
    text += std::string(i % 2 == 0 ? "Ann" : "Bob") + "," + std::to_string(i % 5) + "," +
            std::to_string(1 + i / 2) + "," + TimeText(1325376000 + 86400.0 * (i / 2)) + "," +
            std::to_string(i * 37 % 11) + "," + std::to_string(i % 13) + "\n";
  }
  return folder.Write("readings.csv", text);
}

TEST_F(SuggestTest, KeepsWhatIsKnownAndFitsTheRestToIt) {
  const std::string path = Readings(folder);
  const SourceOptions guessed = Offer({path});
  EXPECT_EQ(guessed.target, "power");
  EXPECT_EQ(guessed.client, "");
  EXPECT_THAT(guessed.time, IsEmpty());  // a single client would have two rows a day
  SourceOptions known;
  known.client = "who";
  EXPECT_THAT(Offer({path}, known).time, ElementsAre("noted"));
  known.time = {"day"};
  known.exclude = {"power"};
  known.ranges = {{"level", {-5, 50}}};
  known.derived.lags = {2};
  const SourceOptions options = Offer({path}, known);
  EXPECT_EQ(options.client, "who");
  EXPECT_THAT(options.time, ElementsAre("day"));
  EXPECT_EQ(options.target, "level");  // power is not to be had
  EXPECT_THAT(options.exclude, ElementsAre("power"));
  EXPECT_THAT(options.derived.lags, ElementsAre(2));
  EXPECT_THAT(options.categorical, IsEmpty());
  ASSERT_EQ(options.ranges.size(), 2U);
  EXPECT_EQ(options.ranges[0].range.high, 50);
  EXPECT_EQ(options.ranges[1].column, "code");
  const Source source = OpenSource(options);
  EXPECT_EQ(source.stream->clients(), 2U);
  EXPECT_EQ(source.stream->steps(), 30U);
}

TEST_F(SuggestTest, TakesKnownInputsAloneAndNoColumnForNone) {
  const std::string path = Hours("wind.csv", 48, Daily);
  SourceOptions known;
  known.client = kNoColumn;
  known.time = {kNoColumn};
  known.features = {"ZONEID"};
  SourceOptions options = Offer({path}, known);
  EXPECT_EQ(options.client, "");
  EXPECT_THAT(options.time, IsEmpty());
  EXPECT_THAT(options.features, ElementsAre("ZONEID"));
  ASSERT_EQ(options.ranges.size(), 2U);
  EXPECT_EQ(options.ranges[0].column, "ZONEID");
  EXPECT_EQ(options.ranges[1].column, "TARGETVAR");
  EXPECT_EQ(OpenSource(options).inputs.size(), 1U);
}

TEST_F(SuggestTest, KeepsAKnownTimeInWhichClientsHaveManyRowsAtOnce) {
  SourceOptions known;
  known.client = kNoColumn;  // so both zones are one client, with two rows an hour
  const std::string path = Hours("wind.csv", 48, Daily);
  EXPECT_THAT(Offer({path}, known).time, IsEmpty());
  known.time = {"TIMESTAMP"};
  EXPECT_THAT(Offer({path}, known).time, ElementsAre("TIMESTAMP"));
}

TEST_F(SuggestTest, RefusesColumnsThatAreNotThereOrNamedForTwoThings) {
  const Scan scan = ScanFiles({Hours("wind.csv", 48, Daily)});
  SourceOptions known;
  known.client = "ZONE";
  EXPECT_THAT(MessageOf([&] { SuggestOptions(scan, known); }), HasSubstr("no column \"ZONE\""));
  known = {};
  known.ranges = {{"U11", {0, 1}}};
  EXPECT_THAT(MessageOf([&] { SuggestOptions(scan, known); }), HasSubstr("no column \"U11\""));
  known = {};
  known.target = known.client = "ZONEID";
  EXPECT_THAT(MessageOf([&] { SuggestOptions(scan, known); }), HasSubstr("\"ZONEID\" is named"));
  known = {};
  known.time = known.exclude = {"TIMESTAMP"};
  EXPECT_THAT(MessageOf([&] { SuggestOptions(scan, known); }), HasSubstr("two roles"));
}

}  // namespace
}  // namespace polykern
