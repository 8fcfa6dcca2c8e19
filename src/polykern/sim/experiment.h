#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "polykern/algorithms/options.h"
#include "polykern/core/metrics.h"
#include "polykern/data/stream.h"
#include "polykern/sim/communicator.h"
#include "polykern/sim/run_store.h"
#include "polykern/sim/simulation.h"
#include "polykern/sim/weight_watch.h"

namespace polykern {

/// One row of a comparison: an algorithm and its settings.
struct Row {
  std::string algorithm = "pof-mkl";
  AlgorithmOptions options;
};

/// How rows are run: the command line, TOML files and Python fill this struct.
struct ExperimentOptions {
  std::size_t repetitions = 20;  ///< feature draws
  std::uint64_t seed = 0;        ///< of feature draws, clients' draws and absences
  bool carry_weights = false;  ///< keep clients' weights through the repetitions, as the paper did
  double participation = 1;    ///< a client with a sample takes part with this probability
  /// Groups of ranks among which repetitions are shared out; it must divide the ranks. 0: whatever
  /// is cheapest.
  std::size_t rank_groups = 0;
  std::size_t threads = 0;  ///< of a rank; 0: the machine's cores, shared out among its ranks
};

/// Why a row ended early.
struct Divergence {
  std::size_t repetition = 0;
  std::size_t step = 0;
  std::string message;
};

/// What a row gave. Means over clients, steps and repetitions unless said otherwise.
struct RowResult {
  Row row;
  std::size_t kernels = 0;             ///< sent per step; 0: none
  std::size_t features = 0;            ///< D; 0: the algorithm has no kernels
  std::size_t repetitions = 0;         ///< those that finished
  Spread mse;                          ///< over the repetitions
  bool has_regret = false;             ///< there are experts to measure regret against
  Spread regret;                       ///< over the clients, each the mean of its repetitions
  std::optional<double> regret_bound;  ///< Theorem 2, if it applies to the algorithm
  bool unit_losses = true;             ///< every loss lay in [0, 1]: the bound's premise
  std::size_t over_bound = 0;  ///< client runs with unit losses whose regret is above the bound
  std::uint64_t uplink_numbers = 0;   ///< most numbers any client sent in a step
  double uplink_bytes = 0;            ///< per client and step
  double downlink_bytes = 0;          ///< per client and step
  std::uint64_t samples = 0;          ///< client-steps over all repetitions
  double seconds = 0;                 ///< processor time of the repetitions, added up
  double rank_bytes = 0;              ///< what a rank gave to others, per step
  std::uint64_t fingerprint = 0;      ///< of every bit of every prediction and final model
  std::vector<double> step_mse;       ///< per step
  std::vector<double> step_regret;    ///< per step: cumulative regret
  std::vector<double> client_regret;  ///< per client; empty without regret or a finished repetition
  WeightPlan weight_plan;             ///< whose weights are below
  ClientWeights weights;  ///< empty if clients have none of their own, or nothing finished
  std::optional<Divergence> divergence;
};

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
/// what it had and says so in its result. Results are on rank 0, the others get none. `progress` is
/// that of this rank.
std::vector<RowResult> RunExperiment(const Stream& stream, const std::vector<Row>& rows,
                                     const ExperimentOptions& options, Progress& progress,
                                     const ExperimentHost& host = {});

/// Removes what RunExperiment kept: to be called when its results are safe.
void ForgetKept(const std::vector<Row>& rows, const ExperimentOptions& options,
                const ExperimentHost& host);

/// One run of an algorithm that exists already.
struct SingleRunOptions {
  Simulation::Options simulation = {};
  std::size_t threads = 0;  ///< 0: as many as the machine has cores
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
