#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "polykern/results/client_weights.h"
#include "polykern/results/row.h"
#include "polykern/results/traffic.h"

namespace polykern {

/// What one repetition of one row gave, of all clients. A plain value.
struct Repetition {
  bool finished = false;
  bool has_regret = false;
  double mse = 0;
  std::vector<double> regret = {};  ///< per client
  std::vector<double> step_mse = {};
  std::vector<double> step_regret = {};
  ClientWeights weights = {};
  Traffic traffic = {};
  double bound = 0;
  bool unit_losses = true;
  std::size_t over_bound = 0;
  double seconds = 0;
  double rank_bytes = 0;  ///< what a rank gave to others in a step, the mean over both
  std::uint64_t fingerprint = 0;
  std::optional<Divergence> divergence = {};
  std::vector<double> state = {};        ///< of all clients at the end, if the next one needs it
  std::vector<double> predictions = {};  ///< steps x clients, if they are kept
};

/// Puts the repetitions of a row together, in their order. Of a row that diverged, the finished
/// repetitions count, or the steps of the first one if there are none.
RowResult Summarize(const Row& row, const std::vector<Repetition>& runs, std::size_t clients);

/// A repetition as JSON, every bit of it but the predictions, and back. Texts of older versions are
/// read as well; nothing comes of one that lacks what it must have.
std::string RepetitionText(const Repetition& repetition);
std::optional<Repetition> ParseRepetition(const std::string& text);

}  // namespace polykern
