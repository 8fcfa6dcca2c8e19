#include "polykern/sim/experiment.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/options.h"
#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/data/source.h"
#include "polykern/data/synthetic.h"

namespace polykern {
namespace {

using testing::HasSubstr;

Row RowOf(std::size_t per_upload) {
  Row row;
  row.options.kernels_per_upload = per_upload;
  return row;
}

FleetOptions SmallFleet(std::size_t clients) {
  FleetOptions fleet;
  fleet.clients = clients;
  fleet.steps = 30;
  return fleet;
}

std::vector<RowResult> RunSmall(const Stream& stream, ExperimentOptions options,
                                std::vector<Row> rows = {RowOf(25), RowOf(51)}) {
  Progress progress;
  auto results = RunExperiment(stream, rows, options, progress);
  EXPECT_EQ(progress.steps_done, progress.steps_total);
  return results;
}

TEST(Experiment, GivesTheSameResultsForAnyThreadsAndWeights) {
  FleetOptions blocks = SmallFleet(260);  // five: enough to go parallel over clients
  blocks.steps = 10;
  const SyntheticFleet fleet(blocks);
  for (const bool carry : {false, true}) {
    ExperimentOptions options;
    options.repetitions = 3;
    options.carry_weights = carry;
    options.threads = 1;
    const auto alone = RunSmall(fleet, options);
    for (const std::size_t threads : {2U, 5U}) {
      options.threads = threads;
      const auto shared = RunSmall(fleet, options);
      for (std::size_t r = 0; r < alone.size(); ++r) {
        EXPECT_EQ(shared[r].fingerprint, alone[r].fingerprint);
        EXPECT_EQ(shared[r].mse.mean, alone[r].mse.mean);
        EXPECT_EQ(shared[r].regret.deviation, alone[r].regret.deviation);
        EXPECT_EQ(shared[r].step_regret, alone[r].step_regret);
      }
    }
  }
}

TEST(Experiment, CarriedWeightsMatterFromTheSecondRepetition) {
  const SyntheticFleet fleet(SmallFleet(20));
  ExperimentOptions options;
  options.repetitions = 1;
  const auto once = RunSmall(fleet, options);
  options.carry_weights = true;
  EXPECT_EQ(RunSmall(fleet, options)[0].fingerprint, once[0].fingerprint);
  options.repetitions = 4;
  const auto carried = RunSmall(fleet, options);
  options.carry_weights = false;
  const auto reset = RunSmall(fleet, options);
  EXPECT_NE(carried[0].fingerprint, reset[0].fingerprint);
  EXPECT_LT(carried[0].mse.mean, reset[0].mse.mean) << "weights learnt before must help here";
}

TEST(Experiment, TheSpreadIsThatOfTheRepetitions) {
  const SyntheticFleet fleet(SmallFleet(20));
  ExperimentOptions options;
  options.repetitions = 6;
  const auto many = RunSmall(fleet, options);
  EXPECT_GT(many[0].mse.deviation, 0);
  EXPECT_EQ(many[0].step_mse.size(), 30U);
  EXPECT_NEAR(SpreadOf(many[0].step_mse).mean, many[0].mse.mean, 1e-12);
  EXPECT_EQ(many[0].samples, 6U * 20U * 30U);
}

TEST(Experiment, ADivergingRowKeepsWhatItHadAndSaysWhere) {
  const SyntheticFleet fleet(SmallFleet(20));
  Row wild = RowOf(1);
  wild.options.learning_rate = 50;
  ExperimentOptions options;
  options.repetitions = 2;
  for (const bool carry : {false, true}) {
    options.carry_weights = carry;
    const auto results = RunSmall(fleet, options, {RowOf(51), wild});
    EXPECT_FALSE(results[0].divergence);
    ASSERT_TRUE(results[1].divergence);
    EXPECT_GT(results[1].divergence->step, 0U);
    EXPECT_EQ(results[1].divergence->repetition, 0U);
    EXPECT_EQ(results[1].step_mse.size(), results[1].divergence->step);
    EXPECT_TRUE(std::isfinite(results[1].mse.mean));
    EXPECT_EQ(results[1].repetitions, 0U);
  }
}

Row Named(std::string_view name) {
  Row row;
  row.algorithm = name;
  return row;
}

TEST(Experiment, SaysWhereThereIsNoRegretNoKernelAndNoFeature) {
  FleetOptions few = SmallFleet(8);  // few and little, for sanitizers
  few.steps = 15;
  const SyntheticFleet fleet(few);
  ExperimentOptions options;
  options.repetitions = 2;
  std::vector<Row> rows;
  for (const auto name : AlgorithmNames()) {
    rows.push_back(Named(name));
    rows.back().options.kernels = 11;
    rows.back().options.local_memory = 32;
  }
  for (const RowResult& result : RunSmall(fleet, options, rows)) {
    const std::string& name = result.row.algorithm;
    SCOPED_TRACE(name);
    EXPECT_FALSE(result.divergence);
    EXPECT_EQ(result.has_regret, name != "perfedavg" && name != "fomd-oms");
    EXPECT_EQ(result.regret_bound.has_value(),
              name == "pof-mkl" || name == "fed-poe" || name == "local");
    EXPECT_EQ(result.features == 0, name == "perfedavg");
    const bool alone = name == "local" || name == "local-rls";
    EXPECT_EQ(result.kernels == 0, name == "perfedavg" || name == "pof-gram" || alone);
    EXPECT_EQ(result.uplink_numbers == 0, alone);
    EXPECT_LE(result.uplink_numbers, name == "pof-gram" ? 21'000U : 1000U);
    EXPECT_LE(result.uplink_numbers_mean, 1000.0);
    EXPECT_GT(result.mse.mean, 0);
  }
}

TEST(Experiment, CarriesNothingOverThatBelongsToOldFeatures) {
  const SyntheticFleet fleet(SmallFleet(20));
  ExperimentOptions options;
  options.repetitions = 3;
  const std::vector<Row> rows = {Named("em-kofl"), Named("vm-kofl"), Named("local")};
  const auto reset = RunSmall(fleet, options, rows);
  options.carry_weights = true;
  const auto carried = RunSmall(fleet, options, rows);
  EXPECT_EQ(carried[0].fingerprint, reset[0].fingerprint);  // all of a client's state is theta
  EXPECT_EQ(carried[1].fingerprint, reset[1].fingerprint);  // clients keep nothing
  EXPECT_NE(carried[2].fingerprint, reset[2].fingerprint);  // its weights
  EXPECT_LT(carried[2].mse.mean, 1.1 * reset[2].mse.mean) << "was theta carried too?";
}

TEST(Experiment, SaysWhatNoiseHasSpent) {
  const SyntheticFleet fleet(SmallFleet(40));
  Row some = Named("pof-gram");
  some.options.epsilon = 2;
  Row all = some;
  all.options.releases = 3;
  const auto results = RunSmall(fleet, {.repetitions = 2}, {Named("pof-gram"), some, all});
  EXPECT_EQ(results[0].epsilon_spent, 0);
  EXPECT_GT(results[1].epsilon_spent, 0.5);
  EXPECT_LT(results[1].epsilon_spent, 1.9) << "of 64 releases most are yet to come";
  EXPECT_GT(results[2].epsilon_spent, 1.999);
  EXPECT_LE(results[2].epsilon_spent, 2);
  EXPECT_TRUE(results[0].step_epsilon.empty());
  for (const RowResult& noisy : {results[1], results[2]}) {
    ASSERT_EQ(noisy.step_epsilon.size(), noisy.step_mse.size());
    EXPECT_TRUE(std::ranges::is_sorted(noisy.step_epsilon));
    EXPECT_NEAR(noisy.step_epsilon.back(), noisy.epsilon_spent, 1e-12);
  }
}

TEST(Experiment, RefusesARowThatWouldExceedItsBudget) {
  const SyntheticFleet fleet(SmallFleet(20));
  Progress progress;
  Row narrow = Named("perfedavg");
  narrow.options.budget = 10;  // the smallest network for 8 inputs takes 11 numbers
  const auto run = [&] { RunExperiment(fleet, {RowOf(1), narrow}, {}, progress); };
  EXPECT_THAT(run, testing::ThrowsMessage<Error>(HasSubstr("11 numbers")));
  EXPECT_EQ(progress.steps_done, 0U);
}

TEST(Experiment, RefusesABadRowBeforeTheFirstStep) {
  const SyntheticFleet fleet(SmallFleet(20));
  Progress progress;
  Row bad = RowOf(52);
  const auto run = [&] { RunExperiment(fleet, {RowOf(1), bad}, {}, progress); };
  EXPECT_THAT(run, testing::ThrowsMessage<Error>(HasSubstr("kernels_per_upload is 52")));
  bad = Named("pof-gram");
  bad.options.epsilon = 1e-3;
  EXPECT_THAT(run, testing::ThrowsMessage<Error>(HasSubstr("epsilon is too small")));
  EXPECT_EQ(progress.steps_done, 0U);
}

/// The paper's Naval experiment with weights reset: the values measured independently are 25.2 and
/// 26.7 with a spread of 0.4-0.8 over feature draws.
TEST(RunAlgorithm, GivesTheBitsOfAnExperimentsFirstRepetition) {
  const SyntheticFleet fleet(SmallFleet(130));
  ExperimentOptions options;
  options.repetitions = 1;
  options.seed = 5;
  options.participation = 0.8;
  const auto expected = RunSmall(fleet, options, {RowOf(25)})[0];
  const std::uint64_t seed = RepetitionSeed(5);
  const auto algorithm =
      MakeAlgorithm("pof-mkl", RowOf(25).options, {fleet.dimension(), fleet.steps(), seed});
  for (const std::size_t threads : {1U, 3U}) {
    SingleRunOptions single;
    single.simulation.seed = 5;
    single.simulation.participation = 0.8;
    single.simulation.keep_predictions = true;
    single.threads = threads;
    std::vector<std::size_t> steps;
    single.after_step = [&](std::size_t step) { steps.push_back(step); };
    const SingleRun run = RunAlgorithm(fleet, RowOf(25), *algorithm, single);
    EXPECT_EQ(run.result.fingerprint, expected.fingerprint);
    EXPECT_EQ(run.result.mse.mean, expected.mse.mean);
    EXPECT_EQ(run.result.client_regret, expected.client_regret);
    EXPECT_EQ(run.result.step_regret, expected.step_regret);
    EXPECT_EQ(run.result.weights.last, expected.weights.last);
    EXPECT_EQ(run.predictions.size(), 130U * 30U);
    EXPECT_EQ(steps.size(), 30U);
    EXPECT_EQ(steps.back(), 30U);
  }
}

TEST(RunAlgorithm, EndsWhereTheCallerSaysSo) {
  const SyntheticFleet fleet(SmallFleet(8));
  const auto algorithm =
      MakeAlgorithm("pof-mkl", RowOf(25).options, {fleet.dimension(), fleet.steps(), 1});
  SingleRunOptions single;
  single.after_step = [](std::size_t step) {
    if (step == 7) throw std::logic_error("enough");
  };
  EXPECT_THROW(RunAlgorithm(fleet, RowOf(25), *algorithm, single), std::logic_error);
}

TEST(Experiment, NavalHasTheKnownError) {
  const char* folder = std::getenv("POLYKERN_DATA");
  if (folder == nullptr) GTEST_SKIP() << "set POLYKERN_DATA to a folder that holds naval/data.txt";
  SourceOptions source_options;
  source_options.data = {"naval"};
  source_options.data_dir = folder;
  const Source source = OpenSource(source_options);
  const auto results = RunSmall(*source.stream, {}, {RowOf(1), RowOf(51)});
  EXPECT_EQ(results[0].features, 100U);
  EXPECT_GT(results[0].mse.mean, 24e-3);
  EXPECT_LT(results[0].mse.mean, 27e-3);
  EXPECT_EQ(results[1].features, 9U);
  EXPECT_GT(results[1].mse.mean, 25e-3);
  EXPECT_LT(results[1].mse.mean, 28e-3);
  for (const RowResult& row : results) EXPECT_EQ(row.over_bound, 0U);
}

/// The baselines that reproduce the paper's Table 1 with D as the budget gives it, 100 and 9:
/// measured independently 76.6, 33.28 and 26.68. The spread over feature draws is 3.3, 1.1 and 0.9;
/// the mean of 40 then has a deviation of 0.7, 0.5 and 0.5 %.
/// Table 1 of the paper, weights carried through its 20 feature draws: within 3 %.
TEST(LongExperiment, UjiAndAirHaveThePublishedKnownError) {
  const char* folder = std::getenv("POLYKERN_DATA");
  if (folder == nullptr) GTEST_SKIP() << "set POLYKERN_DATA to a folder that holds uji/ and air/";
  ExperimentOptions options;
  options.repetitions = 20;
  options.carry_weights = true;
  const auto run = [&](const std::string& data, std::vector<Row> rows) {
    SourceOptions source_options;
    source_options.data = {data};
    source_options.data_dir = folder;
    const Source source = OpenSource(source_options);
    return RunSmall(*source.stream, options, std::move(rows));
  };
  const auto uji = run("uji", {RowOf(51), Named("vm-kofl")});
  EXPECT_NEAR(uji[0].mse.mean, 41.00e-3, 0.03 * 41.00e-3);
  EXPECT_NEAR(uji[1].mse.mean, 51.50e-3, 0.03 * 51.50e-3);
  const auto air = run("air", {RowOf(25), Named("vm-kofl")});
  EXPECT_NEAR(air[0].mse.mean, 9.34e-3, 0.03 * 9.34e-3);
  EXPECT_NEAR(air[1].mse.mean, 10.58e-3, 0.03 * 10.58e-3);
}

TEST(Experiment, TheBaselinesOnNavalHaveTheKnownError) {
  const char* folder = std::getenv("POLYKERN_DATA");
  if (folder == nullptr) GTEST_SKIP() << "set POLYKERN_DATA to a folder that holds naval/data.txt";
  SourceOptions source_options;
  source_options.data = {"naval"};
  source_options.data_dir = folder;
  const Source source = OpenSource(source_options);
  ExperimentOptions options;
  options.repetitions = 40;
  const auto results =
      RunSmall(*source.stream, options, {Named("ofskl"), Named("ofmkl-avg"), Named("vm-kofl")});
  EXPECT_EQ(results[0].features, 100U);
  EXPECT_NEAR(results[0].mse.mean, 76.6e-3, 0.03 * 76.6e-3);
  EXPECT_EQ(results[1].features, 9U);
  EXPECT_NEAR(results[1].mse.mean, 33.28e-3, 0.03 * 33.28e-3);
  EXPECT_EQ(results[2].features, 9U);
  EXPECT_NEAR(results[2].mse.mean, 26.68e-3, 0.03 * 26.68e-3);
}

}  // namespace
}  // namespace polykern
