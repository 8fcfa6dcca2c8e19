#include "polykern/data/samples/sample_inputs.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>

#include "polykern/core/error.h"

namespace polykern {
namespace {

using testing::ElementsAre;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// A number and a text that may be missing, and the label before. Labels are from 10 to 30.
SampleColumns Columns() {
  return {.inputs = {"a", "wd"},
          .dimension = 2,
          .derived = {{1}},
          .texts = {{"wd", {"N", "S"}}},
          .impute = true};
}

Scale RangesOf() {
  Scale scale;
  scale.kind = Scaling::kRange;
  scale.features = {{0, 4}, {-1, 1}, {-1, 1}, {-1, 1}, {-1, 1}, {10, 30}};
  scale.target = {10, 30};
  return scale;
}

std::vector<float> Made(SampleInputs& inputs, std::vector<double> own) {
  std::vector<float> x;
  inputs.Make(own, 0, x);
  return x;
}

TEST(SampleInputs, AreColumnsMarksAndLabels) {
  SampleInputs inputs(Columns(), RangesOf());
  EXPECT_THAT(inputs.places(), ElementsAre(0, 2));
  EXPECT_THAT(Made(inputs, {3, 1}), ElementsAre(0.5F, 0, 1, 0, 0, 0));
  inputs.Know(25);
  EXPECT_THAT(Made(inputs, {kNone, 0}), ElementsAre(0.5F, 1, 0, 1, 0, 0.5F));
  inputs.Know(99);  // is clipped
  EXPECT_THAT(Made(inputs, {1, kNone}), ElementsAre(-0.5F, 0, 0, 0, 1, 1));
  EXPECT_THAT(Made(inputs, {kNone, kNone}), ElementsAre(0, 0, 0, 1, 1, 1));
}

TEST(SampleInputs, CountWhatIsClippedAndRefuseWhatIsTooLarge) {
  SampleInputs inputs(Columns(), RangesOf());
  std::vector<float> x;
  EXPECT_EQ(inputs.Make(std::vector{5.0, 0.0}, 0, x), 1U);
  Scale plain;
  SampleInputs unscaled({.dimension = 1}, plain);
  EXPECT_THROW(unscaled.Make(std::vector{1e300}, 0, x), Error);
}

TEST(SampleInputs, ResumeFromWhatAnEarlierProcessKept) {
  SampleInputs inputs(Columns(), RangesOf());
  Made(inputs, {3, 1});
  inputs.Know(20);
  InputPosition kept;
  inputs.Keep(kept);
  SampleInputs later(Columns(), RangesOf());
  later.Remember(kept);
  EXPECT_EQ(Made(later, {kNone, 0}), Made(inputs, {kNone, 0}));
}

TEST(SampleColumns, KnowTheirTextsAndTimes) {
  SampleColumns columns = Columns();
  columns.texts["any"] = {};
  EXPECT_EQ(columns.PlaceOf("wd", "S"), 1);
  EXPECT_THROW(columns.PlaceOf("wd", "W"), Error);
  EXPECT_EQ(columns.PlaceOf("any", "W"), static_cast<double>(HashedPlace("W")));
  columns.time = "when";
  EXPECT_EQ(columns.TimeOf("7"), 7);  // a counter
  EXPECT_THROW(columns.TimeOf("noon"), Error);
  columns.derived.calendar = {Calendar::kHour};
  EXPECT_THROW(columns.TimeOf("7"), Error);
  EXPECT_EQ(columns.TimeOf("2026-11-16"), 1794787200);
}

}  // namespace
}  // namespace polykern
