#include "polykern/net/learnt_ranges.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/broken_rule.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/server/declared_federation.h"

namespace polykern {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

FederationConfiguration Learning() {
  return Complete({.columns = {"wind", "heat"}, .target = "power", .learn_ranges = 9}, {}, 0);
}

TEST(LearntRanges, AreThoseOverAllClientsWithAMargin) {
  LearntRanges ranges(Learning());
  EXPECT_TRUE(ranges.Take(1, {{0, -10, 100}, {8, 20, 900}}));
  EXPECT_TRUE(ranges.Take(0, {{2, -30, 0}, {10, 10, 500}}));
  EXPECT_TRUE(ranges.Has(1));
  EXPECT_FALSE(ranges.Has(2));
  const FederationConfiguration known = ranges.Federation();
  EXPECT_EQ(ToTexts(known), ToTexts(Complete({.columns = {"wind", "heat"},
                                              .ranges = {{"wind", -1, 11}, {"heat", -35, 25}},
                                              .target = "power",
                                              .target_range = ColumnRange{"", -90, 990}},
                                             {}, 0)))
      << "as if they had been declared";
}

TEST(LearntRanges, AreNotToldOfWhatAgentsMake) {
  DeclaredFederation declared{.columns = {"wind"}, .target = "power", .learn_ranges = 5};
  declared.lags = {{1, 24}};
  declared.calendar = {{"hour"}};
  declared.time = "when";
  const FederationConfiguration learning = Complete(declared, {}, 0);
  EXPECT_EQ(learning.problem.dimension, 5U);
  LearntRanges ranges(learning);
  EXPECT_TRUE(ranges.Take(0, {{0, 100}, {10, 200}}));
  const FederationConfiguration known = ranges.Federation();
  EXPECT_TRUE(IsLearntFrom(learning, known));
  declared.learn_ranges.reset();
  declared.ranges = {{"wind", -1, 11}};
  declared.target_range = ColumnRange{"", 90, 210};
  EXPECT_EQ(ToTexts(known), ToTexts(Complete(declared, {}, 0)));
  EXPECT_EQ(known.columns[2].name, "power.lag24");
  EXPECT_EQ(known.columns[2].high, 210);
  // Nothing has to be declared again for its store.
  EXPECT_EQ(ToTexts(known), ToTexts(Complete({}, known, 0)));
  EXPECT_EQ(ToTexts(known), ToTexts(Complete({.columns = {"wind"}}, known, 0)));
}

TEST(LearntRanges, DoNotDependOnTheOrderOfClients) {
  const ClientRanges a{{0.1, 0, -0.0}, {0.3, 0, 0}};
  const ClientRanges b{{0.2, -0.0, 0}, {0.7, 0, 0}};
  LearntRanges one(Learning());
  LearntRanges other(Learning());
  one.Take(0, a);
  one.Take(1, b);
  other.Take(0, b);
  other.Take(1, a);
  EXPECT_EQ(ToTexts(one.Federation()), ToTexts(other.Federation()));
}

TEST(LearntRanges, OfConstantColumnsLieAroundTheirValue) {
  LearntRanges ranges(Learning());
  ranges.Take(0, {{0, -40, 1e300}, {0, -40, 1e300}});
  const FederationConfiguration known = FromTexts(ToTexts(ranges.Federation()));
  EXPECT_EQ(known.columns[0].low, -1);
  EXPECT_EQ(known.columns[0].high, 1);
  EXPECT_EQ(known.columns[1].low, -80);
  EXPECT_EQ(known.columns[1].high, 0);
  EXPECT_EQ(known.target.high, 2e300);
}

TEST(LearntRanges, OfTheLargestNumbersHaveAWidth) {
  LearntRanges ranges(Learning());
  ranges.Take(0, {{-1e300, -1e300, -1e300}, {1e300, 1e300, 1e300}});
  EXPECT_NO_THROW(FromTexts(ToTexts(ranges.Federation())));
}

TEST(LearntRanges, RefuseWhatCannotBeAsAWhole) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  LearntRanges ranges(Learning());
  const auto broken = [&](const ClientRanges& told) {
    try {
      ranges.Take(0, told);
    } catch (const BrokenRule& rule) {
      return rule.rule;
    }
    return Rule::kEnded;
  };
  EXPECT_EQ(broken({{0, 0}, {1, 1}}), Rule::kLengths);
  EXPECT_EQ(broken({{0, 0, 0}, {1, 1}}), Rule::kLengths);
  EXPECT_EQ(broken({}), Rule::kLengths);
  EXPECT_EQ(broken({{0, kNan, 0}, {1, 1, 1}}), Rule::kNumbers);
  EXPECT_EQ(broken({{0, 0, 0}, {1, 1, kInf}}), Rule::kNumbers);
  EXPECT_EQ(broken({{0, 0, -1.1e300}, {1, 1, 1}}), Rule::kNumbers);
  EXPECT_EQ(broken({{0, 2, 0}, {1, 1, 1}}), Rule::kNumbers);
  EXPECT_EQ(ranges.size(), 0U);
}

TEST(LearntRanges, TakeTheSameTwiceAndNothingElse) {
  LearntRanges ranges(Learning());
  EXPECT_TRUE(ranges.Take(0, {{0, 0, 0}, {1, 1, 1}}));
  const ConfigurationTexts before = ToTexts(ranges.Federation());
  EXPECT_FALSE(ranges.Take(0, {{0, 0, 0}, {1, 1, 1}}));
  EXPECT_THAT(
      [&] {
        ranges.Take(0, {{0, 0, 0}, {1, 2, 1}});
      },
      ThrowsMessage<BrokenRule>(HasSubstr("this client sent different ranges before")));
  EXPECT_EQ(ToTexts(ranges.Federation()), before);
}

TEST(LearntRanges, BelongToTheFederationThatLearntThem) {
  LearntRanges ranges(Learning());
  ranges.Take(0, {{0, 0, 0}, {1, 1, 1}});
  FederationConfiguration known = ranges.Federation();
  EXPECT_TRUE(IsLearntFrom(Learning(), known));
  EXPECT_TRUE(IsLearntFrom(Learning(), Learning()));
  known.problem.seed = 9;
  EXPECT_FALSE(IsLearntFrom(Learning(), known));
  known = ranges.Federation();
  known.columns[1].name = "gust";
  EXPECT_FALSE(IsLearntFrom(Learning(), known));
  known.columns.pop_back();
  EXPECT_FALSE(IsLearntFrom(Learning(), known));
}

}  // namespace
}  // namespace polykern
