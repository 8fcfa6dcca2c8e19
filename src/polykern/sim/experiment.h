#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "polykern/data/stream.h"
#include "polykern/results/experiment_options.h"
#include "polykern/results/row.h"
#include "polykern/results/run_store.h"
#include "polykern/sim/fleet.h"
#include "polykern/sim/ranks/communicator.h"
#include "polykern/sim/simulation.h"

namespace polykern {

/// How far an experiment is; may be read by another thread while it runs.
struct Progress {
  std::atomic<std::size_t> steps_done = 0;
  std::atomic<std::size_t> steps_total = 0;
  std::atomic<std::size_t> kept = 0;  ///< repetitions that were finished before
};

/// Who runs an experiment, and what it leaves behind if it is stopped.
struct ExperimentHost {
  /// Those that run it together; null: this process alone.
  Communicator* ranks = nullptr;
  /// Where finished repetitions are kept, each as soon as it is finished, until ForgetKept; those
  /// that are there are not run again. Rank 0's alone is used. Null: nowhere.
  const RunStore* store = nullptr;
  std::string data = {};  ///< everything that decides the samples
  /// The results hold the predictions of each row's first repetition, which is then run even if it
  /// is kept. Not with several ranks.
  bool keep_predictions = false;
  /// That takes the clients through their steps, with the same bits; null: the CPU.
  const FleetDevice* device = nullptr;
};

/// Throws Error, naming the option, if a row or the experiment cannot run.
void CheckExperiment(const std::vector<Row>& rows, const ExperimentOptions& options);

/// The clients whose samples this rank needs in RunExperiment: all of them, if repetitions are
/// spread over single ranks.
ClientRange RankClients(const std::vector<Row>& rows, const ExperimentOptions& options,
                        std::size_t clients, const Communicator& ranks);

/// Runs every row on the stream, in parallel over repetitions or over clients, whichever fills the
/// threads and the ranks; the results do not depend on it. Throws Error as CheckExperiment does,
/// before the first step, and if a row would send more than its budget. A row that diverges keeps
/// what it had and says so in its result; a device that fails ends the call with DeviceFailure.
/// Results are on rank 0, the others get none. `progress` is that of this rank.
std::vector<RowResult> RunExperiment(const Stream& stream, const std::vector<Row>& rows,
                                     const ExperimentOptions& options, Progress& progress,
                                     const ExperimentHost& host = {});

/// Removes what RunExperiment kept: to be called when its results are safe.
void ForgetKept(const std::vector<Row>& rows, const ExperimentOptions& options,
                const ExperimentHost& host);

/// One run of an algorithm that exists already.
struct SingleRunOptions {
  Simulation::Options simulation = {};
  std::size_t threads = 0;              ///< 0: as many as the machine has cores
  const FleetDevice* device = nullptr;  ///< instead of them; null: none
  /// Called after every step, by the thread that called RunAlgorithm; what it throws ends the run.
  std::function<void(std::size_t step)> after_step = {};
};
struct SingleRun {
  RowResult result;
  std::vector<double> predictions;  ///< steps x clients, if kept; NaN where none was made
  double seconds = 0;               ///< that it took, on all threads together
};

/// Takes every client of the stream through all steps, as one repetition of RunExperiment does:
/// same algorithm, same bits. `row` says in the result what ran.
SingleRun RunAlgorithm(const Stream& stream, const Row& row, const Algorithm& algorithm,
                       const SingleRunOptions& options);

}  // namespace polykern
