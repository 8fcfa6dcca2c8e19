#include "polykern/sim/weight_watch.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/registry.h"
#include "polykern/data/synthetic.h"
#include "polykern/sim/simulation.h"

namespace polykern {
namespace {

TEST(WeightWatch, SeesTheHedgeWeightsOfTheLosses) {
  const SyntheticFleet fleet({.clients = 5, .steps = 70});
  AlgorithmOptions options;
  options.kernels = 4;
  options.kernels_per_upload = 2;
  options.features = 3;
  options.weight_rate = 0.3;
  const auto algorithm = MakeAlgorithm("pof-mkl", options, {fleet.dimension(), 70, 1});
  const WeightPlan plan(fleet);
  WeightWatch watch(*algorithm, plan);
  Clients clients(*algorithm, 0, 5);
  Workers one(1);
  Simulation simulation(*algorithm, fleet, clients, one, {});
  while (!simulation.done()) {
    simulation.Step();
    watch.Look(simulation.step(), clients);
  }
  const ClientWeights& weights = watch.weights();
  ASSERT_EQ(weights.last.size(), 5U * 4);
  ASSERT_EQ(weights.trace.size(), 60U * 4 * 4);
  for (std::size_t row = 0; row < 5; ++row) {
    const auto losses = clients.State(plan.clients[row]);
    double sum = 0;
    for (std::size_t i = 0; i < 4; ++i) sum += std::exp(-0.3 * losses[i]);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(weights.last[row * 4 + i], std::exp(-0.3 * losses[i]) / sum, 1e-12);
    }
  }
}

TEST(WeightWatch, SeesNothingWhereTheServerOwnsTheWeights) {
  const SyntheticFleet fleet({.clients = 5, .steps = 3});
  const auto algorithm = MakeAlgorithm("vm-kofl", {}, {fleet.dimension(), 3, 1});
  const WeightPlan plan(fleet);
  WeightWatch watch(*algorithm, plan);
  Clients clients(*algorithm, 0, 5);
  for (std::size_t step = 1; step <= 3; ++step) watch.Look(step, clients);
  EXPECT_TRUE(watch.weights().last.empty());
  EXPECT_TRUE(watch.weights().trace.empty());
}

}  // namespace
}  // namespace polykern
