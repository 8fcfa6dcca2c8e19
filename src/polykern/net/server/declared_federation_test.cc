#include "polykern/net/server/declared_federation.h"

#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/io/folder_testing.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/sqlite/sqlite_internal.h"
#include "polykern/net/store/open_store.h"
#include "polykern/net/store/store_testing.h"

namespace polykern {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

DeclaredFederation Wind() {
  DeclaredFederation wind;
  wind.algorithm = "pof-newton";
  wind.options = {{"ridge", "0.5"}};
  wind.columns = {"speed", "gust"};
  wind.ranges = {{"speed", 0, 30}, {"gust", 0, 60}};
  wind.target = "power";
  wind.target_range = {"", 0, 3000};
  wind.seed = 7;
  return wind;
}

TEST(ADeclaredFederation, IsWhatIsSaidAndDefaultsForTheRest) {
  const FederationConfiguration f = Complete(Wind(), {}, 0);
  EXPECT_EQ(f.algorithm, "pof-newton");
  EXPECT_EQ(f.options.ridge, 0.5);
  EXPECT_EQ(f.options.kernels, 51U);
  EXPECT_EQ(f.scaling, "range");
  EXPECT_EQ(f.columns[1].high, 60);
  EXPECT_EQ(f.target.name, "power");
  EXPECT_EQ(f.target.high, 3000);
  EXPECT_EQ(f.problem.dimension, 2U);
  EXPECT_EQ(f.problem.horizon, kEndlessHorizon);
  EXPECT_EQ(f.problem.seed, 7U);
  EXPECT_EQ(Complete(Wind(), {}, 500).problem.horizon, 500U);
}

TEST(ADeclaredFederation, DoesNotPromiseNoiseThatIsNotAdded) {
  DeclaredFederation wind = Wind();
  wind.options = {{"epsilon", "1"}};
  EXPECT_THAT([&] { Complete(wind, {}, 0); },
              ThrowsMessage<Error>(HasSubstr("pof-newton has no noise")));
  wind.algorithm = "pof-gram";
  EXPECT_EQ(Complete(wind, {}, 0).options.epsilon, 1);
  wind.options["epsilon"] = "none";
  EXPECT_EQ(Complete(wind, {}, 0).options.epsilon, 0);
}

TEST(ADeclaredFederation, LetsNothingLeakBesideNoise) {
  DeclaredFederation wind = Wind();
  wind.options = {{"epsilon", "1"}};
  wind.algorithm = "pof-gram";
  const FederationConfiguration stored = Complete(wind, {}, 0);
  const auto refused = [](const DeclaredFederation& said, const auto& before, const char* why) {
    EXPECT_THAT([&] { Complete(said, before, 0); }, ThrowsMessage<Error>(HasSubstr(why))) << why;
  };
  DeclaredFederation learns = wind;
  learns.ranges.clear();
  learns.target_range.reset();
  learns.learn_ranges = 10;
  refused(learns, std::optional<FederationConfiguration>(), "extreme values would leave clients");
  DeclaredFederation plain = wind;
  plain.target_range.reset();
  plain.plain_labels = true;
  refused(plain, std::optional<FederationConfiguration>(), "which must be known to all");
  refused(plain, std::optional(stored), "which must be known to all");
  DeclaredFederation imputes = wind;
  imputes.missing = "impute";
  refused(imputes, std::optional<FederationConfiguration>(), "a row into every later one");
}

TEST(ADeclaredFederation, TakesFromTheStoreWhateverIsNotSaid) {
  const FederationConfiguration stored = Complete(Wind(), {}, 500);
  EXPECT_EQ(ToTexts(Complete({}, stored, 0)), ToTexts(stored));
  EXPECT_EQ(ToTexts(Complete(Wind(), stored, 20)), ToTexts(stored));
  const auto differs = [&](const DeclaredFederation& said) {
    return Differences(ToTexts(stored), ToTexts(Complete(said, stored, 0)));
  };
  EXPECT_EQ(differs({.options = {{"ridge", "0.5"}}}), "");
  EXPECT_EQ(differs({.options = {{"ridge", "2"}}}), "ridge: 0.5 -> 2");
  EXPECT_EQ(differs({.options = {{"forgetting", "0.9"}}}), "forgetting: 1 -> 0.9");
  EXPECT_EQ(differs({.ranges = {{"gust", 0, 60}}}), "");
  EXPECT_EQ(differs({.ranges = {{"gust", 0, 90}}}), "column.1: 0:60 gust -> 0:90 gust");
  EXPECT_EQ(differs({.columns = {"speed", "gust"}}), "");
  EXPECT_EQ(differs({.columns = {"gust", "speed"}}),
            "column.0: 0:30 speed -> 0:60 gust, column.1: 0:60 gust -> 0:30 speed");
  EXPECT_EQ(differs({.target = "power"}), "");
  EXPECT_EQ(differs({.target_range = ColumnRange{"", 0, 9}}), "target: 0:3000 power -> 0:9 power");
  EXPECT_EQ(differs({.horizon = 40}), "horizon: 500 -> 40");
  EXPECT_EQ(differs({.seed = 0}), "seed: 7 -> 0");
  EXPECT_EQ(differs({.scaling = "range"}), "");
}

TEST(ADeclaredFederation, RefusesWhatIsWrongMissingOrWithoutEffect) {
  const auto expect = [](const auto& change, const char* words) {
    DeclaredFederation said = Wind();
    change(said);
    EXPECT_THAT([&] { Complete(said, {}, 0); }, ThrowsMessage<Error>(HasSubstr(words)));
  };
  expect([](auto& s) { s.algorithm = "fedavg"; }, "unknown algorithm 'fedavg'");
  expect([](auto& s) { s.options["hue"] = "red"; }, "no option hue");
  expect([](auto& s) { s.options["kernels"] = "many"; }, "kernels: 'many' is not a whole number");
  expect([](auto& s) { s.options["loss"] = "huber"; }, "loss must be squared for pof-newton");
  expect([](auto& s) { s.options["ridge"] = "0"; }, "ridge is 0; it must be above 0");
  expect([](auto& s) { s.columns = {"speed", "speed"}; }, R"(columns names "speed" twice)");
  expect([](auto& s) { s.ranges[1].name = "gusts"; },
         R"(range is given for "gusts"; did you mean "gust"?)");
  expect([](auto& s) { s.ranges[1].name = "speed"; }, R"(range is given twice for "speed")");
  expect([](auto& s) { s.ranges[1].high = -1; }, R"(range of "gust" must be finite)");
  expect([](auto& s) { s.ranges.pop_back(); }, "scaling=range needs columns");
  expect([](auto& s) { s.scaling = "norm"; }, "range does not go with scaling=norm");
  expect([](auto& s) { s.norm = 3; }, "norm needs scaling=norm");
  expect([](auto& s) { s.target = "gust"; }, R"(target "gust" is one of the columns as well)");
  expect([](auto& s) { s.target_range = ColumnRange{"", 1, 1}; }, R"(target_range of "power")");
  expect([](auto& s) { s.target_range.reset(); }, "target_range=LOW:HIGH is needed");
  EXPECT_THAT([] { Complete({}, {}, 0); }, ThrowsMessage<Error>(HasSubstr("how many inputs")));
  EXPECT_THAT([] { Complete({.columns = {"a"}, .scaling = "norm"}, {}, 0); },
              ThrowsMessage<Error>(HasSubstr("scaling=norm needs norm=R")));
}

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

TEST(ADeclaredFederation, TellsOptionsThatItsAlgorithmDoesNotUse) {
  DeclaredFederation said = Wind();
  said.options["meta_rate"] = "0.5";
  EXPECT_EQ(ToTexts(Complete(said, {}, 0)), ToTexts(Complete(Wind(), {}, 0)));
  EXPECT_EQ(OptionsWithoutEffect(said, "pof-newton"), (std::vector<std::string>{"meta_rate"}));
  EXPECT_EQ(OptionsWithoutEffect(said, "perfedavg"), (std::vector<std::string>{"ridge"}));
}

TEST(ADeclaredFederation, KeepsItsStoresHorizonWhateverTheSteps) {
  const TestFolder folder;
  const std::string path = folder.At("store.db");
  const DeclaredFederation said = {.dimension = 2, .plain_labels = true};
  const auto horizon = [&](std::uint64_t steps) {
    return CompleteForStore(said, path, steps).problem.horizon;
  };
  EXPECT_EQ(horizon(50), 50U);
  EXPECT_EQ(horizon(0), kEndlessHorizon);
  const auto store = OpenStore(path, ToTexts(Complete(said, {}, 7)));
  EXPECT_EQ(horizon(50), 7U);
  CommitTo(*store, 1);
  EXPECT_EQ(horizon(50), 7U);
}

TEST(ADeclaredFederation, IsANewOneIfItsStoreWasNeverFinished) {
  const TestFolder folder;
  const std::string path = folder.At("store.db");
  const DeclaredFederation said = {.dimension = 2, .plain_labels = true};
  folder.Write("store.db", "");
  EXPECT_EQ(CompleteForStore(said, path, 7).problem.horizon, 7U);
  {  // a server stopped after its first write: pages, but no tables
    Database database(path, Database::Mode::kWrite);
    database.Run("PRAGMA journal_mode = WAL; PRAGMA user_version = 1; PRAGMA user_version = 0");
  }
  ASSERT_GT(std::filesystem::file_size(path), 0U);
  const FederationConfiguration f = CompleteForStore(said, path, 7);
  EXPECT_EQ(f.problem.horizon, 7U);
  EXPECT_NO_THROW(OpenStore(path, ToTexts(f)));
  folder.Write("other.db", "something else");
  EXPECT_THROW(CompleteForStore(said, folder.At("other.db"), 7), Error);
}

TEST(ADeclaredFederation, IsThatOfAStoreOfVersion2) {
  const TestFolder folder;
  const std::string path = folder.At("store.db");
  ConfigurationTexts old = ToTexts(Complete(Wind(), {}, 7));
  old["local_experts"] = "no";
  old["projection_radius"] = "10";
  { EnrolIn(*OpenStore(path, old), {"a"}); }
  const FederationConfiguration f = CompleteForStore({}, path, 0);
  EXPECT_EQ(f.options.experts, Experts::kFederated);
  EXPECT_NO_THROW(OpenStore(path, ToTexts(f)));
  EXPECT_EQ(ReadStore(path).configuration, old);  // nothing was written
  const FederationConfiguration other = CompleteForStore({.options = {{"ridge", "9"}}}, path, 0);
  EXPECT_THAT([&] { OpenStore(path, ToTexts(other)); },
              ThrowsMessage<Error>(HasSubstr("(ridge: 0.5 -> 9)")));
  old["hue"] = "21";
  std::filesystem::remove(path);
  { EnrolIn(*OpenStore(path, old), {"a"}); }
  EXPECT_THAT([&] { CompleteForStore({}, path, 0); },
              ThrowsMessage<Error>(AllOf(HasSubstr("store.db"), HasSubstr("has hue"))));
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

TEST(ADeclaredFederation, IsCompleteAfterOnce) {
  for (const DeclaredFederation& said :
       {Wind(), DeclaredFederation{.dimension = 3, .plain_labels = true},
        DeclaredFederation{.algorithm = "pof-mkl", .columns = {"a"}, .plain_labels = true},
        DeclaredFederation{.columns = {"a"}, .target_range = ColumnRange{"", 3, 4}, .seed = 1},
        DeclaredFederation{.dimension = 1, .target = "y", .plain_labels = true, .horizon = 9}}) {
    const FederationConfiguration once = Complete(said, {}, 70);
    EXPECT_EQ(ToTexts(Complete(said, once, 0)), ToTexts(once));
    EXPECT_EQ(ToTexts(Complete({}, once, 1)), ToTexts(once));
    EXPECT_EQ(ToTexts(FromTexts(ToTexts(once))), ToTexts(once));
  }
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

TEST(ADeclaredFederation, IsOfSumsIfItIsNew) {
  const DeclaredFederation said = {.dimension = 2, .plain_labels = true};
  EXPECT_EQ(Complete(said, {}, 0).algorithm, "pof-gram");
  const FederationConfiguration stored =
      FromTexts({{"algorithm", "pof-mkl"}, {"dimension", "2"}, {"horizon", "9"}, {"seed", "0"}});
  EXPECT_EQ(Complete(said, stored, 0).algorithm, "pof-mkl");
  EXPECT_EQ(ToTexts(Complete(said, stored, 0)), ToTexts(stored)) << "as before there were ranges";
  DeclaredFederation classes = said;
  classes.options = {{"loss", "logistic"}};
  EXPECT_EQ(
      MessageOf([&] { Complete(classes, {}, 0); }),
      "loss must be squared for pof-gram: leave it out, or choose an algorithm that can, such "
      "as algorithm=pof-adagrad");
  classes.algorithm = "pof-adagrad";
  EXPECT_EQ(Complete(classes, {}, 0).options.loss, LossKind::kLogistic);
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

TEST(ADeclaredFederation, SaysExactlyWhatDoesNotGoTogether) {
  const double infinite = std::numeric_limits<double>::infinity();
  const auto complaint = [](const DeclaredFederation& said) {
    return MessageOf([&] { Complete(said, {}, 0); });
  };
  EXPECT_EQ(complaint({.dimension = 3, .columns = {"a", "b"}, .plain_labels = true}),
            "the federation's configuration has 2 columns, but the dimension 3");
  EXPECT_EQ(complaint({.columns = {"a"}, .scaling = "log", .target_range = ColumnRange{"", 0, 1}}),
            "the federation's configuration has the scaling 'log', which is not known here; is the "
            "other side a newer version of polykern?");
  EXPECT_EQ(complaint({.columns = {"a"}, .norm = 2}), "norm needs scaling=norm");
  EXPECT_EQ(complaint({.columns = {"a"}, .ranges = {{"a", 0, 1}}, .scaling = "none"}),
            "range does not go with scaling=none; leave out one of them");
  for (const double high : {infinite, std::nan(""), 0.0, -1.0}) {
    EXPECT_EQ(
        complaint(
            {.columns = {"a"}, .ranges = {{"a", 0, high}}, .target_range = ColumnRange{"", 0, 1}}),
        "range of \"a\" must be finite, the low end first");
  }
  EXPECT_EQ(complaint({.columns = {"a"},
                       .ranges = {{"a", 0, 1}},
                       .target = "y",
                       .target_range = ColumnRange{"", -infinite, 1}}),
            "target_range of \"y\" must be finite, the low end first");
  EXPECT_EQ(complaint({.dimension = 0}),
            "say how many inputs a sample has: columns=NAME,NAME,... or dimension=D");
}

TEST(ADeclaredFederation, OffersNoColumnsWhereItHasNone) {
  EXPECT_EQ(MessageOf([] {
              Complete({.dimension = 1, .ranges = {{"a", 0, 1}}}, {}, 0);
            }),
            "range is given for \"a\"; there is none to choose from");
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
    EXPECT_THAT(refusal(both), HasSubstr("learn_ranges learns every range: leave out range"));
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
