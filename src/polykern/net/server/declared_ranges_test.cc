// How a declared federation scales inputs and labels: by ranges, by a norm, by what it learns.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/io/folder_testing.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/server/declared_federation.h"
#include "polykern/net/server/declared_federation_testing.h"

namespace polykern {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(ADeclaredFederation, NeedsARangeForEveryColumnThatItsStoreDoesNotKnow) {
  const FederationConfiguration stored = Complete(Wind(), {}, 500);
  const auto complete = [&](const DeclaredFederation& said) { return Complete(said, stored, 0); };
  EXPECT_THAT(
      [&] {
        complete({.columns = {"speed", "heat"}});
      },
      ThrowsMessage<Error>(HasSubstr("a range=COLUMN=LOW:HIGH for each")));
  EXPECT_EQ(complete({.columns = {"speed", "heat"}, .ranges = {{"heat", -9, 9}}}).columns[1].low,
            -9);
  EXPECT_EQ(complete({.dimension = 2}).columns.size(), 2U);
  EXPECT_THAT([&] { complete({.dimension = 3}); },
              ThrowsMessage<Error>(HasSubstr("needs columns")));
  const FederationConfiguration bare = Complete({.dimension = 2, .plain_labels = true}, {}, 500);
  EXPECT_THAT(
      [&] {
        Complete({.columns = {"a", "b"}, .ranges = {{"a", 0, 1}}}, bare, 0);
      },
      ThrowsMessage<Error>(HasSubstr("the store's inputs are not scaled by ranges")));
}

TEST(ADeclaredFederation, CanBeScaledByANorm) {
  const DeclaredFederation said = {
      .columns = {"a", "b"}, .scaling = "norm", .norm = 5, .target_range = ColumnRange{"", -1, 1}};
  const FederationConfiguration f = Complete(said, {}, 0);
  EXPECT_EQ(f.scaling, "norm");
  EXPECT_EQ(f.norm, 5);
  EXPECT_EQ(f.target.low, -1);
  EXPECT_EQ(ToTexts(Complete({}, f, 0)), ToTexts(f));  // the store has the norm
  EXPECT_EQ(Differences(ToTexts(f), ToTexts(Complete({.norm = 6}, f, 0))), "norm: 5 -> 6");
  EXPECT_THAT(
      [&] { Complete({.norm = -6}, f, 0); },
      ThrowsMessage<Error>("the federation's configuration has a norm that is not above 0"));
}

TEST(ADeclaredFederation, NeedsATargetRangeAsSoonAsItScales) {
  const FederationConfiguration bare = Complete(
      {.algorithm = "pof-mkl", .columns = {"a"}, .target = "y", .plain_labels = true}, {}, 500);
  DeclaredFederation scaled = {.ranges = {{"a", 0, 9}}, .scaling = "range"};
  EXPECT_EQ(MessageOf([&] { Complete(scaled, bare, 0); }),
            "target_range=LOW:HIGH is needed: labels are scaled to [0, 1] by it; target_range=none "
            "uses them as they are, and learn_ranges=N learns all ranges");
  scaled.target_range = ColumnRange{"", 2, 3};
  const FederationConfiguration f = Complete(scaled, bare, 0);
  EXPECT_EQ(f.target.name, "y");
  EXPECT_EQ(f.target.low, 2);
  EXPECT_EQ(f.columns[0].high, 9);
}

/// The texts that say how labels are scaled.
std::string LabelTexts(const FederationConfiguration& f) {
  const ConfigurationTexts texts = ToTexts(f);
  const auto text = [&](const char* name) { return texts.contains(name) ? texts.at(name) : "-"; };
  return text("target") + ", " + text("labels");
}

TEST(ADeclaredFederation, ScalesLabelsByTheirRangeWhetherInputsAreScaledOrNot) {
  DeclaredFederation said = Wind();
  EXPECT_EQ(LabelTexts(Complete(said, {}, 0)), "0:3000 power, -") << "as before";
  said.ranges.clear();
  EXPECT_EQ(LabelTexts(Complete(said, {}, 0)), "0:3000 power, range");
  EXPECT_TRUE(Complete(said, {}, 0).ScalesLabels());
  said.target_range.reset();
  EXPECT_THAT([&] { Complete(said, {}, 0); },
              ThrowsMessage<Error>(HasSubstr("target_range=LOW:HIGH is needed")));
  said.plain_labels = true;
  said.algorithm = "pof-mkl";
  EXPECT_EQ(LabelTexts(Complete(said, {}, 0)), "0:1 power, -") << "as before";
  EXPECT_FALSE(Complete(said, {}, 0).ScalesLabels());
  said.ranges = Wind().ranges;
  EXPECT_EQ(LabelTexts(Complete(said, {}, 0)), "0:1 power, none");
  EXPECT_FALSE(Complete(said, {}, 0).ScalesLabels());
}

TEST(ADeclaredFederation, ClipsPlainLabelsForAlgorithmsThatNeedThemBetweenZeroAndOne) {
  DeclaredFederation said = {.dimension = 2, .plain_labels = true};
  for (const std::string_view name : AlgorithmNames()) {
    said.algorithm = name;
    EXPECT_EQ(LabelTexts(Complete(said, {}, 0)), TraitsOf(name).any_loss ? "-, -" : "-, range");
  }
}

TEST(ADeclaredFederation, NamesLabelsThatAreNotScaledAsInItsStore) {
  const FederationConfiguration stored = Complete(Wind(), {}, 500);
  const auto differs = [&](const FederationConfiguration& before, const DeclaredFederation& said) {
    return Differences(ToTexts(before), ToTexts(Complete(said, before, 0)));
  };
  EXPECT_EQ(differs(stored, {.plain_labels = true}), "target: 0:3000 power -> 0:1 power");
  DeclaredFederation mkl = Wind();
  mkl.algorithm = "pof-mkl";
  EXPECT_EQ(differs(Complete(mkl, {}, 500), {.plain_labels = true}),
            "labels: (not set) -> none, target: 0:3000 power -> 0:1 power");
}

TEST(ADeclaredFederation, OffersNoColumnsWhereItHasNone) {
  EXPECT_EQ(MessageOf([] {
              Complete({.dimension = 1, .ranges = {{"a", 0, 1}}}, {}, 0);
            }),
            "range is given for \"a\"; none are available");
}

TEST(ADeclaredFederation, MayLearnItsRanges) {
  const DeclaredFederation learns{
      .columns = {"speed", "gust"}, .target = "power", .learn_ranges = 50};
  const FederationConfiguration f = Complete(learns, {}, 0);
  EXPECT_EQ(f.learn_ranges, 50U);
  EXPECT_EQ(f.scaling, "range");
  EXPECT_TRUE(f.ScalesLabels());
  EXPECT_EQ(ToTexts(f).at("learn_ranges"), "50");
  EXPECT_EQ(ToTexts(Complete({}, f, 0)), ToTexts(f)) << "it still does";
  EXPECT_EQ(ToTexts(Complete(learns, f, 0)), ToTexts(f));
  DeclaredFederation wind = Wind();
  wind.algorithm.reset();
  const FederationConfiguration known = Complete(wind, {}, 0);
  EXPECT_EQ(ToTexts(Complete(learns, known, 0)), ToTexts(known)) << "the store's stay";
}

TEST(ADeclaredFederation, LearnsEveryRangeOrNone) {
  const auto refusal = [](const DeclaredFederation& declared,
                          const std::optional<FederationConfiguration>& stored = {}) {
    try {
      Complete(declared, stored, 0);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const DeclaredFederation learns{.columns = {"a"}, .learn_ranges = 5};
  EXPECT_EQ(refusal(learns), "");
  for (auto change : std::vector<void (*)(DeclaredFederation&)>{
           [](auto& d) {
             d.ranges = {{"a", 0, 1}};
           },
           [](auto& d) { d.target_range = ColumnRange{}; }, [](auto& d) { d.plain_labels = true; },
           [](auto& d) { d.scaling = "none"; }, [](auto& d) { d.norm = 3; }}) {
    DeclaredFederation both = learns;
    change(both);
    EXPECT_THAT(refusal(both), HasSubstr("learn_ranges learns all ranges; leave out range"));
  }
  // As if there were no store: whether it may have other ranges is for the store to judge.
  const FederationConfiguration stored = Complete(learns, {}, 0);
  EXPECT_THAT(refusal({.target_range = ColumnRange{}}, stored), HasSubstr("range=COLUMN=LOW:HIGH"));
  EXPECT_THAT(refusal({.ranges = {{"a", 0, 1}}}, stored), HasSubstr("target_range=LOW:HIGH"));
  const DeclaredFederation all{.ranges = {{"a", 0, 9}}, .target_range = ColumnRange{"", 0, 3}};
  EXPECT_THAT(Differences(ToTexts(stored), ToTexts(Complete(all, stored, 0))),
              HasSubstr("learn_ranges: 5 -> (not set)"));
  EXPECT_THAT(refusal({.dimension = 3, .learn_ranges = 5}), HasSubstr("needs columns=NAME"));
  const FederationConfiguration plain = Complete({.dimension = 1, .plain_labels = true}, {}, 0);
  EXPECT_THAT(refusal({.learn_ranges = 5}, plain), HasSubstr("does not scale by ranges"));
}

}  // namespace
}  // namespace polykern
