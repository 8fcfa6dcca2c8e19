#include "polykern/paper/paper_runs.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/core/text.h"
#include "polykern/core/version.h"
#include "polykern/results/result.h"
#include "polykern/results/text_table.h"
#include "polykern/sim/workers.h"

namespace polykern {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// Very roughly, microseconds per sample: what the progress bar and the order of the runs go by.
double Cost(const Row& row) {
  if (row.algorithm == "em-kofl") return 35;
  if (row.algorithm == "perfedavg") return 20;
  return 1 + 0.05 * static_cast<double>(FeaturesOf(row.algorithm, row.options));
}

/// Null: not a number.
double Number(const OrderedJson& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

}  // namespace

PaperRuns::PaperRuns(ExperimentOptions options, std::string data_dir, RunStore store,
                     RunStore partial, Communicator& ranks, const FleetDevice* device)
    : options_(options),
      data_dir_(std::move(data_dir)),
      store_(std::move(store)),
      partial_(std::move(partial)),
      ranks_(ranks),
      device_(device) {}

ExperimentOptions PaperRuns::Protocol(bool carried) const {
  ExperimentOptions options = options_;
  options.carry_weights = carried;
  // The runs themselves are shared out among the threads; but not among ranks.
  if (ranks_.size() == 1) options.threads = 1;
  return options;
}

SourceOptions PaperRuns::SourceOf(const std::string& data) const {
  SourceOptions options;
  options.data_dir = data_dir_;
  options.seed = options_.seed;
  options.data = {data};
  return options;
}

std::string PaperRuns::Settings(const PaperData& data, const WantedRun& run) const {
  return data.settings + RowSettings(run.row, Protocol(run.carried));
}

void PaperRuns::Want(const PaperData& data, const WantedRun& run) {
  std::string settings = Settings(data, run);
  if (by_settings_.emplace(settings, jobs_.size()).second) {
    jobs_.push_back({&data, run, std::move(settings), {}});
  }
}

PaperRuns::Prepared PaperRuns::Prepare(bool fresh) {
  CheckExperiment({}, options_);
  fresh_ = fresh;
  Prepared prepared;
  std::string missing;  // rank 0 says which
  for (Job& job : jobs_) {
    if (!fresh && ranks_.rank() == 0) {
      std::string damaged;
      job.result =
          store_.Find(job.data->recipe->name + "-" + job.run.row.algorithm, job.settings, damaged)
              .value_or("");
      if (!damaged.empty()) prepared.damaged.push_back(damaged);
    }
    missing += job.result.empty() ? '1' : '0';
  }
  ranks_.Broadcast(missing);
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    if (missing[i] == '0') continue;
    Work& work = *works_.emplace_back(std::make_unique<Work>());
    work.job = &jobs_[i];
    const Recipe& recipe = *jobs_[i].data->recipe;
    work.cost = Cost(jobs_[i].run.row) * static_cast<double>(recipe.clients);
    if (!sources_.contains(recipe.name)) {
      sources_.emplace(recipe.name, OpenSource(SourceOf(recipe.name)));
    }
  }
  // The longest first, so that no thread is left with one when the others are done.
  std::ranges::stable_sort(works_, [](const auto& a, const auto& b) { return a->cost > b->cost; });
  prepared.wanted = jobs_.size();
  prepared.kept = jobs_.size() - works_.size();
  return prepared;
}

PaperRuns::State PaperRuns::Look() const {
  State state;
  std::string what;
  double whole = 0;
  for (const auto& work : works_) whole += work->cost;
  for (const auto& work : works_) {
    const std::size_t total = work->progress.steps_total;
    if (total > 0) {
      state.part += work->cost * static_cast<double>(work->progress.steps_done) /
                    static_cast<double>(total) / whole;
    }
    if (work->running && what.empty()) {
      const Row& row = work->job->run.row;
      what = work->job->data->recipe->name + " " + row.algorithm;
      if (row.options.kernels_per_upload && TraitsOf(row.algorithm).chooses_kernels) {
        what += " M = " + std::to_string(*row.options.kernels_per_upload);
      }
    }
  }
  state.what = what + ", " + std::to_string(done_) + " of " + Count(works_.size(), "run") + " done";
  return state;
}

void PaperRuns::Run() {
  std::atomic<bool> failed = false;
  Workers workers(ranks_.size() > 1 ? 1 : options_.threads);  // ranks take one run after the other
  workers.Run(works_.size(), [&](std::size_t i, std::size_t) {
    if (failed) return;
    Work& work = *works_[i];
    work.running = true;
    try {
      RunOne(*work.job, work.progress);
    } catch (...) {
      failed = true;
      throw;
    }
    work.running = false;
    ++done_;
  });
}

bool PaperRuns::RunsOnDevice(const Row& row, const Stream& stream) const {
  if (device_ == nullptr) return false;
  try {
    device_->Check(
        *MakeAlgorithm(row.algorithm, row.options, {stream.dimension(), stream.steps()}));
    return true;
  } catch (const Error&) {  // has no form for it: the CPU has
    return false;
  }
}

void PaperRuns::RunOne(Job& job, Progress& progress) {
  const std::string& name = job.data->recipe->name;
  const Source& source = sources_.at(name);
  const ExperimentOptions protocol = Protocol(job.run.carried);
  const std::vector<Row> rows = {job.run.row};
  ExperimentHost host = {.ranks = &ranks_, .store = &partial_, .data = job.data->settings};
  if (RunsOnDevice(job.run.row, *source.stream)) host.device = device_;
  if (fresh_ && ranks_.rank() == 0) ForgetKept(rows, protocol, host);
  const auto results = RunExperiment(*source.stream, rows, protocol, progress, host);
  if (ranks_.rank() != 0) return;
  job.result = ResultJson(source, SourceOf(name), protocol, results, Command(job));
  store_.Keep(name + "-" + job.run.row.algorithm, job.settings, job.result);
  ForgetKept(rows, protocol, host);
}

/// What a user types to make one run alone.
std::string PaperRuns::Command(const Job& job) const {
  const Row& row = job.run.row;
  const AlgorithmOptions& o = row.options;
  std::string command = "polykern run";
  const auto add = [&](const char* key, const std::string& value) {
    command += " " + ShellSpelling(key, value);
  };
  add("data", job.data->recipe->name);
  add("data_dir", ShellWord(data_dir_));
  add("algorithm", row.algorithm);
  if (o.kernels_per_upload && TraitsOf(row.algorithm).chooses_kernels) {
    add("kernels_per_upload", std::to_string(*o.kernels_per_upload));
    add("exploration", NumberText(ExplorationOf(row.algorithm, o)));
  }
  if (o.features) add("features", std::to_string(*o.features));
  if (row.algorithm == "perfedavg") add("meta_rate", NumberText(o.meta_rate));
  add("weights", job.run.carried ? "carried" : "reset");
  add("repetitions", std::to_string(options_.repetitions));
  add("seed", std::to_string(options_.seed));
  return command;
}

PaperRun PaperRuns::Of(const PaperData& data, const WantedRun& wanted) const {
  const Job& job = jobs_[by_settings_.at(Settings(data, wanted))];
  const OrderedJson run = OrderedJson::parse(job.result).at("runs").at(0);
  PaperRun found;
  found.steps = run["steps"];
  found.repetitions = run["repetitions"];
  found.diverged = run.contains("diverged");
  found.mse = {Number(run["mse"]), Number(run["mse_std"])};
  found.regret = {Number(run["regret_mean"]), Number(run["regret_std"])};
  found.microseconds_per_sample = run["microseconds_per_sample"];
  for (const OrderedJson& step : run["curves"]["step"]) found.curve_steps.push_back(step);
  for (const OrderedJson& regret : run["curves"]["regret"]) {
    found.curve_regret.push_back(Number(regret));
  }
  return found;
}

std::string PaperRuns::Json(const std::string& command,
                            const std::vector<Comparison>& comparisons) const {
  OrderedJson data = OrderedJson::array();
  OrderedJson runs = OrderedJson::array();
  for (const Job& job : jobs_) {
    const OrderedJson result = OrderedJson::parse(job.result);
    const std::string& name = job.data->recipe->name;
    if (std::ranges::none_of(data, [&](const OrderedJson& seen) { return seen["name"] == name; })) {
      data.push_back(result["data"]);
      data.back()["folder"] = data_dir_;  // where they are now
    }
    OrderedJson run = {{"data", name}, {"command", Command(job)}};
    run.update(result["runs"][0]);
    runs.push_back(std::move(run));
  }
  const OrderedJson json = {{"polykern", Version()},
                            {"command", command},
                            {"data", data},
                            {"runs", runs},
                            {"reproduction", OrderedJson::parse(ReproductionJson(comparisons))}};
  return ReadableJson(json.dump(1, ' ', false, OrderedJson::error_handler_t::replace)) + "\n";
}

}  // namespace polykern
