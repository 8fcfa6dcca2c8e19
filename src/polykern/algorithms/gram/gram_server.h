#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "polykern/algorithms/algorithm.h"
#include "polykern/algorithms/gram/gram_grid.h"
#include "polykern/algorithms/gram/gram_schedule.h"

namespace polykern {

/// Settings of the server.
struct GramServerRule {
  double ridge = 1e-4;    ///< of features of length 1, > 0
  double forgetting = 1;  ///< what each step leaves of the samples before it, in (0, 1]
  GramRules schedule = {};
  SampleCount expected = {};  ///< in the first step
  /// Masks come off sums of some clients: after a bad one the next are in two groups
  /// (gram_division.h).
  bool divides = false;
};

/// Throws BrokenRule unless the sums of each update can be those of as many samples as it says,
/// at most `most_samples`: no negative square, pairs of sine and cosine that add up to their
/// length, labels within their range, weights that sum to 1. The updates must have passed
/// CheckUpdates.
void CheckGramSums(const GramGrid& grid, std::uint64_t most_samples, const Updates& updates);

/// What is wrong with a sum over clients, by the same rules, which hold for it as well, for when
/// its messages could not be checked one by one; null: nothing. CanBeProducts tells whether its
/// matrix can be.
const char* FaultOfSum(const GramGrid& grid, const Release& release);

/// Can some samples have these A and b (gram_grid.h), and this sum of y^2? Then [A b; b' sum y^2]
/// is positive semidefinite; no eigenvalue may be below `-tolerance`, which is above 0.
bool CanBeProducts(std::size_t width, std::span<const double> equations, double squares,
                   double tolerance);

/// pof-gram's server: adds up the sums that the clients send, holds them until the schedule lets
/// them go, and then solves the ridge regressions of their experts, whatever the number of clients.
/// The broadcast says whose turn is next. Sums that cannot be those of any samples are discarded as
/// a whole, and the model stays as it is; of masked sums the next ones are then divided, so that it
/// becomes known who spoils them. Saves the schedule, the turn, expert by expert the
/// equations, theta and the last step with samples, and the sums that it holds, if any. The grid
/// must outlive it.
std::unique_ptr<Server> NewGramServer(const GramGrid& grid, const GramServerRule& rule);

}  // namespace polykern
