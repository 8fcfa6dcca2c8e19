#include "polykern/sim/experiment.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <memory>
#include <sstream>
#include <thread>

#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/core/random.h"

namespace polykern {
namespace {

/// One repetition of one row.
struct Run {
  bool finished = false;
  bool has_regret = false;
  double mse = 0;
  std::vector<double> regret;  // per client
  std::vector<double> step_mse;
  std::vector<double> step_regret;
  ClientWeights weights;
  Traffic traffic;
  double bound = 0;
  bool unit_losses = true;
  std::size_t over_bound = 0;
  double seconds = 0;
  std::uint64_t fingerprint = 0;
  std::optional<Divergence> divergence;
  std::vector<double> predictions;  // if kept
};

std::unique_ptr<Algorithm> MakeFor(const Row& row, const Stream& stream, std::uint64_t seed,
                                   std::size_t repetition) {
  // Mixed, so that neighbouring seeds and repetitions share nothing.
  const std::uint64_t own_seed = Random(seed, Purpose::kRepetition, repetition).Bits();
  return MakeAlgorithm(row.algorithm, row.options, {stream.dimension(), stream.steps(), own_seed});
}

void CheckBudget(const Row& row, std::uint64_t numbers) {
  if (numbers <= row.options.budget) return;
  throw Error("--budget is " + std::to_string(row.options.budget) + ", but a client of " +
              row.algorithm + " sends " + std::to_string(numbers) + " numbers in a step");
}

/// Steps in which nobody took part have no error.
double MeanOfNumbers(std::span<const double> values) {
  std::vector<double> numbers;
  std::ranges::copy_if(values, std::back_inserter(numbers),
                       [](double value) { return !std::isnan(value); });
  return SpreadOf(numbers).mean;
}

/// `passed` hears how many steps are over, again and again.
Run RunOnce(const Stream& stream, const Row& row, const Algorithm& algorithm,
            const ExperimentOptions& options, const Simulation::Options& simulation_options,
            std::size_t repetition, const WeightPlan& plan, Clients& clients, Workers& workers,
            const std::function<void(std::size_t)>& passed) {
  Simulation simulation(algorithm, stream, clients, workers, simulation_options);
  WeightWatch watch(algorithm, plan);
  Run run;
  const auto start = std::chrono::steady_clock::now();
  try {
    while (!simulation.done()) {
      simulation.Step();
      watch.Look(simulation.step(), clients);
      passed(1);
    }
  } catch (const Error& error) {
    run.divergence = {repetition, simulation.step(), error.what()};
    passed(stream.steps() - simulation.step());
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  run.seconds = elapsed.count() * static_cast<double>(workers.size());
  run.step_mse.assign(simulation.step_mse().begin(), simulation.step_mse().end());
  run.step_regret.assign(simulation.step_regret().begin(), simulation.step_regret().end());
  run.traffic = simulation.traffic();
  run.fingerprint = simulation.Fingerprint();
  run.predictions.assign(simulation.predictions().begin(), simulation.predictions().end());
  run.finished = !run.divergence;
  run.has_regret = algorithm.experts() > 0;
  CheckBudget(row, run.traffic.largest_up);
  if (!run.finished) {
    run.mse = MeanOfNumbers(run.step_mse);
    return run;
  }
  if (run.traffic.messages == 0) {
    throw Error("no client took part in any step; raise --participation");
  }
  run.weights = watch.weights();
  const Scoreboard& scores = simulation.scores();
  // Theorem 2 is about clients that start with equal weights.
  const double rate =
      options.carry_weights && options.repetitions > 1 ? 0 : algorithm.weight_rate();
  if (rate > 0) run.bound = RegretBound(algorithm.experts(), rate, stream.steps());
  double squared_error = 0;
  for (std::size_t k = 0; k < scores.clients(); ++k) {
    squared_error += scores.SquaredError(k);
    run.regret.push_back(run.has_regret ? scores.Regret(k) : 0);
    const bool unit = scores.LossesInUnitRange(k);
    run.unit_losses &= unit;
    if (rate > 0 && unit &&
        scores.Regret(k) > RegretBound(algorithm.experts(), rate, scores.Steps(k))) {
      ++run.over_bound;
    }
  }
  run.mse = squared_error / static_cast<double>(run.traffic.messages);
  return run;
}

void AddTo(std::vector<double>& sums, const std::vector<double>& values) {
  if (sums.empty()) sums.resize(values.size());
  for (std::size_t i = 0; i < std::min(sums.size(), values.size()); ++i) sums[i] += values[i];
}

/// Puts the repetitions of a row together, in their order. Of a row that diverged, the finished
/// repetitions count, or the steps of the first one if there are none.
RowResult Summarize(const Row& row, const std::vector<Run>& runs, std::size_t clients) {
  RowResult result;
  result.row = row;
  result.kernels = UplinkOf(row.algorithm, row.options).kernels;
  result.features = FeaturesOf(row.algorithm, row.options);
  std::vector<const Run*> counted;
  for (const Run& run : runs) {
    if (run.divergence && !result.divergence) result.divergence = run.divergence;
    if (run.finished) counted.push_back(&run);
  }
  result.repetitions = counted.size();
  if (counted.empty()) counted.push_back(&runs.front());

  std::vector<double> mse;
  std::vector<double> regret(clients);
  Traffic traffic;
  for (const Run* run : counted) {
    mse.push_back(run->mse);
    result.has_regret |= run->has_regret;
    AddTo(regret, run->regret);
    AddTo(result.step_mse, run->step_mse);
    AddTo(result.step_regret, run->step_regret);
    AddTo(result.weights.trace, run->weights.trace);
    AddTo(result.weights.last, run->weights.last);
    traffic.Add(run->traffic);
    if (run->bound > 0) result.regret_bound = run->bound;
    result.unit_losses &= run->unit_losses;
    result.over_bound += run->over_bound;
    result.seconds += run->seconds;
    result.fingerprint = result.fingerprint * 31 + run->fingerprint;
  }
  const auto count = static_cast<double>(counted.size());
  for (auto* sums : {&regret, &result.step_mse, &result.step_regret, &result.weights.trace,
                     &result.weights.last}) {
    for (double& value : *sums) value /= count;
  }
  result.mse = SpreadOf(mse);
  result.regret = SpreadOf(regret);
  if (result.has_regret && result.repetitions == 0 && !result.step_regret.empty()) {
    result.regret = {result.step_regret.back(), 0};
  }
  if (result.has_regret && result.repetitions > 0) result.client_regret = std::move(regret);
  result.samples = traffic.messages;
  result.uplink_numbers = traffic.largest_up;
  const auto messages = static_cast<double>(std::max<std::uint64_t>(traffic.messages, 1));
  result.uplink_bytes = static_cast<double>(traffic.up_bytes) / messages;
  result.downlink_bytes = static_cast<double>(traffic.down_bytes) / messages;
  return result;
}

}  // namespace

void CheckExperiment(const std::vector<Row>& rows, const ExperimentOptions& options) {
  if (options.repetitions == 0) throw Error("--repetitions is 0; it must be at least 1");
  if (!(options.participation > 0 && options.participation <= 1)) {
    std::ostringstream text;
    text << "--participation is " << options.participation << "; it must lie in (0, 1]";
    throw Error(text.str());
  }
  for (const Row& row : rows) CheckAlgorithm(row.algorithm, row.options);
}

std::vector<RowResult> RunExperiment(const Stream& stream, const std::vector<Row>& rows,
                                     const ExperimentOptions& options, Progress& progress) {
  CheckExperiment(rows, options);
  const std::size_t repetitions = options.repetitions;
  progress.steps_total = rows.size() * repetitions * stream.steps();
  const WeightPlan plan(stream);
  std::vector<std::vector<Run>> runs(rows.size(), std::vector<Run>(repetitions));
  std::vector<std::unique_ptr<Algorithm>> algorithms;  // of the rows, for their sizes
  for (const Row& row : rows) {
    algorithms.push_back(MakeFor(row, stream, options.seed, 0));
    CheckBudget(row, algorithms.back()->shape().update_size());
  }
  // A chain is what must run in order: one repetition, or all of a row if weights are carried.
  const std::size_t chain_length = options.carry_weights ? repetitions : 1;
  const std::size_t chains = rows.size() * repetitions / chain_length;
  const auto run_chain = [&](std::size_t chain, Workers& workers) {
    const std::size_t first = chain * chain_length;
    const std::size_t r = first / repetitions;
    Clients clients(*algorithms[r], 0, stream.clients());
    for (std::size_t i = first; i < first + chain_length; ++i) {
      const std::size_t repetition = i % repetitions;
      clients.ForgetFeatures();
      const auto algorithm = MakeFor(rows[r], stream, options.seed, repetition);
      Simulation::Options simulation;
      simulation.seed = options.seed;
      simulation.participation = options.participation;
      runs[r][repetition] =
          RunOnce(stream, rows[r], *algorithm, options, simulation, repetition, plan, clients,
                  workers, [&](std::size_t steps) { progress.steps_done += steps; });
      if (!runs[r][repetition].finished) {  // what follows would start from broken weights
        progress.steps_done += (first + chain_length - i - 1) * stream.steps();
        return;
      }
    }
  };
  const std::size_t blocks = (stream.clients() + Simulation::kBlock - 1) / Simulation::kBlock;
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  // No more threads than there can be work for.
  Workers workers(
      std::min(options.threads == 0 ? cores : options.threads, std::max(chains, blocks)));
  const bool chains_fill = chains % workers.size() == 0 || chains >= 8 * workers.size();
  const bool clients_fill = stream.clients() >= 2 * Simulation::kBlock * workers.size();
  if (chains_fill || !clients_fill) {
    workers.Run(chains, [&](std::size_t chain, std::size_t) {
      Workers alone(1);
      run_chain(chain, alone);
    });
  } else {
    for (std::size_t chain = 0; chain < chains; ++chain) run_chain(chain, workers);
  }
  std::vector<RowResult> results;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    results.push_back(Summarize(rows[r], runs[r], stream.clients()));
    results.back().weight_plan = plan;
  }
  return results;
}

SingleRun RunAlgorithm(const Stream& stream, const Row& row, const Algorithm& algorithm,
                       const SingleRunOptions& options) {
  const WeightPlan plan(stream);
  Clients clients(algorithm, 0, stream.clients());
  const std::size_t blocks = (stream.clients() + Simulation::kBlock - 1) / Simulation::kBlock;
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  Workers workers(std::min(options.threads == 0 ? cores : options.threads,
                           std::max(blocks, algorithm.shape().blocks)));
  ExperimentOptions once;
  once.repetitions = 1;
  std::size_t step = 0;
  Run run = RunOnce(stream, row, algorithm, once, options.simulation, 0, plan, clients, workers,
                    [&](std::size_t steps) {
                      step += steps;
                      if (options.after_step) options.after_step(step);
                    });
  SingleRun single;
  single.predictions = std::move(run.predictions);
  single.seconds = run.seconds / static_cast<double>(workers.size());
  single.result = Summarize(row, {run}, stream.clients());
  single.result.weight_plan = plan;
  return single;
}

}  // namespace polykern
