#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "polykern/algorithms/algorithm.h"

namespace polykern {

/// What takes cohorts of clients through their steps. Whoever runs clients (the simulation, an
/// agent, Python) is given one and does not know what is behind it. An engine reads an algorithm's
/// name and definition, and needs nothing else of it. Immutable: threads may share it.
class Engine {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;

  virtual std::string_view name() const = 0;
  /// Clients that go well through a step together.
  virtual std::size_t cohort_size() const = 0;
  /// The client half of an algorithm, for one thread. The algorithm must outlive it. Throws Error
  /// for an algorithm that the engine does not have.
  virtual std::unique_ptr<CohortStep> NewStep(const Algorithm& algorithm) const = 0;
};

/// How many cohorts so many clients make.
inline std::size_t CohortsOf(const Engine& engine, std::size_t clients) {
  return (clients + engine.cohort_size() - 1) / engine.cohort_size();
}

/// The vector units of this machine's CPU, chosen at run time; has every algorithm.
const Engine& CpuEngine();

}  // namespace polykern
