#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/data/synthetic.h"
#include "polykern/io/folder_testing.h"
#include "polykern/results/result.h"
#include "polykern/sim/experiment.h"
#include "polykern/sim/ranks/thread_ranks_testing.h"

namespace polykern {
namespace {

FleetOptions Fleet(std::size_t clients) {
  FleetOptions fleet;
  fleet.clients = clients;
  fleet.steps = 12;
  return fleet;
}

std::vector<Row> EveryRow() {
  std::vector<Row> rows;
  for (const auto name : AlgorithmNames()) {
    Row row;
    row.algorithm = name;
    row.options.kernels = 9;
    row.options.features = 5;
    row.options.kernels_per_upload = 2;
    row.options.budget = 400;
    row.options.local_memory = 8;  // KeptRuns write it as text
    rows.push_back(row);
    if (!UsesOption(name, *FindOption("forgetting"))) continue;
    row.options.forgetting = kAutoForgetting;
    rows.push_back(row);
    if (!UsesOption(name, *FindOption("epsilon"))) continue;
    row.options.epsilon = 8;
    rows.push_back(row);
  }
  return rows;
}

/// Everything the rows gave but timings, as text. Counts what the ranks gave to each other.
std::string Results(const std::vector<RowResult>& results, const Stream& stream,
                    const ExperimentOptions& options) {
  Source source;
  source.stream = std::make_unique<SyntheticFleet>(dynamic_cast<const SyntheticFleet&>(stream));
  std::vector<RowResult> timeless = results;
  for (RowResult& result : timeless) result.seconds = 0;
  return ResultJson(source, {}, options, timeless, "");
}

std::string RunOn(std::size_t ranks, const Stream& stream, const std::vector<Row>& rows,
                  const ExperimentOptions& options, const RunStore* store = nullptr,
                  std::size_t* kept = nullptr) {
  std::string text;
  RunRanks(ranks, [&](Communicator& rank) {
    Progress progress;
    const ExperimentHost host = {
        .ranks = &rank, .store = store, .data = store != nullptr ? "fleet" : ""};
    const auto results = RunExperiment(stream, rows, options, progress, host);
    EXPECT_EQ(progress.steps_done, progress.steps_total);
    EXPECT_EQ(results.empty(), rank.rank() != 0);
    if (rank.rank() == 0) text = Results(results, stream, options);
    if (rank.rank() == 0 && kept != nullptr) *kept = progress.kept;
  });
  return text;
}

TEST(Ranks, GiveTheSameBitsHoweverManyTheyAre) {
  for (const std::size_t clients : {67U, 3U}) {  // 3: fewer than ranks
    const SyntheticFleet fleet(Fleet(clients));
    ExperimentOptions options;
    options.repetitions = 1;
    options.participation = 0.8;
    options.threads = 1;
    const std::string alone = RunOn(1, fleet, EveryRow(), options);
    for (const std::size_t ranks : {2U, 3U, 5U}) {
      options.rank_groups = 1;
      options.threads = ranks % 2 + 1;
      EXPECT_EQ(RunOn(ranks, fleet, EveryRow(), options), alone) << ranks << " ranks";
    }
  }
}

TEST(Ranks, GiveTheSameBitsInGroups) {
  const SyntheticFleet fleet(Fleet(20));
  std::vector<Row> rows = EveryRow();
  rows.resize(2);
  ExperimentOptions options;
  options.repetitions = 3;
  for (const bool carry : {false, true}) {
    options.carry_weights = carry;
    options.rank_groups = 0;
    const std::string alone = RunOn(1, fleet, rows, options);
    for (const std::size_t groups : {0U, 1U, 2U, 4U}) {
      options.rank_groups = groups;
      EXPECT_EQ(RunOn(4, fleet, rows, options), alone) << groups << " groups";
    }
  }
}

TEST(Ranks, AllLearnOfAFailureOnOne) {
  const SyntheticFleet fleet(Fleet(20));
  Row wild;
  wild.options.kernels_per_upload = 1;
  wild.options.learning_rate = 500;
  ExperimentOptions options;
  options.repetitions = 2;
  const std::string alone = RunOn(1, fleet, {wild}, options);
  EXPECT_THAT(alone, testing::HasSubstr("diverged"));
  options.rank_groups = 1;
  EXPECT_EQ(RunOn(3, fleet, {wild}, options), alone);
}

TEST(Ranks, RefuseGroupsThatDoNotDivideThem) {
  ExperimentOptions options;
  options.rank_groups = 2;
  RunRanks(3, [&](Communicator& rank) {
    EXPECT_THROW(RankClients(EveryRow(), options, 3, rank), Error);
  });
}

class KeptRuns : public testing::TestWithParam<bool> {};

TEST_P(KeptRuns, AreTakenOverAndGiveTheSameBits) {
  const TestFolder folder;
  const RunStore store(folder.At("partial"));
  const SyntheticFleet fleet(Fleet(20));
  std::vector<Row> rows = EveryRow();
  rows.resize(3);
  ExperimentOptions options;
  options.repetitions = 3;
  options.carry_weights = GetParam();
  const std::string whole = RunOn(1, fleet, rows, options);
  EXPECT_EQ(RunOn(1, fleet, rows, options, &store), whole);
  // As if it had been stopped: some are gone, of carried weights all that followed.
  std::size_t removed = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t repetition = 1 + row % 2; repetition < 3; ++repetition, ++removed) {
      store.Forget(rows[row].algorithm, "fleet" + RowSettings(rows[row], options) + " repetition " +
                                            std::to_string(repetition));
    }
  }
  for (const std::size_t ranks : {2U, 1U}) {  // the first fills the store again
    std::size_t kept = 0;
    EXPECT_EQ(RunOn(ranks, fleet, rows, options, &store, &kept), whole);
    EXPECT_EQ(kept, ranks == 2 ? 9 - removed : 9U);
  }
  ForgetKept(rows, options, {.ranks = nullptr, .store = &store, .data = "fleet"});
  EXPECT_FALSE(std::filesystem::exists(folder.At("partial")));
}

INSTANTIATE_TEST_SUITE_P(Weights, KeptRuns, testing::Bool(),
                         [](const auto& carried) { return carried.param ? "Carried" : "Reset"; });

}  // namespace
}  // namespace polykern
