// A feed whose inputs are not just columns: past labels, the calendar, gaps, texts.

#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "polykern/data/derived_inputs.h"
#include "polykern/data/samples/sample_feed.h"
#include "polykern/data/samples/sample_feed_testing.h"
#include "polykern/data/scaling.h"
#include "polykern/io/input_position.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

/// With lags 1 and 2 and the hour. Labels from 10 to 30 become -1 to 1 as inputs.
struct LaggedFeed {
  explicit LaggedFeed(const std::string& text)
      : input(text), feed(input, "in", Columns(), Ranges(), 10) {}

  static SampleColumns Columns() {
    return {.inputs = {"a"}, .dimension = 1, .time = "t", .derived = {{1, 2}, {Calendar::kHour}}};
  }
  static Scale Ranges() {
    Scale scale;
    scale.kind = Scaling::kRange;
    scale.features = {{-1, 1}, {10, 30}, {10, 30}, {-1, 1}, {-1, 1}};
    scale.target = {10, 30};
    return scale;
  }
  std::vector<std::vector<float>> All() {
    std::vector<std::vector<float>> all;
    FeedSample sample;
    while (feed.Next(sample)) {
      EXPECT_EQ(sample.problem, "");
      if (!sample.late_label) all.push_back(sample.x);
    }
    return all;
  }

  std::istringstream input;
  SampleFeed feed;
};

TEST(AFeed, AddsPastLabelsAndTheCalendar) {
  LaggedFeed feed(
      "id,t,a,y\np,2026-11-16 00:00,0,10\nq,2026-11-16 06:00,0,25\nr,2026-11-16 12:00,0,99\n"
      "s,2026-11-16 18:00,0,20\n");
  EXPECT_THAT(feed.All(), ElementsAre(ElementsAre(0, 0, 0, 0, 1), ElementsAre(0, -1, 0, 1, 0),
                                      ElementsAre(0, 0.5F, -1, 0, -1),
                                      ElementsAre(0, 1, 0.5F, -1, 0)));  // 99 is clipped
  InputPosition kept;
  feed.feed.Keep(kept);
  EXPECT_THAT(kept.labels, ElementsAre(99, 20));
}

TEST(AFeed, CountsTimesThatAreNotLaterAndTakesTheirSamples) {
  LaggedFeed feed(
      "t,a,y\n2026-10-25 02:00,0,10\n2026-10-25 02:30,0,11\n2026-10-25 02:00,0,12\n"
      "2026-10-25 02:00,0,13\n2026-10-25 03:00,0,14\n");
  EXPECT_EQ(feed.All().size(), 5U);
  EXPECT_EQ(feed.feed.counts().samples, 5U);
  EXPECT_EQ(feed.feed.counts().went_back, 2U);
}

TEST(AFeed, KnowsALateLabelWhenItComes) {
  LaggedFeed feed(
      R"({"id":1,"t":"2026-11-16","a":0}
{"id":2,"t":"2026-11-16","a":0,"y":30}
{"id":1,"y":10}
{"id":3,"t":1794787200,"a":0})");
  EXPECT_THAT(feed.All(), ElementsAre(ElementsAre(0, 0, 0, 0, 1), ElementsAre(0, 0, 0, 0, 1),
                                      ElementsAre(0, -1, 1, 0, 1)));
}

TEST(AFeed, RemembersLabelsOfAnEarlierProcess) {
  const std::string text =
      "t,a,y\n2026-11-16,0,10\n2026-11-16,0,20\n2026-11-16,0,30\n2026-11-16,0,15\n";
  LaggedFeed whole(text);
  const auto all = whole.All();
  LaggedFeed first(text);
  FeedSample sample;
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(first.feed.Next(sample));
  LaggedFeed resumed(text);  // the same file: its lines say it
  ASSERT_TRUE(resumed.feed.Resume(sample.read));
  EXPECT_THAT(resumed.All(), ElementsAre(all[2], all[3]));
  LaggedFeed other("t,a,y\n2026-11-16,0,30\n2026-11-16,0,15\n");  // what came after them
  first.feed.Keep(sample.read);
  other.feed.Remember(sample.read);
  EXPECT_THAT(other.All(), ElementsAre(all[2], all[3]));
}

/// A number and a text, either of which may be missing.
struct GapFeed {
  explicit GapFeed(const std::string& text)
      : input(text),
        feed(input, "in.csv",
             {.inputs = {"a", "wd"}, .dimension = 2, .texts = {{"wd", {"N", "S"}}}, .impute = true},
             GapScale(), 10) {}
  static Scale GapScale() {
    Scale scale = SomeScale();
    scale.features = {{0, 4}, {-1, 1}, {-1, 1}, {-1, 1}, {-1, 1}};
    return scale;
  }

  std::vector<FeedSample> All() {
    std::vector<FeedSample> all;
    FeedSample sample;
    while (feed.Next(sample)) all.push_back(sample);
    return all;
  }

  std::istringstream input;
  SampleFeed feed;
};

TEST(AFeed, PutsMeansInThePlaceOfGapsAndMarksThem) {
  const std::string text = "a,wd,y\n,S,15\n4,N,15\n1,,15\n,N,15\n";
  GapFeed feed(text);
  const auto all = feed.All();
  ASSERT_THAT(all, SizeIs(4));
  EXPECT_THAT(all[0].x, ElementsAre(0, 0, 1, 1, 0));  // nothing is known of a: the middle
  EXPECT_THAT(all[1].x, ElementsAre(1, 1, 0, 0, 0));
  EXPECT_THAT(all[2].x, ElementsAre(-0.5, 0, 0, 0, 1));
  EXPECT_THAT(all[3].x, ElementsAre(0.25, 1, 0, 1, 0));

  // Of a file the lines that are passed over say it, of a stream what was kept.
  InputPosition kept;
  {
    GapFeed first(text.substr(0, text.find("1,,")));
    EXPECT_THAT(first.All(), SizeIs(2));
    first.feed.Keep(kept);
  }
  GapFeed stream("a,wd,y\n1,,15\n,N,15\n");
  stream.feed.Remember(kept);
  EXPECT_EQ(stream.All()[1].x, all[3].x);
  GapFeed file(text);
  ASSERT_TRUE(file.feed.Resume(all[1].read));
  const auto rest = file.All();
  ASSERT_THAT(rest, SizeIs(2));
  EXPECT_EQ(rest[1].x, all[3].x);
}

TEST(AFeed, SeesRangesWithoutGapsAndOfTextsAsMarks) {
  GapFeed feed("a,wd,y\n,S,15\n4,N,20\n1,,15\n");
  FeedSample sample;
  while (feed.feed.Collect(sample, 10)) {
  }
  const SeenValues seen = feed.feed.seen();
  ASSERT_THAT(seen.ranges, SizeIs(3));
  EXPECT_EQ(seen.ranges[0].low, 1);
  EXPECT_EQ(seen.ranges[0].high, 4);
  EXPECT_EQ(seen.ranges[1].low, 0);
  EXPECT_EQ(seen.ranges[1].high, 1);
}

TEST(AFeed, CountsLagsFromTheLabelThatIsPredicted) {
  Scale scale = SomeScale();
  scale.features = {{0, 4}, {10, 30}, {10, 30}};
  std::istringstream input("a,y\n0,10\n0,15\n0,20\n0,25\n");
  SampleFeed feed(input, "in.csv", {.inputs = {"a"}, .dimension = 1, .derived = {{3, 4}, {}, 3}},
                  scale, 10);
  FeedSample sample;
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(feed.Next(sample));
  EXPECT_THAT(sample.x, ElementsAre(-1, 0, -0.5F));  // the labels of the two lines before
  InputPosition kept;
  feed.Keep(kept);
  EXPECT_THAT(kept.labels, ElementsAre(20, 25));
}

TEST(AFeed, TakesNoLateLabelsWherePredictionsAreMadeAhead) {
  Scale scale = SomeScale();
  scale.features = {{0, 4}};
  std::istringstream input("id,a,y\np,0,\np,,10\n");
  SampleFeed feed(input, "in.csv", {.inputs = {"a"}, .dimension = 1, .derived = {{}, {}, 2}}, scale,
                  10);
  FeedSample sample;
  ASSERT_TRUE(feed.Next(sample));
  EXPECT_FALSE(sample.y);
  ASSERT_TRUE(feed.Next(sample));
  EXPECT_THAT(sample.problem, HasSubstr("line 3: a label must come with its sample"));
}

}  // namespace
}  // namespace polykern
