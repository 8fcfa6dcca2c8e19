#include "polykern/data/samples/sample_feed.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "polykern/data/samples/sample_feed_testing.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;
using testing::SizeIs;

/// A feed over a text.
struct TextFeed {
  explicit TextFeed(const std::string& text, std::size_t most_waiting = 10)
      : input(text),
        feed(input, "in.csv", {.inputs = {"a", "b"}, .dimension = 2}, SomeScale(), most_waiting) {}

  std::vector<FeedSample> All() {
    std::vector<FeedSample> all;
    FeedSample sample;
    while (feed.Next(sample)) all.push_back(sample);
    return all;
  }

  std::istringstream input;
  SampleFeed feed;
};

/// Where an agent is that has learnt so many lines of a text.
InputPosition After(const std::string& text, std::uint64_t line) {
  TextFeed all(text);
  FeedSample sample;
  while (all.feed.Next(sample)) {
    if (sample.read.line == line) return sample.read;
  }
  return {};
}

TEST(AFeed, GivesScaledSamples) {
  TextFeed feed("a,b,y\n3,0,15\n");
  const auto all = feed.All();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].problem, "");
  EXPECT_EQ(all[0].id, "2");
  EXPECT_THAT(all[0].x, ElementsAre(0.5F, 0));
  EXPECT_THAT(all[0].y, Optional(0.25));
  EXPECT_FALSE(all[0].late_label);
  EXPECT_EQ(feed.feed.counts().samples, 1U);
}

TEST(AFeed, MayBeReadInAnotherWayFromALineOn) {
  for (const bool json : {false, true}) {
    TextFeed feed(json ? R"({"a": 3, "b": 0, "c": 8, "y": 15}
{"id": 7, "a": 1, "b": 0, "c": 2}
{"a": 1, "b": 1, "c": 9, "y": 20}
{"id": 7, "y": 12})"
                       : "id,a,b,c,y\n,3,0,8,15\n7,1,0,2,\n,1,1,9,20\n7,,,,12\n");
    FeedSample sample;
    for (int line = 0; line < 2; ++line) ASSERT_TRUE(feed.feed.Next(sample));
    EXPECT_EQ(feed.feed.counts().waiting, 1U);
    Scale scale = SomeScale();
    scale.features = {{0, 10}, {0, 4}};
    scale.target = {0, 40};
    SampleColumns columns{.inputs = {"c", "a"}, .dimension = 2};
    feed.feed.Change(columns, scale);
    ASSERT_TRUE(feed.feed.Next(sample));
    EXPECT_THAT(sample.x, ElementsAre(testing::FloatEq(0.8F), -0.5F));
    EXPECT_THAT(sample.y, Optional(0.5));
    ASSERT_TRUE(feed.feed.Next(sample));
    EXPECT_THAT(sample.problem, HasSubstr("waits for a label")) << "that was of other columns";
    EXPECT_EQ(feed.feed.counts().forgotten, 1U);
    if (json) continue;
    columns.inputs = {"c", "d"};
    EXPECT_THAT(MessageOf([&] { feed.feed.Change(columns, scale); }),
                HasSubstr("in.csv: there is no column \"d\""));
  }
}

TEST(AFeed, PutsALateLabelBesideItsSample) {
  TextFeed feed("id,a,b,y\nn,3,0,\nm,1,1,20\nn,,,15\n");
  const auto all = feed.All();
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(all[0].y, std::nullopt);
  EXPECT_FALSE(all[0].late_label);
  EXPECT_EQ(all[2].id, "\"n\"");
  EXPECT_TRUE(all[2].late_label);
  EXPECT_EQ(all[2].x, all[0].x);
  EXPECT_THAT(all[2].y, Optional(0.25));
  EXPECT_EQ(all[2].read.line, 4U);
  EXPECT_EQ(feed.feed.counts().samples, 2U);
  EXPECT_EQ(feed.feed.counts().waiting, 0U);
}

TEST(AFeed, GivesASampleThatCannotGetALabelToPredictOnly) {
  TextFeed feed("id,a,b,y\n,3,0,\nn,3,0,\n");
  EXPECT_THAT(feed.All(), SizeIs(2));
  EXPECT_EQ(feed.feed.counts().waiting, 1U);  // the one with a name
}

TEST(AFeed, ForgetsTheOldestOfTooManyThatWait) {
  TextFeed feed("id,a,b,y\n1,1,0,\n2,2,0,\n1,,,20\n2,,,20\n", 1);
  const auto all = feed.All();
  ASSERT_THAT(all, SizeIs(4));
  EXPECT_EQ(all[2].problem, "in.csv, line 4: no sample \"1\" waits for a label");
  EXPECT_EQ(all[3].problem, "");
  EXPECT_EQ(feed.feed.counts().forgotten, 1U);
}

TEST(AFeed, CountsWhatItClips) {
  TextFeed feed("id,a,b,y\n,9,-7,99\n,1,0,20\nn,9,0,\nn,,,5\n");
  const auto all = feed.All();
  ASSERT_THAT(all, SizeIs(4));
  EXPECT_THAT(all[0].x, ElementsAre(1, -1));
  EXPECT_THAT(all[0].y, Optional(1));
  EXPECT_THAT(all[3].y, Optional(0));
  EXPECT_EQ(feed.feed.counts().clipped, 3U + 0U + 1U + 1U);
  EXPECT_EQ(feed.feed.counts().clipped_labels, 2U);
  EXPECT_TRUE(all[0].clipped_label);
  EXPECT_FALSE(all[1].clipped_label);
  EXPECT_TRUE(all[3].clipped_label);
}

TEST(AFeed, RefusesInputsThatAreNotFloats) {
  std::istringstream input("a,y\n1e39,1\n1e38,1\n");
  SampleFeed feed(input, "in.csv", {.inputs = {"a"}, .dimension = 1}, Scale(), 10);
  FeedSample sample;
  ASSERT_TRUE(feed.Next(sample));
  EXPECT_EQ(sample.problem, "in.csv, line 2: an input is too large for a number of 32 bits");
  EXPECT_FALSE(sample.seen_before);
  ASSERT_TRUE(feed.Next(sample));
  EXPECT_EQ(sample.problem, "");
  EXPECT_EQ(feed.counts().samples, 1U);
}

TEST(AFeed, PassesProblemsOfTheReaderOn) {
  TextFeed feed("a,b,y\n1,x,20\n1,0,20\n");
  const auto all = feed.All();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].problem, "in.csv, line 2: \"x\" in column \"b\" is not a number");
  EXPECT_EQ(feed.feed.counts().samples, 1U);
  EXPECT_EQ(feed.feed.Place(all[0].read), "in.csv, line 2: ");
  EXPECT_THAT(MessageOf([] { TextFeed("a,y\n1,2\n").All(); }), HasSubstr("no column \"b\""));
}

TEST(AFeed, ResumesBehindWhatWasLearnt) {
  const std::string text = "a,b,y\n1,0,20\n2,0,20\n3,0,20\n";
  TextFeed feed(text);
  ASSERT_TRUE(feed.feed.Resume(After(text, 3)));
  const auto all = feed.All();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].read.line, 4U);
  EXPECT_EQ(feed.feed.counts().samples, 1U);
}

TEST(AFeed, DoesNotResumeInAnotherFile) {
  const std::string text = "a,b,y\n1,0,20\n2,0,20\n";
  TextFeed feed("a,b,y\n1,0,21\n2,0,20\n");
  EXPECT_FALSE(feed.feed.Resume(After(text, 2)));
  EXPECT_THAT(feed.All(), SizeIs(2));
}

TEST(AFeed, StillKnowsWhoWaitsWhenItResumes) {
  const std::string text =
      "id,a,b,y\nkept,3,0,\ngiven,1,0,\ngiven,,,20\n,9,9,99\nlast,1,0,20\nkept,,,15\n";
  TextFeed feed(text);
  ASSERT_TRUE(feed.feed.Resume(After(text, 6)));
  const auto all = feed.All();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_TRUE(all[0].late_label);
  EXPECT_THAT(all[0].x, ElementsAre(0.5F, 0));
  EXPECT_EQ(feed.feed.counts().samples, 0U);
  EXPECT_EQ(feed.feed.counts().clipped, 0U);  // what was clipped then was counted then
  EXPECT_EQ(feed.feed.counts().waiting, 0U);
}

TEST(AFeed, MarksProblemsThatAnEarlierProcessTold) {
  const std::string text = "id,a,b,y\n,bad,0,20\n,1,0,20\n,bad,0,20\n";
  TextFeed feed(text);
  ASSERT_TRUE(feed.feed.Resume(After(text, 3)));
  const auto all = feed.All();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_TRUE(all[0].seen_before);
  EXPECT_THAT(all[0].problem, HasSubstr("line 2"));
  EXPECT_FALSE(all[1].seen_before);
  EXPECT_THAT(all[1].problem, HasSubstr("line 4"));
}

TEST(AFeed, CollectsBeforeItHasAScaleAndLosesNothing) {
  const std::string text = "id,a,b,y\n1,3,0,15\n2,4,1e301,\n3,x,0,15\n2,,,20\n4,0,-1,30\n";
  TextFeed direct(text);
  TextFeed feed(text);
  FeedSample sample;
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(feed.feed.Collect(sample, 10));
  EXPECT_TRUE(sample.late_label);
  EXPECT_EQ(feed.feed.seen().labels, 2U);
  EXPECT_EQ(feed.feed.seen().lines, 4U);
  const std::vector<Range> seen = feed.feed.seen().ranges;
  ASSERT_THAT(seen, SizeIs(3));
  EXPECT_THAT((std::vector{seen[0].low, seen[0].high}), ElementsAre(3, 4));
  EXPECT_THAT((std::vector{seen[1].low, seen[1].high}), ElementsAre(0, 0)) << "1e301 is no end";
  EXPECT_THAT((std::vector{seen[2].low, seen[2].high}), ElementsAre(15, 20));
  feed.feed.ScaleBy(SomeScale());
  const auto expected = direct.All();
  const auto all = feed.All();
  ASSERT_EQ(all.size(), expected.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].x, expected[i].x);
    EXPECT_EQ(all[i].y, expected[i].y);
    EXPECT_EQ(all[i].id, expected[i].id);
    EXPECT_EQ(all[i].problem, expected[i].problem);
    EXPECT_EQ(all[i].read.line, expected[i].read.line);
    EXPECT_EQ(all[i].late_label, expected[i].late_label);
    EXPECT_EQ(all[i].collected, i < 4);
  }
  EXPECT_EQ(feed.feed.counts().samples, direct.feed.counts().samples);
  EXPECT_EQ(feed.feed.counts().clipped, direct.feed.counts().clipped);
}

TEST(AFeed, ForgetsTheOldestOfTooManyThatItCollects) {
  TextFeed feed("a,b,y\n1,0,15\n2,0,15\n3,0,15\n");
  FeedSample sample;
  while (feed.feed.Collect(sample, 2)) EXPECT_EQ(sample.problem, "");
  EXPECT_EQ(feed.feed.seen().labels, 3U);
  EXPECT_THAT(feed.All(), SizeIs(2));
  EXPECT_EQ(feed.feed.counts().forgotten, 1U);
}

}  // namespace
}  // namespace polykern
