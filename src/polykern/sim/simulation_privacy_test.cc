// Simulations with masks and with noise.
#include <algorithm>
#include <cstddef>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/sim/experiment.h"
#include "polykern/sim/simulation_testing.h"

namespace polykern {
namespace {

TEST(Simulation, HasTheSameBitsWithMasks) {
  SimulatedFleet f;
  f.Use("pof-gram");
  AlgorithmOptions settings = f.algorithm->definition().options;
  settings.masking = Masking::kHelper;
  const auto masked =
      MakeAlgorithm("pof-gram", settings, {f.fleet.dimension(), f.fleet.steps(), 5});
  Workers workers(3);
  Clients clients(*f.algorithm, 0, f.fleet.clients());
  Clients masking(*masked, 0, f.fleet.clients());
  Simulation plain(*f.algorithm, f.fleet, clients, workers, f.options);
  Simulation hidden(*masked, f.fleet, masking, workers, f.options);
  while (!plain.done()) {
    plain.Step();
    hidden.Step();
  }
  EXPECT_GT(plain.broadcast().releases, 3U);
  EXPECT_EQ(BitsOf(hidden.predictions()), BitsOf(plain.predictions()));
  EXPECT_EQ(hidden.Fingerprint(), plain.Fingerprint());
  EXPECT_EQ(BitsOf(masking.Save()), BitsOf(clients.Save()));
  EXPECT_GT(hidden.traffic().up_bytes, plain.traffic().up_bytes);
  EXPECT_LE(hidden.traffic().up_bytes, plain.traffic().up_bytes + 24 * plain.traffic().messages);
}

TEST(Simulation, HasTheSameBitsWithPairwiseMasks) {
  SimulatedFleet f;
  f.options.participation = 1;
  AlgorithmOptions settings;
  settings.least_clients = f.fleet.clients();  // as pairwise masks need it
  const Problem problem{f.fleet.dimension(), f.fleet.steps(), 5, f.fleet.clients()};
  const auto open = MakeAlgorithm("pof-gram", settings, problem);
  settings.masking = Masking::kPairwise;
  const auto masked = MakeAlgorithm("pof-gram", settings, problem);
  Workers workers(3);
  Clients clients(*open, 0, f.fleet.clients());
  Clients masking(*masked, 0, f.fleet.clients());
  Simulation plain(*open, f.fleet, clients, workers, f.options);
  Simulation hidden(*masked, f.fleet, masking, workers, f.options);
  while (!plain.done()) {
    plain.Step();
    hidden.Step();
  }
  EXPECT_GT(plain.broadcast().releases, 3U);
  EXPECT_EQ(hidden.Fingerprint(), plain.Fingerprint());
  EXPECT_EQ(BitsOf(masking.Save()), BitsOf(clients.Save()));
  EXPECT_LE(hidden.traffic().up_bytes, plain.traffic().up_bytes + 24 * plain.traffic().messages);
  f.options.participation = 0.5;
  EXPECT_THAT(MessageOf([&] { Simulation(*masked, f.fleet, masking, workers, f.options); }),
              testing::HasSubstr("pairwise needs every client in every step"));
}

/// pof-gram with noise, its federated expert alone.
SimulatedFleet NoisyFixture(double epsilon, std::size_t releases = 64,
                            Masking masking = Masking::kNone) {
  SimulatedFleet f;
  AlgorithmOptions settings;
  settings.epsilon = epsilon;
  settings.releases = releases;
  settings.masking = masking;
  settings.least_clients = 2;  // what masks need anyway
  settings.experts = Experts::kFederated;
  f.algorithm = MakeAlgorithm("pof-gram", settings, {f.fleet.dimension(), f.fleet.steps(), 5});
  return f;
}

TEST(NoisySimulation, HasTheSameBitsForAnyNumberOfThreadsAndWithMasks) {
  const SimulatedFleet f = NoisyFixture(1);
  const Bits alone = RunOn(f, 1);
  EXPECT_EQ(RunOn(f, 3), alone);
  const SimulatedFleet masked = NoisyFixture(1, 64, Masking::kHelper);
  const std::size_t predictions = f.fleet.clients() * f.fleet.steps();
  Bits hidden = RunOn(masked, 2);
  EXPECT_EQ(hidden.back(), alone.back()) << "fingerprints";
  hidden.resize(predictions);
  EXPECT_EQ(hidden, Bits(alone.begin(), alone.begin() + static_cast<std::ptrdiff_t>(predictions)));
}

// Private experts cost no privacy: with them a client is never worse off than alone.
TEST(NoisySimulation, BeatsStayingAloneWithPrivateExperts) {
  const SyntheticFleet fleet({.clients = 20, .steps = 300});
  const auto error = [&](const char* name) {
    Row row;
    row.algorithm = name;
    row.options.epsilon = 1;
    const auto algorithm = MakeAlgorithm(row.algorithm, row.options,
                                         {fleet.dimension(), fleet.steps(), 1, fleet.clients()});
    return RunAlgorithm(fleet, row, *algorithm, {}).result.mse.mean;
  };
  EXPECT_LT(error("pof-gram"), 0.95 * error("local-rls"));
}

TEST(NoisySimulation, ThatWasStoppedResumesWithTheSameBits) {
  ExpectTheSameBitsAfterAStop(NoisyFixture(1));
}

double LastErrors(const SimulatedFleet& f) {
  Workers workers(2);
  Clients clients(*f.algorithm, 0, f.fleet.clients());
  Simulation simulation(*f.algorithm, f.fleet, clients, workers, f.options);
  while (!simulation.done()) simulation.Step();
  const auto last = simulation.step_mse().last(8);
  return std::accumulate(last.begin(), last.end(), 0.0) / 8;
}

TEST(NoisySimulation, IsBetterWithLessPrivacy) {
  const double hardly = LastErrors(NoisyFixture(1e4));
  const double little = LastErrors(NoisyFixture(8));
  const double much = LastErrors(NoisyFixture(0.5));
  EXPECT_LT(hardly, little);
  EXPECT_LT(little, much);
  EXPECT_LT(hardly, 0.5 * much);
}

TEST(NoisySimulation, KeepsPredictingWhenItsReleasesAreSpent) {
  const SimulatedFleet f = NoisyFixture(8, 2);
  Workers workers(2);
  Clients clients(*f.algorithm, 0, f.fleet.clients());
  Simulation simulation(*f.algorithm, f.fleet, clients, workers, f.options);
  while (simulation.broadcast().releases < 2) simulation.Step();
  const std::vector<float> model = simulation.broadcast().model;
  const auto sent = simulation.traffic().up_numbers;
  EXPECT_GT(sent, 0U);
  while (!simulation.done()) simulation.Step();
  EXPECT_EQ(simulation.broadcast().releases, 2U);
  EXPECT_EQ(simulation.broadcast().model, model);
  EXPECT_EQ(simulation.traffic().up_numbers, sent);
  EXPECT_TRUE(std::isfinite(simulation.step_mse().back()));
}

}  // namespace
}  // namespace polykern
