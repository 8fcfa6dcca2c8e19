// For tests of simulations.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "polykern/algorithms/registry.h"
#include "polykern/data/synthetic.h"
#include "polykern/sim/simulation.h"

namespace polykern {

using Bits = std::vector<std::uint64_t>;

inline Bits BitsOf(std::span<const double> values) {
  Bits bits;
  for (const double value : values) bits.push_back(std::bit_cast<std::uint64_t>(value));
  return bits;
}

/// 150 clients: three blocks, the last one shorter; some absent at every step.
struct SimulatedFleet {
  SyntheticFleet fleet{{.clients = 150,
                        .steps = 24,
                        .sites = 4,
                        .dimension = 5,
                        .noise = 0.05,
                        .drift = 0,
                        .seed = 11}};
  std::unique_ptr<Algorithm> algorithm;
  Simulation::Options options{
      .seed = 2, .participation = 0.8, .keep_predictions = true, .uniforms = {}};

  SimulatedFleet() { Use("pof-mkl"); }
  void Use(std::string_view name, double forgetting = 1) {
    AlgorithmOptions settings;
    settings.forgetting = forgetting;
    settings.kernels_per_upload = 5;
    settings.exploration = 0.3;
    settings.features = 10;
    settings.budget = 1100;      // every kernel and its loss: 1071
    settings.local_memory = 32;  // little, for sanitizers
    algorithm = MakeAlgorithm(name, settings, {fleet.dimension(), fleet.steps(), 5});
  }
};

/// Everything a run gives, as bits.
inline Bits RunOn(const SimulatedFleet& f, std::size_t threads) {
  Workers workers(threads);
  Clients clients(*f.algorithm, 0, f.fleet.clients());
  Simulation simulation(*f.algorithm, f.fleet, clients, workers, f.options);
  while (!simulation.done()) simulation.Step();
  Bits bits = BitsOf(simulation.predictions());
  const Bits rest = BitsOf(simulation.Save());
  bits.insert(bits.end(), rest.begin(), rest.end());
  bits.push_back(simulation.Fingerprint());
  return bits;
}

/// A simulation that is stopped, saved and loaded ends as one that was not.
inline void ExpectTheSameBitsAfterAStop(const SimulatedFleet& f) {
  Workers workers(2);
  Clients clients(*f.algorithm, 0, f.fleet.clients());
  Simulation whole(*f.algorithm, f.fleet, clients, workers, f.options);
  while (!whole.done()) whole.Step();

  Clients first_clients(*f.algorithm, 0, f.fleet.clients());
  Simulation first(*f.algorithm, f.fleet, first_clients, workers, f.options);
  while (first.step() < 9) first.Step();
  const std::vector<double> saved = first.Save();
  first.Step();  // what happens after the save must not matter

  Clients second_clients(*f.algorithm, 0, f.fleet.clients());
  Simulation second(*f.algorithm, f.fleet, second_clients, workers, f.options);
  second.Load(saved);
  EXPECT_EQ(second.step(), 9U);
  while (!second.done()) second.Step();
  EXPECT_EQ(BitsOf(second.Save()), BitsOf(whole.Save()));
  EXPECT_EQ(second.Fingerprint(), whole.Fingerprint());
}

}  // namespace polykern
