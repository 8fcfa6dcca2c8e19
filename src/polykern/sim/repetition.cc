#include "polykern/sim/repetition.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <iterator>

#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/core/random.h"

namespace polykern {
namespace {

/// Steps in which nobody took part have no error.
double MeanOfNumbers(std::span<const double> values) {
  std::vector<double> numbers;
  std::ranges::copy_if(values, std::back_inserter(numbers),
                       [](double value) { return !std::isnan(value); });
  return SpreadOf(numbers).mean;
}

Traffic SumOver(Communicator& ranks, const Traffic& own) {
  const auto words = std::bit_cast<std::array<std::uint32_t, sizeof(Traffic) / 4>>(own);
  std::vector<Words> all;
  ranks.AllGather({words.begin(), words.end()}, all);
  Traffic sum;
  for (const Words& one : all) {
    auto bits = words;
    std::ranges::copy(one, bits.begin());
    sum.Add(std::bit_cast<Traffic>(bits));
  }
  return sum;
}

/// Of numbers that are 0 but on one rank, that one's.
void TakeFromWhoHasIt(Communicator& ranks, std::vector<double>& numbers) {
  std::vector<std::int64_t> bits;
  for (const double number : numbers) bits.push_back(std::bit_cast<std::int64_t>(number));
  ranks.Sum(bits);
  std::ranges::transform(bits, numbers.begin(),
                         [](std::int64_t all) { return std::bit_cast<double>(all); });
}

}  // namespace

std::unique_ptr<Algorithm> MakeFor(const Row& row, const Stream& stream, std::uint64_t seed,
                                   std::size_t repetition) {
  return MakeAlgorithm(row.algorithm, row.options,
                       {stream.dimension(), stream.steps(), RepetitionSeed(seed, repetition)});
}

void CheckBudget(const Row& row, std::uint64_t numbers) {
  if (numbers <= row.options.budget) return;
  throw Error(OptionName("budget") + " is " + std::to_string(row.options.budget) +
              ", but a client of " + row.algorithm + " sends " + std::to_string(numbers) +
              " numbers in a step");
}

Repetition RunRepetition(const Stream& stream, const Row& row, const Algorithm& algorithm,
                         const ExperimentOptions& options, Simulation::Options simulation_options,
                         std::size_t repetition, const WeightPlan& plan, Clients& clients,
                         Workers& workers, Communicator& ranks,
                         const std::function<void(std::size_t)>& passed) {
  simulation_options.ranks = &ranks;
  Simulation simulation(algorithm, stream, clients, workers, simulation_options);
  WeightWatch watch(algorithm, plan);
  Repetition run;
  const auto start = std::chrono::steady_clock::now();
  const std::uint64_t bytes_before = ranks.bytes();
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
  run.seconds = elapsed.count() * static_cast<double>(workers.size() * ranks.size());
  run.step_mse.assign(simulation.step_mse().begin(), simulation.step_mse().end());
  run.step_regret.assign(simulation.step_regret().begin(), simulation.step_regret().end());
  run.predictions.assign(simulation.predictions().begin(), simulation.predictions().end());
  run.finished = !run.divergence;
  run.has_regret = algorithm.experts() > 0;
  run.traffic = SumOver(ranks, simulation.traffic());

  // Theorem 2 is about clients that start with equal weights.
  const double rate =
      options.carry_weights && options.repetitions > 1 ? 0 : algorithm.weight_rate();
  if (run.finished && rate > 0) {
    run.bound = RegretBound(algorithm.experts(), rate, stream.steps());
  }
  const Scoreboard& scores = simulation.scores();
  DoubleSum squared_error;
  std::size_t over_bound = 0;
  bool unit_losses = true;
  for (std::size_t k = 0; k < scores.clients(); ++k) {
    squared_error.Add(scores.SquaredError(k));
    run.regret.push_back(run.has_regret ? scores.Regret(k) : 0);
    const bool unit = scores.LossesInUnitRange(k);
    unit_losses &= unit;
    if (rate > 0 && unit &&
        scores.Regret(k) > RegretBound(algorithm.experts(), rate, scores.Steps(k))) {
      ++over_bound;
    }
  }
  std::vector<std::int64_t> sums = {
      static_cast<std::int64_t>(simulation.Fingerprint(ranks.rank() == 0)),
      static_cast<std::int64_t>(over_bound), unit_losses ? 0 : 1,
      static_cast<std::int64_t>(ranks.bytes() - bytes_before)};
  sums.insert(sums.end(), squared_error.words().begin(), squared_error.words().end());
  ranks.Sum(sums);
  run.fingerprint = static_cast<std::uint64_t>(sums[0]);
  run.rank_bytes = static_cast<double>(sums[3]) /
                   static_cast<double>(ranks.size() * std::max<std::size_t>(1, simulation.step()));
  CheckBudget(row, run.traffic.largest_up);
  if (!run.finished) {
    run.mse = MeanOfNumbers(run.step_mse);
    run.regret.clear();
    return run;
  }
  if (run.traffic.messages == 0) {
    throw Error("no client took part in any step; raise " + OptionName("participation"));
  }
  run.over_bound = static_cast<std::size_t>(sums[1]);
  run.unit_losses = sums[2] == 0;
  run.mse = DoubleSum::Value(std::span(sums).last<DoubleSum::kWords>()) /
            static_cast<double>(run.traffic.messages);
  run.regret = ranks.Gather(run.regret);
  run.weights = watch.weights();
  TakeFromWhoHasIt(ranks, run.weights.trace);
  TakeFromWhoHasIt(ranks, run.weights.last);
  return run;
}

}  // namespace polykern
