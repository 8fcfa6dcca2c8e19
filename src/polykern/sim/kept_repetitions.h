#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "polykern/results/experiment_options.h"
#include "polykern/results/repetition.h"
#include "polykern/results/row.h"
#include "polykern/results/run_store.h"

namespace polykern {

/// The finished repetitions of an experiment in a store, found by everything that decides them.
/// Threads may share it.
class KeptRepetitions {
 public:
  /// `data` is everything that decides the samples. Without a store nothing is found or kept. All
  /// must outlive this.
  KeptRepetitions(const RunStore* store, const std::string& data, const ExperimentOptions& options)
      : store_(store), data_(data), options_(options) {}

  /// Nothing if there is none, or if it is damaged.
  std::optional<Repetition> Find(const Row& row, std::size_t repetition) const;
  /// Throws Error if it cannot be written.
  void Keep(const Row& row, std::size_t repetition, const Repetition& run) const;
  /// Removes all repetitions of a row.
  void Forget(const Row& row) const;

 private:
  std::string Settings(const Row& row, std::size_t repetition) const;

  const RunStore* store_;
  const std::string& data_;
  const ExperimentOptions& options_;
};

}  // namespace polykern
