#include "polykern/net/made_inputs.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/error.h"
#include "polykern/core/tools_testing.h"
#include "polykern/io/folder_testing.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/learnt_ranges.h"
#include "polykern/net/server/declared_federation.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

DeclaredFederation Stations() {
  DeclaredFederation declared;
  declared.columns = {"wd", "wind"};
  declared.ranges = {{"wind", 0, 20}};
  declared.target = "power";
  declared.target_range = {"", 0, 100};
  declared.categories = {{"wd=N:S"}};
  declared.missing = "impute";
  declared.lags = {{1}};
  return declared;
}

std::vector<std::string> Names(const FederationConfiguration& federation) {
  std::vector<std::string> names;
  for (const ColumnRange& column : federation.columns) names.push_back(column.name);
  return names;
}

TEST(MadeInputs, HaveColumnsAndGoBackToThoseOfSamples) {
  FederationConfiguration f = Complete(Stations(), std::nullopt, 0);
  EXPECT_THAT(Names(f),
              ElementsAre("wd=N", "wd=S", "wind", "wd.missing", "wind.missing", "power.lag1"));
  EXPECT_EQ(f.problem.dimension, 6U);
  EXPECT_EQ(f.own_inputs(), 2U);
  EXPECT_THAT(f.own_columns(), ElementsAre("wd", "wind"));
  EXPECT_EQ(f.columns[0].low, -1);
  EXPECT_EQ(f.columns[2].high, 20);
  EXPECT_EQ(f.columns[5].high, 100);
  const auto texts = ToTexts(f);
  EXPECT_EQ(texts.at("categories"), "wd=N:S");
  EXPECT_EQ(texts.at("missing"), "impute");
  EXPECT_EQ(ToTexts(FromTexts(texts)), texts);
  EXPECT_EQ(ToTexts(Complete({}, f, 0)), texts) << "a store says it all";
  TakeMadeColumnsOut(f);
  EXPECT_THAT(Names(f), ElementsAre("wd", "wind"));
}

TEST(MadeInputs, AndTimesMakeANewFederationForgetByItself) {
  DeclaredFederation declared;
  declared.columns = {"wind"};
  declared.ranges = {{"wind", 0, 20}};
  declared.target_range = {"", 0, 100};
  EXPECT_EQ(Complete(declared, std::nullopt, 0).options.forgetting, 1);
  const auto forgetting = [&](auto change) {
    DeclaredFederation changed = declared;
    change(changed);
    return Complete(changed, std::nullopt, 0).options.forgetting;
  };
  EXPECT_EQ(forgetting([](auto& d) { d.time = "when"; }), kAutoForgetting);
  EXPECT_EQ(forgetting([](auto& d) { d.lags = {{1}}; }), kAutoForgetting);
  EXPECT_EQ(forgetting([](auto& d) {
              d.time = "when";
              d.options = {{"forgetting", "0.99"}};
            }),
            0.99);
  EXPECT_EQ(forgetting([](auto& d) {
              d.time = "when";
              d.ahead = 2;
            }),
            1);
  declared.time = "when";
  const FederationConfiguration timed = Complete(declared, std::nullopt, 0);
  EXPECT_EQ(timed.time, "when");
  EXPECT_EQ(timed.problem.dimension, 1U);
  EXPECT_EQ(ToTexts(Complete({}, timed, 0)), ToTexts(timed)) << "a store says it all";
}

TEST(MadeInputs, AreNoneInConfigurationsThatSayNothing) {
  DeclaredFederation declared;
  declared.dimension = 3;
  declared.plain_labels = true;
  declared.missing = "drop";
  const FederationConfiguration f = Complete(declared, std::nullopt, 0);
  EXPECT_EQ(ToTexts(f).count("missing"), 0U);
  EXPECT_EQ(ToTexts(f).count("categories"), 0U);
  EXPECT_EQ(f.own_inputs(), 3U);
}

TEST(MadeInputs, OfAnyTextsShareInputsByTheirHash) {
  DeclaredFederation declared = Stations();
  declared.categories = {{"wd"}};
  const FederationConfiguration f = Complete(declared, std::nullopt, 0);
  EXPECT_EQ(f.problem.dimension, kMostTexts + 4);
  EXPECT_EQ(f.columns[31].name, "wd#31");
  EXPECT_EQ(f.own_inputs(), 2U);
}

TEST(MadeInputs, WaitForRangesThatAreLearnt) {
  DeclaredFederation declared = Stations();
  declared.ranges.clear();
  declared.target_range.reset();
  declared.learn_ranges = 10;
  LearntRanges ranges(Complete(declared, std::nullopt, 0));
  EXPECT_EQ(ranges.inputs(), 2U);
  ranges.Take(0, {{0, 5, 0}, {1, 15, 100}});
  const FederationConfiguration known = ranges.Federation();
  EXPECT_THAT(Names(known),
              ElementsAre("wd=N", "wd=S", "wind", "wd.missing", "wind.missing", "power.lag1"));
  EXPECT_EQ(known.columns[2].low, 4);
  EXPECT_EQ(known.columns[1].low, -1);
  EXPECT_EQ(known.columns[5].high, 110);
}

TEST(MadeInputs, ThatCannotBeMadeAreRefusedInALine) {
  const auto refusal = [](auto&& change) {
    DeclaredFederation declared = Stations();
    change(declared);
    return MessageOf([&] { Complete(declared, std::nullopt, 0); });
  };
  for (const char* bad : {"wd=", "=N", "wd=N:N", "wd=N::S", ""}) {
    EXPECT_THAT(refusal([&](auto& d) { d.categories = {{bad}}; }), HasSubstr("not of the form"));
  }
  EXPECT_THAT(refusal([](auto& d) { d.categories = {{"wt=N:S"}}; }), HasSubstr("did you mean"));
  EXPECT_THAT(refusal([](auto& d) { d.categories = {{"wd=N", "wd=S"}}; }), HasSubstr("twice"));
  EXPECT_THAT(refusal([](auto& d) { d.missing = "guess"; }), HasSubstr("knows drop and impute"));
  EXPECT_THAT(refusal([](auto& d) {
                std::string many = "wd=0";
                for (int i = 1; i < 33; ++i) many += ":" + std::to_string(i);
                d.categories = {{many}};
              }),
              HasSubstr("more than 32 texts"));
}

TEST(MadeInputs, OfATamperedMessageAreRefused) {
  const ConfigurationTexts good = ToTexts(Complete(Stations(), std::nullopt, 0));
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"missing", "guess"},      {"categories", "wd=N:S:W"},    {"categories", "wd"},
      {"categories", "wd=N:N"},  {"categories", "wd=N:S,wind"}, {"column.0", "-1:1 wd=O"},
      {"column.3", "-1:1 other"}};
  for (const auto& [key, value] : changes) {
    ConfigurationTexts bad = good;
    bad[key] = value;
    EXPECT_THROW(FromTexts(bad), Error) << key << " " << value;
  }
}

TEST(MadeInputs, OfFarAheadAreMadeOfLabelsThatAreKnown) {
  DeclaredFederation declared = Stations();
  declared.ahead = 3;
  declared.lags = {{3, 24}};
  const FederationConfiguration f = Complete(declared, std::nullopt, 0);
  EXPECT_EQ(f.problem.ahead, 3U);
  EXPECT_EQ(ToTexts(f).at("ahead"), "3");
  EXPECT_EQ(ToTexts(Complete(Stations(), std::nullopt, 0)).count("ahead"), 0U);
  declared.lags = {{2, 24}};
  EXPECT_THAT(MessageOf([&] { Complete(declared, std::nullopt, 0); }),
              HasSubstr("the lag 2, which is not known 3 steps ahead; choose at least 3"));
  for (const char* bad : {"0", "1001", "x", "-1"}) {
    ConfigurationTexts texts = ToTexts(f);
    texts["ahead"] = bad;
    EXPECT_THROW(FromTexts(texts), Error) << bad;
  }
}

}  // namespace
}  // namespace polykern
