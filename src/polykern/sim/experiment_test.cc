#include "polykern/sim/experiment.h"

#include <cmath>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  const SyntheticFleet fleet(SmallFleet(260));  // five blocks: enough to go parallel over clients
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

TEST(Experiment, RefusesABadRowBeforeTheFirstStep) {
  const SyntheticFleet fleet(SmallFleet(20));
  Progress progress;
  Row bad = RowOf(52);
  const auto run = [&] { RunExperiment(fleet, {RowOf(1), bad}, {}, progress); };
  EXPECT_THAT(run, testing::ThrowsMessage<Error>(HasSubstr("--kernels-per-upload is 52")));
  EXPECT_EQ(progress.steps_done, 0U);
}

/// The paper's Naval experiment with weights reset: the values measured independently are 25.2 and
/// 26.7 with a spread of 0.4-0.8 over feature draws.
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

}  // namespace
}  // namespace polykern
