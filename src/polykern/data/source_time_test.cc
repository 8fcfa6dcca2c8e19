// Sources whose rows have times: their order, past labels, the calendar, and predictions ahead.
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/error.h"
#include "polykern/data/source_testing.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::IsNan;
using testing::Pointwise;

/// What a client sees: its labels, NaN where it is absent.
std::vector<double> LabelsOf(const Source& source, std::size_t client) {
  std::vector<double> labels;
  SampleBlock block;
  for (std::size_t step = 0; step < source.stream->steps(); ++step) {
    source.stream->Read(step, client, 1, block);
    labels.push_back(block.present[0] != 0 ? block.y[0] : std::nan(""));
  }
  return labels;
}

TEST(SourceWithTimes, SortsRowsByTimeAndAlignsClients) {
  const TestFolder folder;
  SourceOptions options = FilesOptions({folder.Write("data.csv",
                                                     "t,a,y,who\n"
                                                     "2026-11-16 10:00,1,30,b\n"
                                                     "2026-11-16 09:00,2,20,b\n"
                                                     "2026-11-16 08:00,3,10,a\n"
                                                     "2026-11-16 10:00,4,40,a\n"
                                                     "NA,5,50,a\n"
                                                     "2026-11-16 10:00,6,60,a\n")});
  options.client = "who";
  options.time = {"t"};
  options.ranges = {{"y", {0, 100}}};
  const Source source = OpenSource(options);
  EXPECT_THAT(source.inputs, ElementsAre("a"));
  EXPECT_THAT(LabelsOf(source, 0), ElementsAre(IsNan(), 0.2, 0.3));  // b, the file's first
  EXPECT_THAT(LabelsOf(source, 1), ElementsAre(0.1, IsNan(), 0.4));
  EXPECT_EQ(source.dropped_rows, 1U);
  EXPECT_EQ(
      source.order,
      "a client for each value of \"who\", in the order of time, 2026-11-16 08:00 to "
      "2026-11-16 10:00; sorted, 1 row out of order; 1 row left out because the client has one at "
      "that time");
  options.steps = 2;
  EXPECT_THAT(LabelsOf(OpenSource(options), 1), ElementsAre(0.1, IsNan()));
}

TEST(SourceWithTimes, HasOwnPastLabelsAndTheCalendarAsInputs) {
  const TestFolder folder;
  SourceOptions options = FilesOptions({folder.Write("data.csv",
                                                     "t,a,y,who\n"
                                                     "2026-11-16 00:00,1,10,b\n"
                                                     "2026-11-16 00:00,2,20,a\n"
                                                     "2026-11-16 12:00,4,40,b\n"
                                                     "2026-11-16 06:00,3,30,b\n")});
  options.client = "who";
  options.time = {"t"};
  options.derived = {{1, 2}, {Calendar::kHour}};
  options.scaling = Scaling::kRange;
  options.ranges = {{"y", {0, 100}}, {"a", {0, 10}}};
  const Source source = OpenSource(options);
  EXPECT_THAT(source.inputs, ElementsAre("a", "y.lag1", "y.lag2", "hour.sin", "hour.cos"));
  SampleBlock block;
  std::vector<std::vector<float>> seen;
  for (std::size_t step = 0; step < 3; ++step) {
    source.stream->Read(step, 0, 1, block);
    seen.push_back(block.x);
  }
  // Labels from 0 to 100 become -1 to 1; unknown ones lie in the middle.
  EXPECT_THAT(seen[0], Pointwise(FloatNear(1e-6F), {-0.8F, 0.0F, 0.0F, 0.0F, 1.0F}));
  EXPECT_THAT(seen[1], Pointwise(FloatNear(1e-6F), {-0.4F, -0.8F, 0.0F, 1.0F, 0.0F}));
  EXPECT_THAT(seen[2], Pointwise(FloatNear(1e-6F), {-0.2F, -0.4F, -0.8F, 0.0F, -1.0F}));
}

TEST(SourceWithTimes, TakesADateInParts) {
  const TestFolder folder;
  SourceOptions options = FilesOptions({folder.Write(
      "data.csv", "year,month,day,a,y\n2026,2,1,1,1\n2026,1,31,2,2\n2025,12,31,3,3\n")});
  options.time = {"year", "month", "day"};
  options.ranges = {{"y", {0, 10}}};
  EXPECT_THAT(LabelsOf(OpenSource(options), 0), ElementsAre(0.3, 0.2, 0.1));
  EXPECT_THAT(OpenSource(options).inputs, ElementsAre("a"));
  options.features = {"month", "a"};
  EXPECT_THAT(OpenSource(options).inputs, ElementsAre("month", "a"));
}

TEST(SourceWithTimes, PredictsAheadFromInputsAndLabelsOfThen) {
  const TestFolder folder;
  SourceOptions options = FilesOptions({folder.Write(
      "who.csv",
      "t,a,y,who\n2026-11-16 00:00,0,10,x\n2026-11-16 01:00,1,20,x\n2026-11-16 02:00,2,30,x\n"
      "2026-11-16 03:00,3,40,x\n2026-11-16 04:00,4,50,x\n2026-11-16 02:00,8,10,late\n")});
  options.client = "who";
  options.time = {"t"};
  options.derived = {{3}, {Calendar::kHour}, 3};
  options.scaling = Scaling::kRange;
  options.ranges = {{"a", {0, 8}}, {"y", {10, 50}}};
  const Source source = OpenSource(options);
  ASSERT_EQ(source.stream->steps(), 3U);
  EXPECT_EQ(source.stream->ahead(), 3U);
  EXPECT_EQ(source.stream->samples_per_row(), 2U);
  EXPECT_EQ(source.stream->clients(), 2U);
  EXPECT_EQ(source.stream->TimeOf(0), "2026-11-16 02:00");
  SampleBlock block;
  source.stream->Read(0, 0, 2, block);
  EXPECT_EQ(block.x[0], -1);  // a of 00:00
  EXPECT_EQ(block.x[1], 0);   // no label three before: the middle
  EXPECT_EQ(block.x[3], 1);   // the cosine of 00:00
  EXPECT_EQ(block.y[0], 0.5);
  EXPECT_EQ(block.present[1], 0);  // it has too few rows
  source.stream->Read(2, 0, 1, block);
  EXPECT_EQ(block.x[0], -0.5);  // a of 02:00
  EXPECT_EQ(block.x[1], -0.5);  // the label of 01:00
  EXPECT_EQ(block.y[0], 1);
}

TEST(SourceWithTimes, RefusesTimesLagsAndCalendarsThatCannotBe) {
  const TestFolder folder;
  const std::string good = folder.Write("good.csv", "t,a,y\n1,1,1\n2,2,2\n3,3,3\n");
  const auto message = [&](const std::string& file, auto&& change) {
    SourceOptions options = FilesOptions({file});
    options.time = {"t"};
    change(options);
    return MessageOf([&] { OpenSource(options); });
  };
  const auto nothing = [](SourceOptions&) {};
  EXPECT_THAT(
      message(folder.Write("bad.csv", "t,a,y\n2026-02-30,1,1\n2026-03-01,1,2\n"), nothing),
      HasSubstr("bad.csv, line 2, column \"t\": \"2026-02-30\" is not a time; write it as"));
  EXPECT_THAT(message(good, [](SourceOptions& o) { o.derived.calendar = {Calendar::kHour}; }),
              HasSubstr("calendar needs dates"));
  EXPECT_THAT(message(good, [](SourceOptions& o) { o.derived.lags = {3}; }),
              HasSubstr("lags has 3, but the longest client has 3 rows"));
  EXPECT_THAT(message(good,
                      [](SourceOptions& o) {
                        o.derived.lags = {1, 1};
                      }),
              HasSubstr("lags names 1 twice"));
  EXPECT_THAT(message(good, [](SourceOptions& o) { o.derived.ahead = 4; }),
              HasSubstr("ahead is 4, but the longest client has 3 rows; choose at most that"));
  EXPECT_THAT(message(good,
                      [](SourceOptions& o) {
                        o.time.clear();
                        o.split = Split::kIid;
                        o.derived.ahead = 2;
                      }),
              HasSubstr("ahead needs rows in their order; leave out split"));
  EXPECT_THAT(message(good, [](SourceOptions& o) { o.split = Split::kIid; }),
              HasSubstr("split=iid shuffles rows, and time orders them; leave out one"));
  EXPECT_THAT(message(good,
                      [](SourceOptions& o) {
                        o.time.clear();
                        o.split = Split::kIid;
                        o.derived.lags = {1};
                      }),
              HasSubstr("lags needs rows in their order; leave out split"));
  EXPECT_THAT(message(good,
                      [](SourceOptions& o) {
                        o.time = {"t", "a"};
                      }),
              HasSubstr("time names 2 columns"));
  EXPECT_THAT(message(good, [](SourceOptions& o) { o.time = {"when"}; }),
              HasSubstr("there is no column \"when\""));
  EXPECT_THAT(message(good, [](SourceOptions& o) { o.time = {"y"}; }),
              HasSubstr("both the target"));
  EXPECT_THAT(message(good, [](SourceOptions& o) { o.steps = 4; }), HasSubstr("choose at most 3"));
  std::string sparse = "t,a,y,who\n";
  for (int i = 0; i < 20000; ++i) {
    sparse +=
        std::to_string(i) + ",1," + std::to_string(i % 7) + ",c" + std::to_string(i % 200) + "\n";
  }
  EXPECT_THAT(
      message(folder.Write("sparse.csv", sparse), [](SourceOptions& o) { o.client = "who"; }),
      HasSubstr("hardly ever have a row at the same time"));
}

}  // namespace
}  // namespace polykern
