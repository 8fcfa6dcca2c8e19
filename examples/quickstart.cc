#include <iostream>

#include "polykern/algorithms/registry.h"
#include "polykern/data/synthetic.h"
#include "polykern/sim/simulation.h"

int main() {
  const polykern::SyntheticFleet fleet({.clients = 40, .steps = 500});
  const auto learner = polykern::MakeAlgorithm("pof-mkl", {.kernels_per_upload = 5},
                                               {.dimension = fleet.dimension(), .horizon = 500});
  polykern::Clients clients(*learner, 0, fleet.clients());
  polykern::Workers threads(2);
  polykern::Simulation run(*learner, fleet, clients, threads, {});
  double error = 0;
  for (; !run.done(); error += run.step_mse().back()) run.Step();
  std::cout << "mean squared error: " << error / 500 << '\n';
}
