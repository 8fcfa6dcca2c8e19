#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "polykern/algorithms/options.h"
#include "polykern/data/stream.h"
#include "polykern/sim/communicator.h"
#include "polykern/sim/experiment.h"
#include "polykern/sim/simulation.h"
#include "polykern/sim/weight_watch.h"

namespace polykern {

/// What one repetition of one row gave, of all clients. A plain value.
struct Repetition {
  bool finished = false;
  bool has_regret = false;
  double mse = 0;
  std::vector<double> regret = {};  ///< per client
  std::vector<double> step_mse = {};
  std::vector<double> step_regret = {};
  ClientWeights weights = {};
  Traffic traffic = {};
  double bound = 0;
  bool unit_losses = true;
  std::size_t over_bound = 0;
  double seconds = 0;
  double rank_bytes = 0;  ///< what a rank gave to others in a step, the mean over both
  std::uint64_t fingerprint = 0;
  std::optional<Divergence> divergence = {};
  std::vector<double> state = {};        ///< of all clients at the end, if the next one needs it
  std::vector<double> predictions = {};  ///< steps x clients, if they are kept
};

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

/// Puts the repetitions of a row together, in their order. Of a row that diverged, the finished
/// repetitions count, or the steps of the first one if there are none.
RowResult Summarize(const Row& row, const std::vector<Repetition>& runs, std::size_t clients);

/// A repetition as JSON, every bit of it, and back; the text must be one that was made so.
std::string RepetitionText(const Repetition& repetition);
Repetition ParseRepetition(const std::string& text);

}  // namespace polykern
