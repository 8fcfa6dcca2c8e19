#pragma once

#include <cstdint>
#include <vector>

namespace polykern {

/// How far an input was read, and what it was: a file begins so, unless it is another one.
struct InputPosition {
  std::uint64_t line = 0;           ///< from 1; 0: nothing was read
  std::uint64_t bytes = 0;          ///< up to the line's end; 0: unknown what they were
  std::uint64_t sum = 0;            ///< of these bytes: equal ones have equal sums
  std::vector<double> labels = {};  ///< the last ones that were known by then, if lags need them
  std::vector<double> means = {};   ///< of the inputs by then, if missing ones are imputed
  std::vector<double> ahead = {};   ///< predictions whose labels were to come, several steps ahead
  /// Of a broker, which may send what was read again: the last messages, by their sums.
  std::vector<std::uint64_t> messages = {};
};

}  // namespace polykern
