#include "reproduce/reproduce_runs.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iostream>
#include <memory>
#include <utility>

#include "console.h"
#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/core/text.h"
#include "polykern/data/published.h"
#include "polykern/data/source.h"
#include "polykern/io/checksum.h"
#include "polykern/results/result.h"
#include "polykern/results/text_table.h"
#include "polykern/sim/paper.h"
#include "polykern/sim/workers.h"

namespace polykern {
namespace {

namespace fs = std::filesystem;
using Json = PaperRuns::Json;

/// Everything that decides a data set's samples; nothing if none of its files is there.
std::string DataSettings(const Recipe& recipe, const std::string& data_dir) {
  Json files = Json::object();
  std::string missing;
  for (const PublishedFile& published : FindPublication(recipe.name).files) {
    const std::string path = (fs::path(data_dir) / published.path).string();
    const FileCheck check = CheckFile(path, published);
    if (check.state == FileState::kAltered) {
      throw Error(path + " is altered (" + check.detail +
                  "); repair it with: " + GetCommand(recipe.name, data_dir) + " --force");
    }
    if (check.state == FileState::kMissing) {
      if (missing.empty()) missing = path;
    } else {
      files[published.path] = published.sha256.empty() ? Sha256OfFile(path) : published.sha256;
    }
  }
  if (files.empty()) return "";
  if (!missing.empty()) {
    throw Error(missing + " is missing; get it with: " + GetCommand(recipe.name, data_dir));
  }
  return Json{{"data", recipe.name},
              {"files", files},
              {"target", recipe.columns.target},
              {"clients", recipe.clients},
              {"steps", recipe.steps}}
      .dump();
}

/// Very roughly, microseconds per sample: what the progress bar and the order of the runs go by.
double Cost(const Row& row) {
  if (row.algorithm == "em-kofl") return 35;
  if (row.algorithm == "perfedavg") return 20;
  return 1 + 0.05 * static_cast<double>(FeaturesOf(row.algorithm, row.options));
}

}  // namespace

std::vector<PaperData> FindPaperData(const std::vector<std::string>& names,
                                     const std::string& data_dir) {
  for (const std::string& name : names) {
    FindRecipe(name);  // throws for one that does not exist
    if (!InPaper(name)) throw Error("the paper has no figures of '" + name + "'");
  }
  std::vector<PaperData> found;
  std::string absent;
  for (const Recipe& recipe : Recipes()) {
    if (!InPaper(recipe.name)) continue;
    if (!names.empty() && std::ranges::find(names, recipe.name) == names.end()) continue;
    std::string settings = DataSettings(recipe, data_dir);
    if (settings.empty()) {
      absent += (absent.empty() ? "" : " ") + recipe.name;
    } else {
      found.push_back({&recipe, std::move(settings)});
    }
  }
  if (found.empty()) {
    throw Error("'" + data_dir + "' has no files of: " + absent +
                "; get them with: " + GetCommand(absent, data_dir) +
                " (or name the folder that has them with --data-dir)");
  }
  if (!absent.empty()) {
    std::cerr << "polykern: left out, for want of files: " << absent
              << "; get them with: " << GetCommand(absent, data_dir) << '\n';
  }
  return found;
}

PaperRuns::PaperRuns(ExperimentOptions options, std::string data_dir, RunStore store,
                     RunStore partial, Communicator& ranks)
    : options_(options),
      data_dir_(std::move(data_dir)),
      store_(std::move(store)),
      partial_(std::move(partial)),
      ranks_(ranks) {}

ExperimentOptions PaperRuns::Protocol(bool carried) const {
  ExperimentOptions options = options_;
  options.carry_weights = carried;
  // The runs themselves are shared out among the threads; but not among ranks.
  if (ranks_.size() == 1) options.threads = 1;
  return options;
}

std::string PaperRuns::Settings(const PaperData& data, const Row& row, bool carried) const {
  return data.settings + RowSettings(row, Protocol(carried));
}

void PaperRuns::Want(const PaperData& data, const Row& row, bool carried) {
  std::string settings = Settings(data, row, carried);
  if (by_settings_.emplace(settings, jobs_.size()).second) {
    jobs_.push_back({&data, row, carried, std::move(settings)});
  }
}

void PaperRuns::Load(Job& job) const {
  std::string damaged;
  const auto stored =
      store_.Find(job.data->recipe->name + "-" + job.row.algorithm, job.settings, damaged);
  if (stored) job.result = Json::parse(*stored);
  if (!damaged.empty()) {
    std::cerr << "polykern: " << damaged << " is damaged; this run is made again\n";
  }
}

void PaperRuns::Run(bool fresh) {
  CheckExperiment({}, options_);
  std::string missing_text;  // rank 0 says which
  for (Job& job : jobs_) {
    if (!fresh && ranks_.rank() == 0) Load(job);
    missing_text += job.result.is_null() ? '1' : '0';
  }
  ranks_.Broadcast(missing_text);
  std::vector<Job*> missing;
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    if (missing_text[i] == '1') missing.push_back(&jobs_[i]);
  }
  if (jobs_.size() > missing.size()) {
    std::cerr << "polykern: " << jobs_.size() - missing.size() << " of "
              << Count(jobs_.size(), "run") << " were finished before and are taken over\n";
  }
  if (!missing.empty()) RunAll(missing, fresh);
}

void PaperRuns::RunAll(const std::vector<Job*>& missing, bool fresh) {
  struct State {
    Job* job = nullptr;
    double cost = 0;
    Progress progress = {};
    std::atomic<bool> running = false;
  };
  std::vector<std::unique_ptr<State>> states;
  double whole = 0;
  for (Job* job : missing) {
    auto& state = *states.emplace_back(std::make_unique<State>());
    state.job = job;
    state.cost = Cost(job->row) * static_cast<double>(job->data->recipe->clients);
    whole += state.cost;
  }
  // The longest first, so that no thread is left with one when the others are done.
  std::ranges::stable_sort(states, [](const auto& a, const auto& b) { return a->cost > b->cost; });

  std::atomic<std::size_t> done = 0;
  std::atomic<bool> failed = false;
  const auto look = [&] {
    WorkState shown;
    std::string what;
    for (const auto& state : states) {
      const std::size_t total = state->progress.steps_total;
      if (total > 0) {
        shown.part += state->cost * static_cast<double>(state->progress.steps_done) /
                      static_cast<double>(total) / whole;
      }
      if (state->running && what.empty()) {
        const Row& row = state->job->row;
        what = state->job->data->recipe->name + " " + row.algorithm;
        if (TraitsOf(row.algorithm).chooses_kernels) {
          what += " M = " + std::to_string(*row.options.kernels_per_upload);
        }
      }
    }
    shown.what =
        what + ", " + std::to_string(done) + " of " + Count(states.size(), "run") + " done";
    return shown;
  };

  SourceOptions source_options;
  source_options.data_dir = data_dir_;
  source_options.seed = options_.seed;
  std::map<std::string, Source> sources;
  for (const Job* job : missing) {
    const std::string& name = job->data->recipe->name;
    source_options.data = {name};
    if (!sources.contains(name)) sources.emplace(name, OpenSource(source_options));
  }
  const ProgressBar bar(look, ranks_.size() > 1 && ranks_.rank() == 0);
  Workers workers(ranks_.size() > 1 ? 1 : options_.threads);  // ranks take one run after the other
  workers.Run(states.size(), [&](std::size_t i, std::size_t) {
    if (failed) return;
    State& state = *states[i];
    Job& job = *state.job;
    state.running = true;
    try {
      RunOne(job, sources.at(job.data->recipe->name), fresh, state.progress);
    } catch (...) {
      failed = true;
      throw;
    }
    state.running = false;
    ++done;
  });
}

void PaperRuns::RunOne(Job& job, const Source& source, bool fresh, Progress& progress) {
  const std::string& name = job.data->recipe->name;
  const ExperimentOptions protocol = Protocol(job.carried);
  const std::vector<Row> rows = {job.row};
  const ExperimentHost host = {.ranks = &ranks_, .store = &partial_, .data = job.data->settings};
  if (fresh && ranks_.rank() == 0) ForgetKept(rows, protocol, host);
  const auto results = RunExperiment(*source.stream, rows, protocol, progress, host);
  if (ranks_.rank() != 0) return;
  SourceOptions own;
  own.data_dir = data_dir_;
  own.seed = options_.seed;
  own.data = {name};
  const std::string result = ResultJson(source, own, protocol, results, Command(job));
  job.result = Json::parse(result);
  store_.Keep(name + "-" + job.row.algorithm, job.settings, result);
  ForgetKept(rows, protocol, host);
}

/// What a user types to make one run alone.
std::string PaperRuns::Command(const Job& job) const {
  const AlgorithmOptions& o = job.row.options;
  std::string text = "polykern run --data " + job.data->recipe->name + " --data-dir " +
                     ShellWord(data_dir_) + " --algorithm " + job.row.algorithm;
  if (TraitsOf(job.row.algorithm).chooses_kernels) {
    text += " --kernels-per-upload " + std::to_string(*o.kernels_per_upload) + " --exploration " +
            NumberText(ExplorationOf(job.row.algorithm, o));
  }
  if (o.features) text += " --features " + std::to_string(*o.features);
  if (job.row.algorithm == "perfedavg") text += " --meta-rate " + NumberText(o.meta_rate);
  return text + " --weights " + (job.carried ? "carried" : "reset") + " --repetitions " +
         std::to_string(options_.repetitions) + " --seed " + std::to_string(options_.seed);
}

const Json& PaperRuns::Of(const PaperData& data, const Row& row, bool carried) const {
  return jobs_[by_settings_.at(Settings(data, row, carried))].result.at("runs").at(0);
}

Json PaperRuns::Result() const {
  Json data = Json::array();
  Json runs = Json::array();
  for (const Job& job : jobs_) {
    const std::string& name = job.data->recipe->name;
    if (std::ranges::none_of(data, [&](const Json& seen) { return seen["name"] == name; })) {
      data.push_back(job.result["data"]);
      data.back()["folder"] = data_dir_;  // where they are now
    }
    Json run = {{"data", name}, {"command", Command(job)}};
    run.update(job.result["runs"][0]);
    runs.push_back(std::move(run));
  }
  return {{"data", data}, {"runs", runs}};
}

}  // namespace polykern
