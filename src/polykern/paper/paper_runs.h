#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "polykern/data/source.h"
#include "polykern/paper/paper_data.h"
#include "polykern/paper/paper_run.h"
#include "polykern/results/comparison.h"
#include "polykern/results/experiment_options.h"
#include "polykern/results/run_store.h"
#include "polykern/sim/experiment.h"

namespace polykern {

/// The runs that tables and figures are made of, each distinct one once. Every run is kept in the
/// store as soon as it is finished; those that are there already are not run again. Nor are single
/// repetitions of a run that was stopped, which are kept in `partial`. If there are several ranks,
/// all of them make the same calls; rank 0 has the results, and its stores are used.
/// One thread, but for Look. Everything throws Error for a user's mistake.
class PaperRuns {
 public:
  /// `options.carry_weights` has no effect. `data_dir` is where the data sets were found. `device`
  /// takes the clients through their steps in the runs whose algorithm it has; null: none.
  PaperRuns(ExperimentOptions options, std::string data_dir, RunStore store, RunStore partial,
            Communicator& ranks, const FleetDevice* device = nullptr);

  /// Asks for a run, before Prepare. `data` must outlive this.
  void Want(const PaperData& data, const WantedRun& run);

  /// What was found in the store.
  struct Prepared {
    std::size_t wanted = 0;
    std::size_t kept = 0;
    std::vector<std::string> damaged = {};  ///< paths of files whose runs are made again
  };
  /// Finds what is kept, and reads the samples of the rest. `fresh`: nothing kept is reused.
  Prepared Prepare(bool fresh);

  /// Makes the runs that are missing, on several threads and ranks. After Prepare.
  void Run();

  /// How far Run is: the part that is done, in [0, 1], and what it is at. Any thread may ask, after
  /// Prepare.
  struct State {
    double part = 0;
    std::string what = {};
  };
  State Look() const;

  /// A wanted run, after Run.
  PaperRun Of(const PaperData& data, const WantedRun& run) const;

  /// result.json, after Run: lists over data sets and runs, in the order asked for, and what was
  /// made of them.
  std::string Json(const std::string& command, const std::vector<Comparison>& comparisons) const;

 private:
  struct Job {
    const PaperData* data = nullptr;
    WantedRun run = {};
    std::string settings = {};
    std::string result = {};  // as ResultJson gives it; empty: still to be run
  };
  struct Work {  // of a job that is still to be run
    Job* job = nullptr;
    double cost = 0;
    Progress progress = {};
    std::atomic<bool> running = false;
  };

  ExperimentOptions Protocol(bool carried) const;
  SourceOptions SourceOf(const std::string& data) const;
  std::string Settings(const PaperData& data, const WantedRun& run) const;
  void RunOne(Job& job, Progress& progress);
  bool RunsOnDevice(const Row& row, const Stream& stream) const;
  std::string Command(const Job& job) const;

  ExperimentOptions options_;
  std::string data_dir_;
  RunStore store_;
  RunStore partial_;
  Communicator& ranks_;
  const FleetDevice* device_;
  std::vector<Job> jobs_;
  std::map<std::string, std::size_t> by_settings_;
  bool fresh_ = false;
  std::vector<std::unique_ptr<Work>> works_;  // the longest first
  std::map<std::string, Source> sources_;     // of the works, by name
  std::atomic<std::size_t> done_ = 0;         // of the works
};

}  // namespace polykern
