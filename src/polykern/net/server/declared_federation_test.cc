#include "polykern/net/server/declared_federation.h"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/error.h"
#include "polykern/io/folder_testing.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/server/declared_federation_testing.h"
#include "polykern/net/sqlite/sqlite_internal.h"
#include "polykern/net/store/store_testing.h"
#include "polykern/net/store_kinds/open_store.h"

namespace polykern {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

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
  expect([](auto& s) { s.scaling = "norm"; }, "range cannot be combined with scaling=norm");
  expect([](auto& s) { s.norm = 3; }, "norm needs scaling=norm");
  expect([](auto& s) { s.target = "gust"; }, R"(target "gust" is one of the columns as well)");
  expect([](auto& s) { s.target_range = ColumnRange{"", 1, 1}; }, R"(target_range of "power")");
  expect([](auto& s) { s.target_range.reset(); }, "target_range=LOW:HIGH is needed");
  EXPECT_THAT([] { Complete({}, {}, 0); },
              ThrowsMessage<Error>(HasSubstr("the number of inputs is not given")));
  EXPECT_THAT([] { Complete({.columns = {"a"}, .scaling = "norm"}, {}, 0); },
              ThrowsMessage<Error>(HasSubstr("scaling=norm needs norm=R")));
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
            "range cannot be combined with scaling=none; leave out one of them");
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
            "the number of inputs is not given; add columns=NAME,NAME,... or dimension=D");
}

}  // namespace
}  // namespace polykern
