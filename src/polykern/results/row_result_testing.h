#pragma once

#include <cstdint>
#include <vector>

#include "polykern/core/random.h"
#include "polykern/data/source.h"
#include "polykern/data/stream.h"
#include "polykern/results/repetition.h"

namespace polykern {

// For tests only: results without a simulation.

inline Source FleetSource(SourceOptions& options, std::size_t clients, std::size_t steps) {
  options.clients = clients;
  options.steps = steps;
  return OpenSource(options);
}

/// What a repetition of pof-mkl with so many kernels might have given: any numbers, but weights
/// that add up to 1, and an error that is the mean of the steps'.
inline Repetition MadeUpRepetition(const Stream& stream, std::size_t kernels, std::uint64_t seed) {
  Random random(seed, Purpose::kTest, 0, 0);
  const auto numbers = [&](std::size_t count) {
    std::vector<double> made(count);
    for (double& number : made) number = random.Uniform();
    return made;
  };
  const auto weights = [&](std::size_t rows) {
    std::vector<double> made = numbers(rows * kernels);
    for (std::size_t row = 0; row < rows; ++row) {
      double sum = 0;
      for (std::size_t i = 0; i < kernels; ++i) sum += made[row * kernels + i];
      for (std::size_t i = 0; i < kernels; ++i) made[row * kernels + i] /= sum;
    }
    return made;
  };
  const WeightPlan plan(stream);
  Repetition run;
  run.finished = run.has_regret = true;
  run.step_mse = numbers(stream.steps());
  run.step_regret = numbers(stream.steps());
  run.regret = numbers(stream.clients());
  run.mse = SpreadOf(run.step_mse).mean;
  run.weights.trace = weights(plan.steps.size() * plan.traced.size());
  run.weights.last = weights(plan.clients.size());
  const std::uint64_t messages = stream.clients() * stream.steps();
  run.traffic = {messages, 8 * messages, 32 * messages, 16 * messages, 8};
  run.bound = 3.5;
  run.seconds = 0.25;
  run.fingerprint = seed;
  run.client_mse = numbers(plan.clients.size());
  return run;
}

/// A row of so many such repetitions.
inline RowResult MadeUpResult(const Stream& stream, const Row& row, std::size_t repetitions = 1) {
  std::vector<Repetition> runs;
  for (std::size_t r = 0; r < repetitions; ++r) {
    runs.push_back(MadeUpRepetition(stream, row.options.kernels, r + 1));
  }
  RowResult result = Summarize(row, runs, stream.clients());
  result.weight_plan = WeightPlan(stream);
  result.naive.emplace(0.75, 0.5, 0.25, std::vector<double>(result.client_mse.size(), 0.5));
  return result;
}

}  // namespace polykern
