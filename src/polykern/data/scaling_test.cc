#include "polykern/data/scaling.h"

#include <array>

#include <gmock/gmock.h>

#include "polykern/core/error.h"
#include "polykern/data/agreed_scale.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Row = std::array<double, 2>;

Scale Fit(const ScalingOptions& options, const std::vector<Row>& x, const std::vector<double>& y) {
  const std::vector<std::string> names = {"p", "q"};
  ScaleFitter fitter(options, names, "t");
  for (std::size_t i = 0; i < x.size(); ++i) fitter.Add(x[i], y[i]);
  return fitter.Fit();
}

std::array<float, 2> Apply(const Scale& scale, const Row& row, std::size_t clipped = 0) {
  std::array<float, 2> scaled{};
  EXPECT_EQ(scale.ScaleInputs(row, scaled), clipped);
  return scaled;
}

TEST(Scaling, DividesByTheLargestNorm) {
  const Scale scale = Fit({}, {{1, 1}, {3, -4}}, {10, 30});
  EXPECT_EQ(scale.norm, 5);
  EXPECT_THAT(Apply(scale, {3, -4}), ElementsAre(0.6F, -0.8F));
  EXPECT_EQ(scale.ScaleLabel(10), 0);
  EXPECT_EQ(scale.ScaleLabel(15), 0.25);
  EXPECT_EQ(scale.ScaleLabel(30), 1);
  EXPECT_EQ(scale.UnscaleLabel(0.25), 15);
}

TEST(Scaling, IsTheOneThatAFederationTells) {
  struct Column {
    std::string name;
    double low, high;
  };
  struct {
    std::string scaling = "range";
    double norm = 5;
    std::vector<Column> columns = {{"p", 0, 4}, {"q", -1, 1}};
    Column target = {"t", 10, 30};
  } told;
  EXPECT_THAT(Apply(AgreedScale(told), {3, 0}), ElementsAre(0.5, 0));
  EXPECT_EQ(AgreedScale(told).ScaleLabel(15), 0.25);
  told.scaling = "norm";
  EXPECT_THAT(Apply(AgreedScale(told), {3, -4}), ElementsAre(0.6F, -0.8F));
  told.scaling = "none";
  EXPECT_THAT(Apply(AgreedScale(told), {3, -4}), ElementsAre(3, -4));
  EXPECT_EQ(AgreedScale(told).ScaleLabel(15), 15);
  told.scaling = "log";
  EXPECT_THAT(MessageOf([&] { AgreedScale(told); }), HasSubstr("unknown scaling 'log'"));
}

TEST(Scaling, TakesTheBackgroundOffAfterMeasuringTheNorm) {
  const Scale scale = Fit({.background = 3}, {{1, 1}, {3, -4}}, {10, 30});
  EXPECT_EQ(scale.norm, 5);
  EXPECT_THAT(Apply(scale, {3, -4}), ElementsAre(0.0F, -1.4F));
}

TEST(Scaling, MapsEveryColumnToItsRange) {
  const Scale scale = Fit({.kind = Scaling::kRange}, {{0, 5}, {4, 5}, {1, 5}}, {1, 2, 3});
  EXPECT_THAT(Apply(scale, {0, 5}), ElementsAre(-1, 0));
  EXPECT_THAT(Apply(scale, {4, 5}), ElementsAre(1, 0));
  EXPECT_THAT(Apply(scale, {3, 5}), ElementsAre(0.5, 0));
}

TEST(Scaling, ClipsAndCountsWhatIsOutsideADeclaredRange) {
  const Scale scale = Fit({.kind = Scaling::kRange, .ranges = {{"q", {0, 10}}, {"t", {0, 2}}}},
                          {{0, 5}, {4, 50}}, {1, 3});
  EXPECT_THAT(Apply(scale, {0, 5}), ElementsAre(-1, 0));
  EXPECT_THAT(Apply(scale, {4, 50}, 1), ElementsAre(1, 1));
  EXPECT_THAT(Apply(scale, {9, -1}, 2), ElementsAre(1, -1));
  EXPECT_EQ(scale.ScaleLabel(1), 0.5);
  EXPECT_EQ(scale.ScaleLabel(3), 1);
  EXPECT_TRUE(scale.ClipsLabel(3));
  EXPECT_FALSE(scale.ClipsLabel(2));
}

TEST(Scaling, KeepsTheDifferencesOfLargeNumbers) {
  const double start = 1.7e9;  // seconds; a float there has steps of 128
  const Scale scale = Fit({.kind = Scaling::kRange}, {{start, 0}, {start + 8, 1}}, {0, 1});
  EXPECT_EQ(Apply(scale, {start + 2, 0})[0], -0.5F);
}

TEST(Scaling, LeavesEverythingAsItIsIfAsked) {
  const Scale scale = Fit({.kind = Scaling::kNone}, {{3, -4}}, {7});
  EXPECT_THAT(Apply(scale, {3, -4}), ElementsAre(3, -4));
  EXPECT_EQ(scale.ScaleLabel(7), 7);
  EXPECT_EQ(scale.UnscaleLabel(7), 7);
  EXPECT_FALSE(scale.ClipsLabel(7));
}

TEST(Scaling, RefusesAConstantTargetAndNamesTheConstant) {
  EXPECT_THAT(MessageOf([] {
                Fit({}, {{1, 2}, {2, 3}}, {4.5, 4.5});
              }),
              HasSubstr("the target \"t\" is 4.5 in every row"));
  EXPECT_EQ(Fit({.ranges = {{"t", {0, 9}}}}, {{1, 2}}, {4.5}).ScaleLabel(4.5), 0.5);
}

TEST(Scaling, RefusesInputsThatAreAllZeroOrTooLarge) {
  EXPECT_THAT(MessageOf([] { Fit({}, {{0, 0}}, {4}); }), HasSubstr("in every row"));
  EXPECT_THAT(MessageOf([] { Fit({}, {{0, 0}, {0, 0}}, {4, 5}); }), HasSubstr("every input is 0"));
  EXPECT_THAT(MessageOf([] { Fit({}, {{1e200, 0}, {0, 0}}, {4, 5}); }), HasSubstr("too large"));
}

TEST(Scaling, RefusesADeclaredRangeThatMakesNoSense) {
  EXPECT_THAT(MessageOf([] {
                Fit({.ranges = {{"q", {3, 3}}}}, {}, {});
              }),
              HasSubstr("the declared range of column \"q\" is [3, 3]"));
  EXPECT_THAT(MessageOf([] {
                Fit({.ranges = {{"qq", {0, 3}}}}, {}, {});
              }),
              HasSubstr("a range is declared for \"qq\""));
}

}  // namespace
}  // namespace polykern
