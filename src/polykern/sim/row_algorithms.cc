#include <string>

#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/core/random.h"
#include "polykern/privacy/noise_opener.h"
#include "polykern/sim/row_algorithms_internal.h"
#include "polykern/sim/simulation.h"

namespace polykern {

std::unique_ptr<Algorithm> MakeFor(const Row& row, const Stream& stream, std::uint64_t seed,
                                   std::size_t repetition) {
  return MakeAlgorithm(row.algorithm, row.options,
                       {stream.dimension(), stream.steps(), RepetitionSeed(seed, repetition),
                        stream.clients(), stream.ahead()});
}

void CheckBudget(const Row& row, const ModelShape& shape, std::uint64_t numbers) {
  // Sums that a step asks for are within it on average; the server sees to that.
  if (!shape.sums.empty() || numbers <= row.options.budget) return;
  throw Error(OptionName("budget") + " is " + std::to_string(row.options.budget) +
              ", but a client of " + row.algorithm + " sends " + std::to_string(numbers) +
              " numbers in a step");
}

std::vector<std::unique_ptr<Algorithm>> MakeAlgorithms(const std::vector<Row>& rows,
                                                       const Stream& stream, std::uint64_t seed) {
  std::vector<std::unique_ptr<Algorithm>> algorithms;
  for (const Row& row : rows) {
    const Algorithm& made = *algorithms.emplace_back(MakeFor(row, stream, seed, 0));
    CheckClients(made, stream.clients());
    CheckBudget(row, made.shape(), made.shape().update_size());
    MakeNoiseOpener(made, stream.samples_per_row());
  }
  return algorithms;
}

}  // namespace polykern
