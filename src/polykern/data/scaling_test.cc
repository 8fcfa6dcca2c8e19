#include "polykern/data/scaling.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <gmock/gmock.h>

#include "polykern/core/error.h"
#include "polykern/core/random.h"
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

/// Rows and labels of many sizes, with columns far from 0 and one that never changes.
struct RandomRows {
  explicit RandomRows(std::uint64_t seed) {
    Random random(seed, Purpose::kTest);
    const double size = std::ldexp(1.0, static_cast<int>(random.Below(40)) - 20);
    for (std::uint64_t left = 2 + random.Below(20); left > 0; --left) {
      x.push_back({size * (random.Normal() + 5), seed % 3 == 0 ? 7 : random.Normal()});
      y.push_back(size * random.Normal());
    }
  }
  std::vector<Row> x;
  std::vector<double> y;
};

TEST(Scaling, ByNormPutsEveryRowIntoTheUnitBallAndOneOnItsEdge) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const RandomRows rows(seed);
    const Scale scale = Fit({}, rows.x, rows.y);
    double longest = 0;
    for (const Row& row : rows.x) {
      const auto scaled = Apply(scale, row);
      longest = std::max(longest, std::hypot(static_cast<double>(scaled[0]), scaled[1]));
    }
    EXPECT_NEAR(longest, 1, 2e-7) << seed;  // two floats, each rounded by 6e-8 of at most 1
  }
}

TEST(Scaling, ByRangeUsesBothEndsOfEveryRangeAndNoMore) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const RandomRows rows(seed);
    const Scale scale = Fit({.kind = Scaling::kRange}, rows.x, rows.y);
    for (std::size_t column = 0; column < 2; ++column) {
      float low = 2;
      float high = -2;
      for (const Row& row : rows.x) {
        const float value = Apply(scale, row).at(column);
        low = std::min(low, value);
        high = std::max(high, value);
      }
      const bool constant = column == 1 && seed % 3 == 0;
      EXPECT_EQ(low, constant ? 0 : -1) << seed;
      EXPECT_EQ(high, constant ? 0 : 1) << seed;
    }
  }
}

TEST(Scaling, OfLabelsFillsTheUnitIntervalAndIsUndone) {
  for (const Scaling kind : {Scaling::kNorm, Scaling::kRange}) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      const RandomRows rows(seed);
      const Scale scale = Fit({.kind = kind}, rows.x, rows.y);
      const double width = scale.target.high - scale.target.low;
      std::vector<double> scaled;
      for (const double y : rows.y) {
        scaled.push_back(scale.ScaleLabel(y));
        // Three roundings of numbers no larger than the ends.
        const double bound = 4e-16 * (width + std::abs(scale.target.low));
        EXPECT_NEAR(scale.UnscaleLabel(scaled.back()), y, bound) << seed;
        EXPECT_FALSE(scale.ClipsLabel(y));
      }
      EXPECT_EQ(*std::ranges::min_element(scaled), 0);
      EXPECT_EQ(*std::ranges::max_element(scaled), 1);
      EXPECT_EQ(scale.ScaleLabel(scale.target.high + width), 1);
      EXPECT_EQ(scale.ScaleLabel(scale.target.low - width), 0);
      EXPECT_TRUE(scale.ClipsLabel(scale.target.low - width));
      EXPECT_EQ(scale.UnscaleLabel(2), scale.target.low + 2 * width);  // a bold prediction
    }
  }
}

TEST(Scaling, DoesNotDependOnTheOrderOfTheRows) {
  for (const Scaling kind : {Scaling::kNorm, Scaling::kRange}) {
    RandomRows rows(7);
    const Scale one = Fit({.kind = kind}, rows.x, rows.y);
    std::ranges::reverse(rows.x);
    std::ranges::reverse(rows.y);
    const Scale other = Fit({.kind = kind}, rows.x, rows.y);
    EXPECT_EQ(one.norm, other.norm);
    EXPECT_EQ(one.target.low, other.target.low);
    EXPECT_EQ(one.target.high, other.target.high);
    for (const Row& row : rows.x) EXPECT_EQ(Apply(one, row), Apply(other, row));
  }
}

TEST(Scaling, DoesNotCountTheEndsOfADeclaredRangeAsOutside) {
  const Scale scale = Fit({.kind = Scaling::kRange, .ranges = {{"p", {-1, 3}}, {"t", {0, 2}}}},
                          {{9, 1}, {9, 2}}, {5, 6});
  EXPECT_THAT(Apply(scale, {-1, 1}), ElementsAre(-1, -1));
  EXPECT_THAT(Apply(scale, {3, 2}), ElementsAre(1, 1));
  EXPECT_THAT(Apply(scale, {std::nextafter(3.0, 4.0), 2}, 1), ElementsAre(1, 1));
  EXPECT_FALSE(scale.ClipsLabel(0));
  EXPECT_TRUE(scale.ClipsLabel(std::nextafter(2.0, 3.0)));
}

TEST(Scaling, UsesNoBackgroundButWithTheNorm) {
  const Scale scale = Fit({.kind = Scaling::kRange, .background = 3}, {{0, 1}, {4, 2}}, {1, 2});
  EXPECT_EQ(scale.background, 0);
  EXPECT_THAT(Apply(scale, {2, 1}), ElementsAre(0, -1));
}

TEST(Scaling, RefusesEveryRangeWithoutAnInside) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  constexpr double kLargest = std::numeric_limits<double>::max();
  const std::vector<std::pair<Range, std::string>> cases = {
      {{3, 3}, "[3, 3]"},
      {{3, -3.5}, "[3, -3.5]"},
      {{0, kInfinite}, "[0, inf]"},
      {{-kInfinite, 0}, "[-inf, 0]"},
      {{0, std::numeric_limits<double>::quiet_NaN()}, "[0, nan]"},
      {{-kLargest, kLargest}, "[-1.7976931348623157e+308, 1.7976931348623157e+308]"}};
  for (const auto& [range, text] : cases) {
    for (const Scaling kind : {Scaling::kNone, Scaling::kNorm, Scaling::kRange}) {
      EXPECT_EQ(MessageOf([&] {
                  Fit({.kind = kind, .ranges = {{"t", range}}}, {}, {});
                }),
                "the declared range of column \"t\" is " + text +
                    "; its low end must be below its high end, and both finite");
    }
  }
}

TEST(Scaling, SaysWhatElseARangeCouldBeDeclaredFor) {
  EXPECT_EQ(MessageOf([] {
              Fit({.ranges = {{"pp", {0, 3}}}}, {}, {});
            }),
            "a range is declared for \"pp\", which is neither an input nor the target; did you "
            "mean \"p\"?");
  EXPECT_EQ(MessageOf([] {
              Fit({.ranges = {{"p", {0, 3}}}}, {}, {});
            }),
            "a range is declared for the input \"p\", which scaling=norm does not use; add "
            "scaling=range");
}

TEST(Scaling, RefusesAScannedRangeWhoseWidthIsNotANumber) {
  EXPECT_EQ(MessageOf([] {
              Fit({.kind = Scaling::kRange}, {{0, -1e308}, {1, 1.5e308}}, {1, 2});
            }),
            "column \"q\" goes from -1e+308 to 1.5e+308, which is too wide to scale; change its "
            "unit");
  EXPECT_THAT(MessageOf([] {
                Fit({}, {{0, 1}, {1, 2}}, {-1e308, 1e308});
              }),
              HasSubstr("column \"t\" goes from -1e+308 to 1e+308"));
}

TEST(ScaleTest, TellsNoLabelThatIsOutsideTheRange) {
  Scale scale;
  scale.target = {-10, 30};
  scale.scales_labels = true;
  EXPECT_EQ(scale.ToldLabel(0.5), 10);
  EXPECT_EQ(scale.ToldLabel(7), 30);
  EXPECT_EQ(scale.ToldLabel(-0.001), -10);
  EXPECT_EQ(scale.UnscaleLabel(1.5), 50) << "which nobody is told";
  scale.scales_labels = false;
  EXPECT_EQ(scale.ToldLabel(7), 7);
}

}  // namespace
}  // namespace polykern
