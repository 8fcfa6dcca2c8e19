// polykern_fleet DIR ALGORITHM CLIENTS STEPS DIMENSION SEED [N D M [LEAST_CLIENTS [LEAVING]]]: runs
// the simulator on the synthetic fleet and writes each client's samples to DIR/K.csv and its
// predictions to DIR/K.txt, a line per step, every bit of them. Client K has none in its last K x
// LEAVING steps, at least one.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "polykern/algorithms/options.h"
#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/data/synthetic.h"
#include "polykern/sim/simulation.h"

namespace {

std::string Exactly(double value) {
  std::array<char, 32> digits{};
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
}

/// Clients that leave one after the other, the first one last.
class LeavingFleet final : public polykern::SyntheticFleet {
 public:
  LeavingFleet(const polykern::FleetOptions& options, std::size_t leaving)
      : SyntheticFleet(options), leaving_(leaving) {}

  std::size_t StepsOf(std::size_t k) const {
    return k * leaving_ < steps() ? steps() - k * leaving_ : 1;
  }
  void Read(std::size_t step, std::size_t first, std::size_t count,
            polykern::SampleBlock& block) const override {
    SyntheticFleet::Read(step, first, count, block);
    for (std::size_t c = 0; c < count; ++c) {
      if (step < StepsOf(first + c)) continue;
      block.present[c] = 0;
      block.y[c] = 0;
      std::fill_n(block.x.begin() + static_cast<std::ptrdiff_t>(c * dimension()), dimension(),
                  0.0F);
    }
  }

 private:
  std::size_t leaving_;
};

void Run(const std::vector<std::string>& arguments) {
  using namespace polykern;
  const std::string& folder = arguments.at(0);
  const auto number = [&](std::size_t i) { return std::stoull(arguments.at(i)); };
  FleetOptions fleet_options;
  fleet_options.clients = number(2);
  fleet_options.steps = number(3);
  fleet_options.dimension = number(4);
  fleet_options.seed = number(5);
  const LeavingFleet fleet(fleet_options, arguments.size() > 10 ? number(10) : 0);
  AlgorithmOptions options;
  if (arguments.size() > 6) options.kernels = number(6);
  if (arguments.size() > 7) options.features = number(7);
  if (arguments.size() > 8) options.kernels_per_upload = number(8);
  if (arguments.size() > 9) options.least_clients = number(9);
  // As the simulator's first repetition draws its features.
  const std::uint64_t seed = RepetitionSeed(fleet_options.seed);
  const auto algorithm = MakeAlgorithm(arguments.at(1), options,
                                       {fleet.dimension(), fleet.steps(), seed, fleet.clients()});
  Clients clients(*algorithm, 0, fleet.clients());
  Workers workers(1);
  Simulation::Options keep;
  keep.keep_predictions = true;
  Simulation simulation(*algorithm, fleet, clients, workers, keep);
  while (!simulation.done()) simulation.Step();

  for (std::size_t k = 0; k < fleet.clients(); ++k) {
    std::ofstream samples(folder + "/" + std::to_string(k) + ".csv");
    std::ofstream predictions(folder + "/" + std::to_string(k) + ".txt");
    for (std::size_t i = 0; i < fleet.dimension(); ++i) samples << "x" << i << ",";
    samples << "y\n";
    SampleBlock block;
    for (std::size_t t = 0; t < fleet.StepsOf(k); ++t) {
      fleet.Read(t, k, 1, block);
      for (const float x : block.x) samples << Exactly(static_cast<double>(x)) << ",";
      samples << Exactly(block.y[0]) << '\n';
      predictions << Exactly(simulation.predictions()[t * fleet.clients() + k]) << '\n';
    }
    if (!samples || !predictions) throw Error(folder + ": cannot be written to");
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Run({argv + 1, argv + argc});
    return EXIT_SUCCESS;
  } catch (const std::exception& error) {
    std::cerr << "polykern_fleet: " << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
