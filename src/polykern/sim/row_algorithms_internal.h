#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "polykern/algorithms/algorithm.h"
#include "polykern/data/stream.h"
#include "polykern/results/row.h"

// The algorithms of an experiment's rows.

namespace polykern {

/// With the features of a repetition.
std::unique_ptr<Algorithm> MakeFor(const Row& row, const Stream& stream, std::uint64_t seed,
                                   std::size_t repetition);

/// Throws Error for more numbers of a client in a step than the row's budget.
void CheckBudget(const Row& row, const ModelShape& shape, std::uint64_t numbers);

/// One for each row, with the first features. Throws Error for what cannot run: too large a budget,
/// too many clients, too much noise.
std::vector<std::unique_ptr<Algorithm>> MakeAlgorithms(const std::vector<Row>& rows,
                                                       const Stream& stream, std::uint64_t seed);

}  // namespace polykern
