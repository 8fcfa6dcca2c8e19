#include "polykern/sim/experiment.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/options.h"
#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/core/interval.h"
#include "polykern/results/repetition.h"
#include "polykern/sim/kept_repetitions.h"
#include "polykern/sim/ranks/rank_groups.h"
#include "polykern/sim/row_algorithms_internal.h"
#include "polykern/sim/yardsticks.h"

namespace polykern {
namespace {

using SortedJson = nlohmann::json;

/// A chain is what must run in order: one repetition, or all of a row if weights are carried.
std::size_t ChainLength(const ExperimentOptions& options) {
  return options.carry_weights ? options.repetitions : 1;
}

/// One call of RunExperiment.
class Execution {
 public:
  Execution(const Stream& stream, const std::vector<Row>& rows, const ExperimentOptions& options,
            Progress& progress, const ExperimentHost& host)
      : stream_(stream),
        rows_(rows),
        options_(options),
        progress_(progress),
        keeps_(!host.data.empty()),
        keeps_predictions_(host.keep_predictions),
        kept_(host.store, host.data, options),
        algorithms_(MakeAlgorithms(rows, stream, options.seed)),
        alone_(RunAlone()),
        ranks_(host.ranks != nullptr && host.ranks->size() > 1 ? *host.ranks : *alone_),
        plan_(stream),
        runs_(rows.size(), std::vector<Repetition>(options.repetitions)),
        length_(ChainLength(options)),
        chains_(rows.size() * options.repetitions / length_) {
    if (host.device != nullptr) {
      const ClientRange own = RankClients(rows, options, stream.clients(), ranks_);
      for (const auto& algorithm : algorithms_) host.device->Check(*algorithm);
      for (const auto& algorithm : algorithms_)
        host.device->CheckRoom(*algorithm, own.count, !options.carry_weights);
      data_ = host.device->Load(stream, own, {options.seed, options.participation});
    }
    const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
    threads_ = options.threads == 0 ? std::max<std::size_t>(1, cores / ranks_.local_size())
                                    : options.threads;
  }

  std::vector<RowResult> Run() {
    TakeOver();
    if (ranks_.size() == 1) {
      RunHere();
    } else {
      RunTogether();
    }
    const Yardsticks naive = Naive();
    std::vector<RowResult> results;
    for (std::size_t r = 0; ranks_.rank() == 0 && r < rows_.size(); ++r) {
      results.push_back(Summarize(rows_[r], runs_[r], stream_.clients()));
      results.back().weight_plan = plan_;
      results.back().naive = naive;
    }
    return results;
  }

 private:
  /// By the ranks of the first group, which have all clients.
  Yardsticks Naive() {
    const std::size_t group = ranks_.size() / RankGroups(chains_.size(), stream_.clients(),
                                                         ranks_.size(), options_.rank_groups);
    const ClientRange own =
        ranks_.rank() < group ? OwnClients(stream_.clients(), ranks_.rank(), group) : ClientRange{};
    Workers workers(std::min(threads_, CohortsOf(CpuEngine(), stream_.clients())));
    return MeasureYardsticks(stream_, {options_.seed, options_.participation}, plan_, own, workers,
                             ranks_, data_.get());
  }

  struct Chain {
    std::size_t next = 0;  // of its repetitions
    std::unique_ptr<Clients> clients = {};
    std::vector<double> state = {};  // of all clients, if it continues from a kept repetition
  };

  std::size_t RowOf(std::size_t chain) const { return chain * length_ / options_.repetitions; }
  std::size_t RepetitionOf(std::size_t chain, std::size_t i) const {
    return (chain * length_ + i) % options_.repetitions;
  }
  /// Carried weights of very many clients are not kept: then the row starts again.
  bool KeepsState(std::size_t row) const {
    constexpr std::size_t kMostNumbers = std::size_t{1} << 24;
    const std::size_t size = algorithms_[row]->state_size() * stream_.clients();
    return options_.carry_weights && keeps_ && size <= kMostNumbers;
  }

  /// Finds what was finished before, on rank 0, and tells the others.
  void TakeOver() {
    if (!keeps_) return;
    for (std::size_t c = 0; ranks_.rank() == 0 && c < chains_.size(); ++c) {
      const std::size_t row = RowOf(c);
      Chain& chain = chains_[c];
      for (; chain.next < length_; ++chain.next) {
        const std::size_t repetition = RepetitionOf(c, chain.next);
        if (keeps_predictions_ && repetition == 0) break;
        std::optional<Repetition> run = kept_.Find(rows_[row], repetition);
        if (!run) break;
        if (options_.carry_weights && chain.next + 1 < length_ && run->state.empty()) break;
        chain.state = std::exchange(run->state, {});
        runs_[row][repetition] = std::move(*run);
        ++progress_.kept;
      }
    }
    SortedJson told = SortedJson::array();
    for (const Chain& chain : chains_) told.push_back({chain.next, chain.state});
    std::string text = told.dump();
    ranks_.Broadcast(text);
    told = SortedJson::parse(text);
    for (std::size_t c = 0; c < chains_.size(); ++c) {
      chains_[c].next = told[c][0];
      chains_[c].state = told[c][1].get<std::vector<double>>();
    }
  }

  void Plan(const std::vector<std::size_t>& chains) {
    for (const std::size_t c : chains) {
      progress_.steps_total += (length_ - chains_[c].next) * stream_.steps();
    }
  }

  /// The next repetition of a chain, by these ranks.
  void RunNext(std::size_t c, Workers& workers, Communicator& ranks) {
    Chain& chain = chains_[c];
    const std::size_t row = RowOf(c);
    const std::size_t repetition = RepetitionOf(c, chain.next);
    if (chain.clients == nullptr) {
      const ClientRange own = OwnClients(stream_.clients(), ranks);
      chain.clients = std::make_unique<Clients>(*algorithms_[row], own.first, own.count);
      if (!chain.state.empty()) {
        const std::size_t size = algorithms_[row]->state_size();
        chain.clients->Load(std::span(chain.state).subspan(own.first * size, own.count * size));
      }
    }
    chain.clients->ForgetFeatures();
    const auto algorithm = MakeFor(rows_[row], stream_, options_.seed, repetition);
    Simulation::Options simulation_options;
    simulation_options.seed = options_.seed;
    simulation_options.participation = options_.participation;
    simulation_options.coverage = options_.coverage;
    simulation_options.keep_predictions = keeps_predictions_ && repetition == 0;
    simulation_options.ranks = &ranks;
    simulation_options.device = data_.get();
    simulation_options.carries_states = options_.carry_weights;
    Simulation simulation(*algorithm, stream_, *chain.clients, workers, simulation_options);
    Repetition run =
        simulation.Run({.weights = plan_,
                        .equal_weights = !options_.carry_weights || options_.repetitions == 1,
                        .passed = [this](std::size_t steps) { progress_.steps_done += steps; }});
    if (run.divergence) run.divergence->repetition = repetition;
    CheckBudget(rows_[row], algorithm->shape(), run.traffic.largest_up);
    ++chain.next;
    if (!run.finished) {  // what follows would start from broken weights
      progress_.steps_done += (length_ - chain.next) * stream_.steps();
      chain.next = length_;
    }
    if (KeepsState(row) && chain.next < length_) run.state = ranks.Gather(chain.clients->Save());
    if (chain.next == length_) chain.clients.reset();
    runs_[row][repetition] = std::move(run);
  }

  /// On rank 0, once a repetition is there.
  void Keep(std::size_t row, std::size_t repetition) {
    Repetition& run = runs_[row][repetition];
    if (run.finished) kept_.Keep(rows_[row], repetition, run);
    run.state.clear();
  }

  void RunHere() {
    std::vector<std::size_t> missing;
    for (std::size_t c = 0; c < chains_.size(); ++c) {
      if (chains_[c].next < length_) missing.push_back(c);
    }
    Plan(missing);
    const auto run_chain = [&](std::size_t c, Workers& workers) {
      while (chains_[c].next < length_) {
        const std::size_t repetition = RepetitionOf(c, chains_[c].next);
        RunNext(c, workers, ranks_);
        Keep(RowOf(c), repetition);
      }
    };
    const std::size_t cohorts = CohortsOf(CpuEngine(), stream_.clients());
    // No more threads than there can be work for.
    Workers workers(std::min(threads_, std::max({std::size_t{1}, missing.size(), cohorts})));
    const bool chains_fill =
        missing.size() % workers.size() == 0 || missing.size() >= 8 * workers.size();
    const bool clients_fill = stream_.clients() >= 2 * CpuEngine().cohort_size() * workers.size();
    if (data_ ? FewOnDevice() : chains_fill || !clients_fill) {
      workers.Run(missing.size(), [&](std::size_t i, std::size_t) {
        Workers alone(1);
        run_chain(missing[i], alone);
      });
    } else {
      Workers one(1);
      for (const std::size_t c : missing) run_chain(c, data_ ? one : workers);
    }
  }

  /// Runs of few clients leave room on a device for others beside them.
  bool FewOnDevice() const { return stream_.clients() <= 4096; }

  /// All groups take as many chains at a time, and tell rank 0 of every repetition that they have
  /// finished. A rank that is a group of its own has a thread for each chain.
  void RunTogether() {
    const std::size_t groups =
        RankGroups(chains_.size(), stream_.clients(), ranks_.size(), options_.rank_groups);
    const auto group = ranks_.Split(groups);
    const std::size_t of_group = (chains_.size() + groups - 1) / groups;
    const std::size_t lanes = group->size() == 1 && of_group >= threads_ ? threads_ : 1;
    const std::size_t own_group = ranks_.rank() / group->size();
    std::vector<std::vector<std::size_t>> turns;
    for (std::size_t start = 0; start < chains_.size(); start += groups * lanes) {
      std::vector<std::size_t>& own = turns.emplace_back();
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const std::size_t c = start + lane * groups + own_group;
        if (c < chains_.size() && chains_[c].next < length_) own.push_back(c);
      }
      Plan(own);
    }
    Workers workers(threads_);
    for (const std::vector<std::size_t>& own : turns) {
      for (std::size_t i = 0; i < length_; ++i) {
        std::vector<std::size_t> running;
        for (const std::size_t c : own) {
          if (chains_[c].next < length_) running.push_back(c);
        }
        std::vector<std::size_t> repetitions;
        for (const std::size_t c : running) repetitions.push_back(RepetitionOf(c, chains_[c].next));
        if (lanes > 1) {
          workers.Run(running.size(), [&](std::size_t at, std::size_t) {
            Workers alone(1);
            RunNext(running[at], alone, *alone_);
          });
        } else {
          for (const std::size_t c : running) RunNext(c, workers, *group);
        }
        Report(running, repetitions, group->rank() == 0);
      }
    }
  }

  /// Brings finished repetitions to rank 0, from the ranks that have them.
  void Report(const std::vector<std::size_t>& chains, const std::vector<std::size_t>& repetitions,
              bool has_them) {
    SortedJson own = SortedJson::array();
    for (std::size_t i = 0; has_them && i < chains.size(); ++i) {
      const std::size_t row = RowOf(chains[i]);
      if (ranks_.rank() == 0) {
        Keep(row, repetitions[i]);
      } else {
        own.push_back({row, repetitions[i], RepetitionText(runs_[row][repetitions[i]])});
        runs_[row][repetitions[i]] = {};
      }
    }
    for (const std::string& text : ranks_.Gather(own.dump())) {
      for (const SortedJson& one : SortedJson::parse(text)) {
        runs_[one[0]][one[1]] = ParseRepetition(one[2]).value();
        Keep(one[0], one[1]);
      }
    }
  }

  const Stream& stream_;
  const std::vector<Row>& rows_;
  const ExperimentOptions& options_;
  Progress& progress_;
  bool keeps_;  // there is a store, on rank 0
  bool keeps_predictions_;
  KeptRepetitions kept_;
  std::vector<std::unique_ptr<Algorithm>> algorithms_;  // of the rows, for their sizes
  std::unique_ptr<Communicator> alone_;
  Communicator& ranks_;
  std::unique_ptr<FleetData> data_;  // null: the CPU does it all
  WeightPlan plan_;
  std::vector<std::vector<Repetition>> runs_;  // rows x repetitions; on rank 0 in the end
  std::size_t length_;                         // of a chain
  std::vector<Chain> chains_;
  std::size_t threads_ = 1;
};

}  // namespace

void CheckExperiment(const std::vector<Row>& rows, const ExperimentOptions& options) {
  if (options.repetitions == 0)
    throw Error(OptionName("repetitions") + " is 0; it must be at least 1");
  if (!(options.participation > 0 && options.participation <= 1)) {
    std::ostringstream text;
    text << OptionName("participation") << " is " << options.participation
         << "; it must lie in (0, 1]";
    throw Error(text.str());
  }
  if (options.coverage) CheckCoverage(*options.coverage);
  for (const Row& row : rows) CheckAlgorithm(row.algorithm, row.options);
}

ClientRange RankClients(const std::vector<Row>& rows, const ExperimentOptions& options,
                        std::size_t clients, const Communicator& ranks) {
  const std::size_t chains = rows.size() * options.repetitions / ChainLength(options);
  const std::size_t together =
      ranks.size() / RankGroups(chains, clients, ranks.size(), options.rank_groups);
  return OwnClients(clients, ranks.rank() % together, together);
}

std::vector<RowResult> RunExperiment(const Stream& stream, const std::vector<Row>& rows,
                                     const ExperimentOptions& options, Progress& progress,
                                     const ExperimentHost& host) {
  CheckExperiment(rows, options);
  try {
    return Execution(stream, rows, options, progress, host).Run();
  } catch (const DeviceFailure& failure) {
    throw DeviceFailure(std::string(failure.what()) +
                        (host.data.empty()
                             ? "; nothing is kept, as there is no folder for results"
                             : "; finished repetitions are kept; start again to resume"));
  }
}

void ForgetKept(const std::vector<Row>& rows, const ExperimentOptions& options,
                const ExperimentHost& host) {
  const KeptRepetitions kept(host.store, host.data, options);
  for (const Row& row : rows) kept.Forget(row);
}

SingleRun RunAlgorithm(const Stream& stream, const Row& row, const Algorithm& algorithm,
                       const SingleRunOptions& options) {
  CheckClients(algorithm, stream.clients());
  if (options.device != nullptr) {
    options.device->Check(algorithm);
    options.device->CheckRoom(algorithm, stream.clients(), true);
  }
  const WeightPlan plan(stream);
  Clients clients(algorithm, 0, stream.clients());
  const std::size_t cohorts = CohortsOf(CpuEngine(), stream.clients());
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t wished = options.threads == 0 ? cores : options.threads;
  Workers workers(options.device != nullptr
                      ? 1
                      : std::min(wished, std::max(cohorts, algorithm.shape().blocks)));
  const Attendance attendance{options.simulation.seed, options.simulation.participation};
  std::unique_ptr<FleetData> data;
  Simulation::Options simulation_options = options.simulation;
  if (options.device != nullptr) {
    data = options.device->Load(stream, {0, stream.clients()}, attendance);
    simulation_options.device = data.get();
    simulation_options.carries_states = false;
  }
  Simulation simulation(algorithm, stream, clients, workers, simulation_options);
  std::size_t step = 0;
  Repetition run =
      simulation.Run({.weights = plan, .equal_weights = true, .passed = [&](std::size_t steps) {
                        step += steps;
                        if (options.after_step) options.after_step(step);
                      }});
  CheckBudget(row, algorithm.shape(), run.traffic.largest_up);
  SingleRun single;
  single.predictions = std::move(run.predictions);
  single.seconds = run.seconds / static_cast<double>(workers.size());
  single.result = Summarize(row, {run}, stream.clients());
  single.result.weight_plan = plan;
  const auto alone = RunAlone();
  single.result.naive = MeasureYardsticks(stream, attendance, plan, {0, stream.clients()}, workers,
                                          *alone, data.get());
  return single;
}

}  // namespace polykern
