#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "polykern/net/store/store.h"

namespace polykern {

// For the tests of stores: what a server would write.

inline const StoreConfiguration kTestConfiguration{
    {"algorithm", "pof-mkl"}, {"features", "20"}, {"seed", "7"}};

/// A state that says which step it is of, in every number.
inline std::vector<double> StateOf(std::uint64_t steps, std::size_t size = 100) {
  std::vector<double> state(size);
  std::iota(state.begin(), state.end(), static_cast<double>(steps) * 1e6);
  return state;
}

inline void EnrolIn(Store& store, const std::vector<std::string>& names) {
  store.Write({.clients = names});
}

/// The step is answered by these clients.
inline void CommitTo(Store& store, std::uint64_t steps,
                     const std::vector<std::uint64_t>& answered = {}, std::size_t size = 100) {
  std::vector<CountedUpdate> counted;
  for (const std::uint64_t client : answered) counted.push_back({client, steps - 1});
  const std::vector<double> state = StateOf(steps, size);
  store.Write({.step = StepCommit{.steps = steps, .state = state, .counted = counted}});
}

}  // namespace polykern
