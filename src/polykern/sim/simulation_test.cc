#include "polykern/sim/simulation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/data/synthetic.h"
#include "polykern/io/folder_testing.h"
#include "polykern/sim/experiment.h"
#include "polykern/sim/simulation_testing.h"

namespace polykern {
namespace {

TEST(Simulation, HasTheSameBitsForAnyNumberOfThreads) {
  for (const auto name : AlgorithmNames()) {
    SCOPED_TRACE(name);
    SimulatedFleet f;
    f.Use(name);
    const Bits alone = RunOn(f, 1);
    EXPECT_EQ(RunOn(f, 2), alone);
    EXPECT_EQ(RunOn(f, 7), alone);
  }
}

TEST(Simulation, HasTheSameBitsForAnyNumberOfThreadsWithPrivateExperts) {
  SimulatedFleet f;
  AlgorithmOptions options;
  options.features = 10;
  options.experts = Experts::kFederatedAndLocal;
  options.local_memory = 64;
  options.forgetting = 0.97;
  options.refresh = 0.1;
  f.algorithm = MakeAlgorithm("pof-newton", options, {f.fleet.dimension(), f.fleet.steps(), 5});
  const Bits alone = RunOn(f, 1);
  EXPECT_EQ(RunOn(f, 2), alone);
  EXPECT_EQ(RunOn(f, 7), alone);
}

/// Those whose clients may find out how fast to forget.
constexpr std::string_view kForgetful[] = {"pof-gram", "pof-newton", "local-rls"};

TEST(Simulation, HasTheSameBitsForAnyNumberOfThreadsOfClientsThatChooseHowToForget) {
  for (const auto name : kForgetful) {
    SCOPED_TRACE(name);
    SimulatedFleet f;
    f.Use(name, kAutoForgetting);
    const Bits alone = RunOn(f, 1);
    EXPECT_EQ(RunOn(f, 2), alone);
    EXPECT_EQ(RunOn(f, 7), alone);
  }
}

class StoppedSimulation : public testing::TestWithParam<std::string_view> {};

TEST_P(StoppedSimulation, ResumesWithTheSameBits) {
  SimulatedFleet f;
  f.Use(GetParam());
  ExpectTheSameBitsAfterAStop(f);
  if (std::ranges::count(kForgetful, GetParam()) == 0) return;
  f.Use(GetParam(), kAutoForgetting);
  ExpectTheSameBitsAfterAStop(f);
  f.options.participation = 0.05;  // pof-gram's sums wait for more
  ExpectTheSameBitsAfterAStop(f);
}

INSTANTIATE_TEST_SUITE_P(Registry, StoppedSimulation,
                         testing::ValuesIn(AlgorithmNames().begin(), AlgorithmNames().end()),
                         [](const auto& test) {
                           std::string name(test.param);
                           std::erase(name, '-');
                           return name;
                         });

TEST(Simulation, CountsLossesAsSentAndWeightsAsReceived) {
  SimulatedFleet f;
  f.Use("em-kofl");
  Workers workers(1);
  Clients clients(*f.algorithm, 0, f.fleet.clients());
  Simulation simulation(*f.algorithm, f.fleet, clients, workers, f.options);
  simulation.Step();
  const Traffic& traffic = simulation.traffic();
  EXPECT_EQ(traffic.largest_up, 20U + 51U);
  EXPECT_EQ(traffic.up_bytes, 4 * (20U + 51U + 1U) * traffic.messages);
  EXPECT_EQ(traffic.down_bytes, (4 * 20U + 8 * 51U) * traffic.messages);
}

TEST(Simulation, WithoutExpertsThereIsNoRegret) {
  SimulatedFleet f;
  f.Use("perfedavg");
  Workers workers(1);
  Clients clients(*f.algorithm, 0, f.fleet.clients());
  Simulation simulation(*f.algorithm, f.fleet, clients, workers, f.options);
  simulation.Step();
  EXPECT_TRUE(std::isnan(simulation.step_regret()[0]));
}

TEST(Simulation, NoticesADivergingClientThatSendsNothing) {
  SimulatedFleet f;
  AlgorithmOptions wild;
  wild.learning_rate = 1e6;
  f.algorithm = MakeAlgorithm("local", wild, {f.fleet.dimension(), f.fleet.steps(), 5});
  Workers workers(2);
  Clients clients(*f.algorithm, 0, f.fleet.clients());
  Simulation simulation(*f.algorithm, f.fleet, clients, workers, f.options);
  EXPECT_THAT(
      [&] {
        while (!simulation.done()) simulation.Step();
      },
      testing::ThrowsMessage<Error>(testing::HasSubstr("not finite")));
}

TEST(Simulation, RefusesASavedStateOfOtherSettings) {
  const SimulatedFleet f;
  Workers workers(1);
  Clients clients(*f.algorithm, 0, f.fleet.clients());
  Simulation simulation(*f.algorithm, f.fleet, clients, workers, f.options);
  std::vector<double> saved = simulation.Save();
  saved.push_back(0);
  EXPECT_THROW(simulation.Load(saved), Error);
}

TEST(Simulation, TheFingerprintTellsSeedsApart) {
  SimulatedFleet f;
  const Bits one = RunOn(f, 1);
  f.options.seed = 3;
  EXPECT_NE(RunOn(f, 1).back(), one.back());
}

TEST(Simulation, CountsWhatIsSentAndWhoTookPart) {
  const SimulatedFleet f;
  Workers workers(1);
  Clients clients(*f.algorithm, 0, f.fleet.clients());
  Simulation simulation(*f.algorithm, f.fleet, clients, workers, f.options);
  while (!simulation.done()) simulation.Step();
  std::size_t present = 0;
  for (const double prediction : simulation.predictions())
    present += std::isnan(prediction) ? 0 : 1;
  const Traffic& traffic = simulation.traffic();
  EXPECT_EQ(traffic.messages, present);
  // 150 * 24 draws of a coin that is 1 with probability 0.8: deviation 24, five of them.
  EXPECT_NEAR(static_cast<double>(present), 0.8 * 150 * 24, 120);
  EXPECT_EQ(traffic.largest_up, 5U * 20U);
  EXPECT_EQ(traffic.down_bytes, 4U * 51U * 20U * present);
  EXPECT_EQ(traffic.up_bytes, 4 * traffic.up_numbers + 4 * traffic.up_numbers / 20);
}

TEST(Simulation, FixedUniformsReplaceEveryDraw) {
  const SimulatedFleet f;
  const std::vector<double> uniforms(150 * 24, 0.5);
  Workers workers(2);
  Clients clients(*f.algorithm, 0, f.fleet.clients());
  Simulation::Options options = f.options;
  options.uniforms = uniforms;
  Simulation fixed(*f.algorithm, f.fleet, clients, workers, options);
  Clients other_clients(*f.algorithm, 0, f.fleet.clients());
  Simulation drawn(*f.algorithm, f.fleet, other_clients, workers, f.options);
  while (!fixed.done()) fixed.Step();
  while (!drawn.done()) drawn.Step();
  EXPECT_NE(fixed.Fingerprint(), drawn.Fingerprint());
}

constexpr std::size_t kDriftSteps = 400;

/// The mean squared error of pof-newton on a fleet whose laws turn by `drift` radians in all.
double MseWith(double drift, double forgetting, bool local_experts) {
  const SyntheticFleet fleet({.clients = 40,
                              .steps = kDriftSteps,
                              .sites = 4,
                              .dimension = 5,
                              .noise = 0.05,
                              .drift = drift,
                              .seed = 9});
  AlgorithmOptions options;
  options.kernels = 11;
  options.features = 20;
  options.budget = 200;
  options.forgetting = forgetting;
  options.experts = local_experts ? Experts::kFederatedAndLocal : Experts::kFederated;
  options.local_kernels = 4;
  options.local_memory = 64;
  const auto algorithm = MakeAlgorithm("pof-newton", options, {fleet.dimension(), kDriftSteps, 1});
  Workers workers(2);
  Clients clients(*algorithm, 0, fleet.clients());
  Simulation simulation(*algorithm, fleet, clients, workers, {});
  while (!simulation.done()) simulation.Step();
  double sum = 0;
  for (const double mse : simulation.step_mse()) sum += mse;
  return sum / kDriftSteps;
}

// Runs with the same samples and features are compared, so their difference is that of the
// algorithms alone: 20 % with drift, below 1 % without.
TEST(Simulation, ForgettingPaysWithDriftAndCostsLittleWithout) {
  const double drifting = MseWith(6, 1, false);
  EXPECT_LT(MseWith(6, 0.999, false), 0.99 * drifting);
  EXPECT_LT(MseWith(6, 0.99, false), 0.9 * drifting);
  const double steady = MseWith(0, 1, false);
  EXPECT_LT(MseWith(0, 0.999, false), 1.05 * steady);
  EXPECT_LT(steady, 0.8 * drifting) << "there is nothing to forget";
}

TEST(Simulation, ForgettingPaysWithDriftForPrivateExpertsToo) {
  EXPECT_LT(MseWith(6, 0.99, true), 0.9 * MseWith(6, 1, true));
}

TEST(Simulation, ClientsThatChooseHowToForgetNeedNotBeToldOfDrift) {
  EXPECT_LT(MseWith(6, kAutoForgetting, true), 0.9 * MseWith(6, 0.999, true));
  EXPECT_LT(MseWith(0, kAutoForgetting, true), 1.04 * MseWith(0, 1, true));
}

/// Theorem 2 on the synthetic fleet, and the average regret per step as T grows.
TEST(Simulation, EveryClientStaysBelowTheoremTwosBoundAndAverageRegretFalls) {
  std::vector<double> average;
  for (const std::size_t steps : {100U, 400U, 1600U}) {
    const SyntheticFleet fleet({.clients = 20,
                                .steps = steps,
                                .sites = 4,
                                .dimension = 5,
                                .noise = 0.01,
                                .drift = 0,
                                .seed = 4});
    AlgorithmOptions options;
    options.kernels_per_upload = 51;  // 1 / p = 1, many features and little noise:
    options.budget = 10200;           // most losses stay in [0, 1]
    const auto algorithm = MakeAlgorithm("pof-mkl", options, {fleet.dimension(), steps, 1});
    Workers workers(2);
    Clients clients(*algorithm, 0, fleet.clients());
    Simulation simulation(*algorithm, fleet, clients, workers, {});
    while (!simulation.done()) simulation.Step();
    double sum = 0;
    const double bound = RegretBound(51, algorithm->weight_rate(), steps);
    int counted = 0;
    for (std::size_t k = 0; k < fleet.clients(); ++k) {
      sum += simulation.scores().Regret(k);
      if (!simulation.scores().LossesInUnitRange(k)) continue;  // the premise fails
      EXPECT_LE(simulation.scores().Regret(k), bound) << "client " << k << ", T = " << steps;
      ++counted;
    }
    EXPECT_GE(counted, 15) << "too few clients for which the theorem says anything";
    average.push_back(sum / 20 / static_cast<double>(steps));
  }
  EXPECT_LT(average[1], 0.95 * average[0]);
  EXPECT_LT(average[2], 0.95 * average[1]);
}

/// A stream that must be predicted three steps ahead.
class FarStream final : public Stream {
 public:
  explicit FarStream(const Stream& stream) : stream_(stream) {}
  std::size_t clients() const override { return stream_.clients(); }
  std::size_t steps() const override { return stream_.steps(); }
  std::size_t dimension() const override { return stream_.dimension(); }
  std::size_t ahead() const override { return 3; }
  std::size_t SiteOf(std::size_t client) const override { return stream_.SiteOf(client); }
  std::span<const std::string> site_names() const override { return stream_.site_names(); }
  void Read(std::size_t step, std::size_t first, std::size_t count,
            SampleBlock& block) const override {
    stream_.Read(step, first, count, block);
  }

 private:
  const Stream& stream_;
};

// The slow version: a simulation that learns likewise, of which model and clients are at hand.
TEST(Simulation, PredictsAheadWithTheModelAndTheStateOfThen) {
  for (const char* name : {"pof-mkl", "pof-newton", "pof-gram", "local-rls"}) {
    SCOPED_TRACE(name);
    SimulatedFleet f;
    f.Use(name);
    f.options.participation = 1;
    f.options.coverage = 0.9;
    const FarStream far(f.fleet);
    Workers workers(2);
    Clients clients(*f.algorithm, 0, f.fleet.clients());
    Simulation simulation(*f.algorithm, far, clients, workers, f.options);
    Clients twin_clients(*f.algorithm, 0, f.fleet.clients());
    Simulation twin(*f.algorithm, f.fleet, twin_clients, workers, f.options);
    std::vector<double> expected(f.fleet.clients() * f.fleet.steps());
    SampleBlock block;
    while (!twin.done()) {
      for (std::size_t at = twin.step() == 0 ? 0 : twin.step() + 2;
           at < std::min(twin.step() + 3, f.fleet.steps()); ++at) {
        ClientRound round(*f.algorithm);
        f.fleet.Read(at, 0, f.fleet.clients(), block);
        round.Predict(twin.broadcast(), twin_clients, 0, block.x, block.present);
        std::ranges::copy(round.predictions(),
                          expected.begin() + static_cast<std::ptrdiff_t>(at * block.y.size()));
      }
      twin.Step();
      simulation.Step();
    }
    EXPECT_EQ(BitsOf(simulation.predictions()), BitsOf(expected));
    EXPECT_NE(BitsOf(twin.predictions()), BitsOf(expected));
    EXPECT_EQ(simulation.broadcast().model, twin.broadcast().model);
  }
}

TEST(Simulation, ThatPredictsAheadResumesWithTheSameBits) {
  SimulatedFleet f;
  const FarStream far(f.fleet);
  Workers workers(1);
  Clients clients(*f.algorithm, 0, f.fleet.clients());
  Simulation whole(*f.algorithm, far, clients, workers, f.options);
  while (whole.step() < 17) whole.Step();
  const std::vector<double> saved = whole.Save();
  while (!whole.done()) whole.Step();
  Clients second_clients(*f.algorithm, 0, f.fleet.clients());
  Simulation second(*f.algorithm, far, second_clients, workers, f.options);
  second.Load(saved);
  while (!second.done()) second.Step();
  EXPECT_EQ(second.Fingerprint(), whole.Fingerprint());
}

}  // namespace
}  // namespace polykern
