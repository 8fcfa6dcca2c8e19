#include <iostream>

#include "polykern/algorithms/registry.h"
#include "polykern/data/synthetic.h"
#include "polykern/sim/simulation.h"

int main() {
  const polykern::SyntheticFleet fleet({.clients = 40, .steps = 500});
  const auto learner = polykern::MakeAlgorithm(
      "pof-mkl", {.kernels_per_upload = 25},
      {.dimension = fleet.dimension(), .horizon = 500, .seed = polykern::RepetitionSeed(0)});
  polykern::Clients clients(*learner, 0, fleet.clients());
  polykern::Workers threads(2);
  polykern::Simulation run(*learner, fleet, clients, threads, {});
  while (!run.done()) run.Step();
  std::cout << "squared error at the first step " << run.step_mse().front() << ", at the last "
            << run.step_mse().back() << '\n';
}
