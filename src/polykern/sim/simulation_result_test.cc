// What a simulation gives when its steps are over (simulation_result.cc).
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/error.h"
#include "polykern/io/folder_testing.h"
#include "polykern/sim/fingerprint_internal.h"
#include "polykern/sim/ranks/thread_ranks_testing.h"
#include "polykern/sim/simulation_testing.h"
#include "polykern/sim/stream_history.h"

namespace polykern {
namespace {

constexpr const char* kDoesNotFit = "a saved simulation does not fit: it has other settings";

/// A simulation of a fleet on one thread, and what belongs to it.
struct OneSimulation {
  explicit OneSimulation(const SimulatedFleet& f)
      : plan(f.fleet),
        clients(*f.algorithm, 0, f.fleet.clients()),
        simulation(*f.algorithm, f.fleet, clients, workers, f.options) {}

  WeightPlan plan;
  Workers workers{1};
  Clients clients;
  Simulation simulation;
};

/// Per client: squared errors of the predictions that were made, and how many these are.
struct ErrorsOfClients {
  std::vector<double> squares;
  std::vector<double> counts;

  ErrorsOfClients(const Stream& stream, std::span<const double> predictions)
      : squares(stream.clients()), counts(stream.clients()) {
    SampleBlock block;
    for (std::size_t step = 0; step < stream.steps(); ++step) {
      stream.Read(step, 0, stream.clients(), block);
      for (std::size_t k = 0; k < stream.clients(); ++k) {
        const double f = predictions[step * stream.clients() + k];
        if (std::isnan(f)) continue;
        squares[k] += std::pow(f - block.y[k], 2);
        ++counts[k];
      }
    }
  }
};

TEST(SimulationResult, IsWhatASlowPassOverThePredictionsGives) {
  const SimulatedFleet f;
  OneSimulation one(f);
  std::size_t passed = 0;
  const Repetition run = one.simulation.Run(
      {.weights = one.plan, .passed = [&](std::size_t steps) { passed += steps; }});
  const ErrorsOfClients errors(f.fleet, run.predictions);
  double squares = 0;
  double counts = 0;
  for (std::size_t k = 0; k < f.fleet.clients(); ++k) {
    squares += errors.squares[k];
    counts += errors.counts[k];
  }
  EXPECT_TRUE(run.finished && run.has_regret && !run.divergence);
  EXPECT_EQ(passed, f.fleet.steps());
  EXPECT_EQ(run.traffic.messages, static_cast<std::uint64_t>(counts));
  EXPECT_NEAR(run.mse, squares / counts, 1e-12);
  ASSERT_EQ(run.client_mse.size(), one.plan.clients.size());
  for (std::size_t i = 0; i < run.client_mse.size(); ++i) {
    const std::size_t k = one.plan.clients[i];
    EXPECT_NEAR(run.client_mse[i], errors.squares[k] / errors.counts[k], 1e-12);
  }
  ASSERT_EQ(run.step_mse.size(), f.fleet.steps());
  ASSERT_EQ(run.regret.size(), f.fleet.clients());
  EXPECT_NEAR(SpreadOf(run.regret).mean, run.step_regret.back(), 1e-12);
}

TEST(SimulationResult, HasNoErrorForAClientThatNeverTookPart) {
  SimulatedFleet f;
  f.options.participation = 0.05;
  OneSimulation one(f);
  const Repetition run = one.simulation.Run({.weights = one.plan});
  const ErrorsOfClients errors(f.fleet, run.predictions);
  std::size_t absent = 0;
  for (std::size_t i = 0; i < one.plan.clients.size(); ++i) {
    const bool never = errors.counts[one.plan.clients[i]] == 0;
    absent += never ? 1 : 0;
    EXPECT_EQ(std::isnan(run.client_mse[i]), never);
  }
  EXPECT_GT(absent, 10U);
  EXPECT_TRUE(std::isfinite(run.mse));
}

TEST(SimulationResult, ThereIsNoneIfNobodyTookPart) {
  SimulatedFleet f;
  f.options.participation = 0;
  OneSimulation one(f);
  EXPECT_EQ(MessageOf([&] { one.simulation.Run({.weights = one.plan}); }),
            "no client took part in any step; raise participation");
}

TEST(SimulationResult, HasTheoremTwosBoundForEqualWeightsAlone) {
  const SimulatedFleet f;
  OneSimulation equal(f);
  EXPECT_EQ(equal.simulation.Run({.weights = equal.plan}).bound,
            RegretBound(51, f.algorithm->weight_rate(), f.fleet.steps()));
  OneSimulation carried(f);
  EXPECT_EQ(carried.simulation.Run({.weights = carried.plan, .equal_weights = false}).bound, 0);
}

// One client is made to fail in a step of which we know that others came before it, and that
// there were steps without anybody.
TEST(SimulationResult, OfARunThatDivergesIsThatOfItsGoodSteps) {
  SimulatedFleet f;
  f.Use("local");
  f.options.participation = 0.01;
  const Attendance attendance{f.options.seed, f.options.participation};
  std::size_t bad_client = 0;
  std::size_t bad_step = 0;
  std::vector<bool> anybody(f.fleet.steps());
  for (std::size_t k = 0; k < f.fleet.clients(); ++k) {
    std::size_t first = f.fleet.steps();
    for (std::size_t step = f.fleet.steps(); step-- > 0;) {
      if (!attendance.Attends(k, step)) continue;
      first = step;
      anybody[step] = true;
    }
    if (first == f.fleet.steps() || first <= bad_step) continue;
    bad_client = k;
    bad_step = first;
  }
  OneSimulation one(f);
  for (double& number : one.clients.State(bad_client)) number = 1e300;
  std::size_t passed = 0;
  const Repetition run = one.simulation.Run(
      {.weights = one.plan, .passed = [&](std::size_t steps) { passed += steps; }});
  EXPECT_EQ(passed, f.fleet.steps()) << "a bar must reach its end";
  EXPECT_FALSE(run.finished);
  ASSERT_TRUE(run.divergence);
  EXPECT_EQ(run.divergence->step, bad_step);
  EXPECT_EQ(run.divergence->message, "the prediction of client " + std::to_string(bad_client) +
                                         " for step " + std::to_string(bad_step) +
                                         " is not finite");
  ASSERT_EQ(run.step_mse.size(), bad_step);
  double sum = 0;
  double count = 0;
  for (std::size_t step = 0; step < bad_step; ++step) {
    EXPECT_EQ(std::isnan(run.step_mse[step]), !anybody[step]);
    if (!anybody[step]) continue;
    sum += run.step_mse[step];
    ++count;
  }
  EXPECT_GT(count, 2);
  EXPECT_LT(count, static_cast<double>(bad_step));
  EXPECT_NEAR(run.mse, sum / count, 1e-15);
  EXPECT_TRUE(run.regret.empty() && run.client_mse.empty() && run.weights.last.empty());
  EXPECT_EQ(run.bound, 0);
}

TEST(SimulationResult, HasAFingerprintOfEveryPredictionAndOfTheModel) {
  const SimulatedFleet f;
  OneSimulation one(f);
  while (!one.simulation.done()) one.simulation.Step();
  const auto predictions = one.simulation.predictions();
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < predictions.size(); ++at) {
    if (!std::isnan(predictions[at])) {
      sum += Mix(std::bit_cast<std::uint64_t>(predictions[at]) ^ Mix(at));
    }
  }
  EXPECT_EQ(one.simulation.Fingerprint(false), sum);
  for (std::size_t i = 0; i < one.simulation.broadcast().model.size(); ++i) {
    sum += Mix(std::bit_cast<std::uint32_t>(one.simulation.broadcast().model[i]) ^ Mix(~i));
  }
  EXPECT_EQ(one.simulation.Fingerprint(), sum);
}

TEST(SimulationResult, IsWholeOnRankZeroAndHasNoClientsOnTheOthers) {
  SimulatedFleet f;
  OneSimulation one(f);
  const Repetition alone = one.simulation.Run({.weights = one.plan});
  f.options.keep_predictions = false;
  RunRanks(3, [&](Communicator& ranks) {
    const ClientRange own = OwnClients(f.fleet.clients(), ranks);
    Workers workers(1);
    Clients clients(*f.algorithm, own.first, own.count);
    Simulation::Options options = f.options;
    options.ranks = &ranks;
    Simulation simulation(*f.algorithm, f.fleet, clients, workers, options);
    const Repetition run = simulation.Run({.weights = one.plan});
    EXPECT_EQ(run.fingerprint, alone.fingerprint);
    EXPECT_EQ(run.mse, alone.mse);
    EXPECT_EQ(run.client_mse, alone.client_mse);
    EXPECT_EQ(run.weights.last, alone.weights.last);
    EXPECT_EQ(run.traffic.messages, alone.traffic.messages);
    EXPECT_EQ(run.traffic.up_bytes, alone.traffic.up_bytes);
    EXPECT_EQ(run.traffic.down_bytes, alone.traffic.down_bytes);
    EXPECT_EQ(run.traffic.largest_up, alone.traffic.largest_up);
    EXPECT_EQ(run.regret, ranks.rank() == 0 ? alone.regret : std::vector<double>());
    EXPECT_GT(run.rank_bytes, 0);
  });
  EXPECT_EQ(alone.rank_bytes, 0);
}

TEST(SavedSimulation, IsSavedAgainAsItWasLoaded) {
  for (const char* name : {"pof-mkl", "pof-gram", "vm-kofl", "local-rls"}) {
    SCOPED_TRACE(name);
    SimulatedFleet f;
    f.Use(name);
    f.options.coverage = 0.8;
    OneSimulation one(f);
    while (one.simulation.step() < 7) one.simulation.Step();
    const std::vector<double> saved = one.simulation.Save();
    OneSimulation other(f);
    EXPECT_NE(BitsOf(other.simulation.Save()), BitsOf(saved));
    other.simulation.Load(saved);
    EXPECT_EQ(BitsOf(other.simulation.Save()), BitsOf(saved));
    EXPECT_EQ(other.simulation.traffic().up_bytes, one.simulation.traffic().up_bytes);
    EXPECT_EQ(BitsOf(other.simulation.step_mse()), BitsOf(one.simulation.step_mse()));
  }
}

TEST(SavedSimulation, ThatIsCutIsRefused) {
  const SimulatedFleet f;
  OneSimulation one(f);
  one.simulation.Step();
  const std::vector<double> saved = one.simulation.Save();
  for (std::size_t size = 0; size < saved.size(); size += size < 20 ? 1 : 997) {
    const auto cut = std::span(saved).first(size);
    EXPECT_THROW(one.simulation.Load(cut), Error) << size;
  }
  EXPECT_EQ(MessageOf([&] { one.simulation.Load({}); }), kDoesNotFit);
  EXPECT_EQ(MessageOf([&] { one.simulation.Load(std::span(saved).first(10)); }), kDoesNotFit);
}

TEST(SavedSimulation, WithCountsThatAreNoneIsRefused) {
  const SimulatedFleet f;
  OneSimulation one(f);
  one.simulation.Step();
  const std::vector<double> saved = one.simulation.Save();
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  for (const std::size_t at : {0U, 1U, 2U, 3U, 8U}) {
    for (const double wrong : {-1.0, std::nan(""), kInfinite, -kInfinite, 1e300}) {
      std::vector<double> bad = saved;
      bad[at] = wrong;
      EXPECT_EQ(MessageOf([&] { one.simulation.Load(bad); }), kDoesNotFit) << at << ": " << wrong;
    }
  }
  for (const double steps : {2.0, 1e15}) {
    std::vector<double> bad = saved;
    bad[0] = steps;
    EXPECT_THROW(one.simulation.Load(bad), Error) << steps;
  }
  one.simulation.Load(saved);
  EXPECT_EQ(BitsOf(one.simulation.Save()), BitsOf(saved));
}

// A sum of noise where there is none, and the other way round.
TEST(SavedSimulation, OfOtherOptionsIsRefused) {
  SimulatedFleet f;
  OneSimulation plain(f);
  plain.simulation.Step();
  f.options.coverage = 0.9;
  OneSimulation with_intervals(f);
  with_intervals.simulation.Step();
  EXPECT_EQ(MessageOf([&] { with_intervals.simulation.Load(plain.simulation.Save()); }),
            kDoesNotFit);
  EXPECT_THROW(plain.simulation.Load(with_intervals.simulation.Save()), Error);
  f.Use("ofskl");
  f.options.coverage.reset();
  OneSimulation smaller(f);
  EXPECT_THROW(smaller.simulation.Load(plain.simulation.Save()), Error);
  EXPECT_EQ(MessageOf([&] { plain.simulation.Load(smaller.simulation.Save()); }), kDoesNotFit);
}

}  // namespace
}  // namespace polykern
