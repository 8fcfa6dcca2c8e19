#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace polykern {

/// How rows are run: the command line, TOML files and Python fill this struct.
struct ExperimentOptions {
  std::size_t repetitions = 20;  ///< feature draws
  std::uint64_t seed = 0;        ///< of feature draws, clients' draws and absences
  bool carry_weights = false;  ///< keep clients' weights through the repetitions, as the paper did
  double participation = 1;    ///< a client with a sample takes part with this probability
  /// Every prediction gets an interval, which this part of the labels is in; unset: none.
  std::optional<double> coverage = {};
  /// Groups of ranks among which repetitions are shared out; it must divide the ranks. 0: whatever
  /// is cheapest.
  std::size_t rank_groups = 0;
  std::size_t threads = 0;  ///< of a rank; 0: the machine's cores, shared out among its ranks
};

}  // namespace polykern
