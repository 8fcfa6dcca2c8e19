#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "polykern/data/stream.h"
#include "polykern/results/experiment_options.h"
#include "polykern/results/repetition.h"
#include "polykern/sim/ranks/communicator.h"
#include "polykern/sim/simulation.h"
#include "polykern/sim/weight_watch.h"

namespace polykern {

/// The algorithm of a row as repetition `repetition` has it.
std::unique_ptr<Algorithm> MakeFor(const Row& row, const Stream& stream, std::uint64_t seed,
                                   std::size_t repetition);

/// Throws Error if a client of the row sends more than its budget.
void CheckBudget(const Row& row, std::uint64_t numbers);

/// Runs one repetition together with the other ranks, each with its own clients. The per-client
/// parts of the result are on rank 0 alone, the rest is on all. `passed` hears how many steps are
/// over, again and again.
Repetition RunRepetition(const Stream& stream, const Row& row, const Algorithm& algorithm,
                         const ExperimentOptions& options, Simulation::Options simulation_options,
                         std::size_t repetition, const WeightPlan& plan, Clients& clients,
                         Workers& workers, Communicator& ranks,
                         const std::function<void(std::size_t)>& passed);

}  // namespace polykern
