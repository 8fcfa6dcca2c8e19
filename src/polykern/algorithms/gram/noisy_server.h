#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "polykern/algorithms/algorithm.h"
#include "polykern/algorithms/gram/gram_grid.h"
#include "polykern/algorithms/gram/gram_schedule.h"

namespace polykern {

/// When clients send their sums where these get noise, and when a sum is released: by the number of
/// the step alone, and by the counts of samples, which are public; never by what is in them.
/// Release follows release after a quarter of the steps so far. Clients are asked in the last
/// eighth of that time, so that those that are not always there come by, as often as the uplink's
/// budget allows; the first step, where no one knows anything yet, may be paid for later. Pure. One
/// thread.
class NoisySchedule {
 public:
  struct Rules {
    double budget = 1000;       ///< numbers that a client may send per step, on average
    double burst = 21;          ///< steps whose budgets it may save up
    std::size_t releases = 64;  ///< at most
    double least_clients = 1;   ///< in a sum, as in GramRules
  };

  NoisySchedule(std::size_t numbers, const Rules& rules)
      : numbers_(static_cast<double>(numbers)),
        rules_(rules),
        uplink_(std::max(0.0, numbers_ - rules.budget)) {}

  /// Is a step asked for sums that begins after `steps` others? To be called once for each.
  bool Asks(std::uint64_t steps);
  /// Sums came in a step: they are held.
  void Hold(const HeldSums& came);
  /// Are they released after so many steps?
  bool Releases(std::uint64_t steps) const;
  /// They are.
  void Released(std::uint64_t steps);

  static constexpr std::size_t kSavedSize = 7;
  void Save(std::span<double> saved) const;
  void Load(std::span<const double> saved);

 private:
  double numbers_;
  Rules rules_;
  double uplink_;
  std::uint64_t last_ = 0;  // steps before the last release
  std::uint64_t due_ = 1;   // steps before the next one, at least
  std::uint64_t released_ = 0;
  double held_ = 0;          // samples
  double held_clients_ = 0;  // at least so many
  double held_largest_ = 0;  // samples of one client, at most
};

/// theta of the ridge regression whose sums (gram_grid.h) are known but for noise: `estimate` of
/// them, over so many samples, of which each number is off by `deviation`. All that is public of A
/// is made true of it first: it is positive semidefinite and its trace is the number of samples, so
/// its eigenvalues become the nearest ones that are not negative and have that sum. The ridge is
/// about the spectral norm of what noise is left in A, at least `ridge`. Sines and cosines in turn.
std::vector<double> SolveNoisy(const GramGrid& grid, std::span<const double> estimate,
                               double samples, double deviation, double ridge);

/// Can this be an estimate of sums over so many samples, which came in so many messages? False
/// means that a message was wrong; noise alone never makes it so.
bool CanBeNoisy(const GramGrid& grid, std::span<const double> estimate, double samples,
                double messages, double deviation);

/// Settings of the server.
struct NoisyServerRule {
  double ridge = 1e-4;  ///< of features of length 1, > 0
  NoisySchedule::Rules schedule = {};
};

/// pof-gram's server where noise is added to every sum, by what opens its releases: it gives
/// estimates of what all of them add up to (Release::estimate), which is all that this server uses.
/// Without them it throws Error: nothing un-noised is learnt from. Estimates that no samples have,
/// whatever the noise, are discarded: a message was wrong, and all sums from there on are. Saves
/// the schedule, the turn, the samples, theta and what is held. The grid must outlive it.
std::unique_ptr<Server> NewNoisyGramServer(const GramGrid& grid, const NoisyServerRule& rule);

}  // namespace polykern
