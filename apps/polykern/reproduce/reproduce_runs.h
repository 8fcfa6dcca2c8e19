#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "polykern/data/recipes.h"
#include "polykern/data/source.h"
#include "polykern/results/run_store.h"
#include "polykern/sim/experiment.h"

namespace polykern {

/// A data set whose files are all there, as published.
struct PaperData {
  const Recipe* recipe = nullptr;
  std::string settings = {};  ///< everything that decides its samples, but the seed
};

/// Those of the named data sets, or of all that the paper has, that are in the folder. What is
/// absent is told on standard error, with the command that gets it. Throws Error if none is there,
/// if the paper does not have one that is named, or a file of one is missing or altered.
std::vector<PaperData> FindPaperData(const std::vector<std::string>& names,
                                     const std::string& data_dir);

/// The runs that tables and figures are made of, each distinct one once. Every run is kept in the
/// store as soon as it is finished; those that are there already are not run again. Nor are single
/// repetitions of a run that was stopped, which are kept in `partial`. If there are several ranks,
/// all of them make the same calls; rank 0 has the results, and its stores are used.
class PaperRuns {
 public:
  using Json = nlohmann::ordered_json;

  /// `options.carry_weights` plays no part. `data_dir` is where the data sets were found.
  PaperRuns(ExperimentOptions options, std::string data_dir, RunStore store, RunStore partial,
            Communicator& ranks);

  /// Asks for a run. `data` must outlive this.
  void Want(const PaperData& data, const Row& row, bool carried);

  /// Runs what is wanted and, unless `fresh`, not in the store, on several threads and ranks, with
  /// a progress bar. Tells of damaged files on standard error.
  void Run(bool fresh);

  /// A wanted run as in result.json, after Run.
  const Json& Of(const PaperData& data, const Row& row, bool carried) const;

  /// "data" and "runs" of result.json: lists over data sets and runs, in the order asked for.
  Json Result() const;

 private:
  struct Job {
    const PaperData* data = nullptr;
    Row row = {};
    bool carried = false;
    std::string settings = {};
    Json result = {};  // as ResultJson gives it; null: still to be run
  };

  ExperimentOptions Protocol(bool carried) const;
  std::string Settings(const PaperData& data, const Row& row, bool carried) const;
  void Load(Job& job) const;
  void RunAll(const std::vector<Job*>& jobs, bool fresh);
  void RunOne(Job& job, const Source& source, bool fresh, Progress& progress);
  std::string Command(const Job& job) const;

  ExperimentOptions options_;
  std::string data_dir_;
  RunStore store_;
  RunStore partial_;
  Communicator& ranks_;
  std::vector<Job> jobs_;
  std::map<std::string, std::size_t> by_settings_;
};

}  // namespace polykern
