#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "polykern/algorithms/options.h"
#include "polykern/core/metrics.h"

namespace polykern {

class Stream;

/// One row of a comparison: an algorithm and its settings. A plain value, as all here.
struct Row {
  std::string algorithm = "pof-mkl";
  AlgorithmOptions options;
};

/// Why a row ended early.
struct Divergence {
  std::size_t repetition = 0;
  std::size_t step = 0;
  std::string message;
};

/// What went over the links so far, over all clients and steps. A plain value.
struct Traffic {
  std::uint64_t messages = 0;    ///< client-steps
  std::uint64_t up_numbers = 0;  ///< numbers sent by clients
  std::uint64_t up_bytes = 0;    ///< numbers, losses and kernel indices, 4 bytes each
  std::uint64_t down_bytes = 0;  ///< the model and 8 bytes a weight, to all that took part
  std::uint64_t largest_up = 0;  ///< most numbers one client sent in one step

  void Add(const Traffic& other) {
    messages += other.messages;
    up_numbers += other.up_numbers;
    up_bytes += other.up_bytes;
    down_bytes += other.down_bytes;
    largest_up = std::max(largest_up, other.largest_up);
  }
};

/// Whose weights a run shows, and when: few enough of both for a file that people look at, however
/// many clients and steps there are. A plain value.
struct WeightPlan {
  static constexpr std::size_t kMostClients = 100;
  static constexpr std::size_t kMostTraced = 4;
  static constexpr std::size_t kMostSteps = 60;

  std::vector<std::size_t> clients = {};  ///< evenly from all, ordered by site
  std::vector<std::size_t> traced = {};   ///< evenly from these: shown over time
  std::vector<std::size_t> steps = {};    ///< evenly: when the traced ones are shown

  WeightPlan() = default;
  explicit WeightPlan(const Stream& stream);
};

/// The weights of a plan's clients in one run, or their mean over several.
struct ClientWeights {
  std::vector<double> trace = {};  ///< steps x traced x kernels
  std::vector<double> last = {};   ///< clients x kernels, after the last step
};

/// What needs no inputs and no learning, as a measure of what does: mean squared errors on the very
/// samples that the clients of a run were scored on. Before its first label a client says 0.5.
struct Yardsticks {
  double running_mean = 0;          ///< of predicting the mean of the client's own labels so far
  double last_label = 0;            ///< of predicting the client's own last label
  double variance = 0;              ///< of all labels
  std::vector<double> client = {};  ///< the better of both, per client of the plan; NaN: no labels

  double best() const { return std::min(running_mean, last_label); }
};

/// What one repetition of one row gave, of all clients. A plain value.
struct Repetition {
  bool finished = false;
  bool has_regret = false;
  double mse = 0;
  std::vector<double> regret = {};      ///< per client
  std::vector<double> client_mse = {};  ///< per client of the plan; NaN: it never took part
  std::vector<double> step_mse = {};
  std::vector<double> step_regret = {};
  ClientWeights weights = {};
  Traffic traffic = {};
  double bound = 0;
  bool unit_losses = true;
  std::size_t over_bound = 0;
  double seconds = 0;
  double rank_bytes = 0;     ///< what a rank gave to others in a step, the mean over both
  double epsilon_spent = 0;  ///< of the rows that are in the first noisy sum; 0: there was none
  std::uint64_t fingerprint = 0;
  std::optional<Divergence> divergence = {};
  std::vector<double> state = {};          ///< of all clients at the end, if the next one needs it
  std::vector<double> predictions = {};    ///< steps x clients, if they are kept
  std::vector<double> ends = {};           ///< low and high of their intervals, if there are some
  std::vector<double> intervals = {};      ///< none, or: how many, that covered, sum of widths
  std::vector<double> step_coverage = {};  ///< none, or per step; NaN: there was no interval
  std::vector<double> client_coverage = {};  ///< none, or per client
  std::vector<double> step_epsilon = {};     ///< none, or per step: spent so far
};

/// What a row gave. Means over clients, steps and repetitions unless said otherwise.
struct RowResult {
  Row row;
  std::size_t kernels = 0;             ///< sent per step; 0: none
  std::size_t features = 0;            ///< D; 0: the algorithm has no kernels
  std::size_t repetitions = 0;         ///< those that finished
  Spread mse;                          ///< over the repetitions
  bool has_regret = false;             ///< there are experts to measure regret against
  Spread regret;                       ///< over the clients, each the mean of its repetitions
  std::optional<double> regret_bound;  ///< Theorem 2, if it applies to the algorithm
  bool unit_losses = true;             ///< every loss lay in [0, 1]: the bound's premise
  std::size_t over_bound = 0;  ///< client runs with unit losses whose regret is above the bound
  std::uint64_t uplink_numbers = 0;   ///< most numbers any client sent in a step
  double uplink_numbers_mean = 0;     ///< numbers per client and step
  double uplink_bytes = 0;            ///< per client and step
  double downlink_bytes = 0;          ///< per client and step
  std::uint64_t samples = 0;          ///< client-steps over all repetitions
  double seconds = 0;                 ///< processor time of the repetitions, added up
  double rank_bytes = 0;              ///< what a rank gave to others, per step
  double epsilon_spent = 0;           ///< at most, in any repetition; 0: there were no noisy sums
  std::uint64_t fingerprint = 0;      ///< of every bit of every prediction and final model
  std::vector<double> step_mse;       ///< per step
  std::vector<double> step_regret;    ///< per step: cumulative regret
  std::vector<double> client_regret;  ///< per client; empty without regret or a finished repetition
  WeightPlan weight_plan;             ///< whose errors and weights are below
  std::vector<double> client_mse;     ///< empty if nothing finished, or in a run of old
  ClientWeights weights;  ///< empty if clients have none of their own, or nothing finished
  std::optional<Yardsticks> naive;
  std::optional<double> coverage;        ///< part of the labels within their interval
  std::optional<double> interval_width;  ///< of scaled labels
  std::vector<double> step_coverage;    ///< per step; NaN: no client had an interval. Empty without
  std::vector<double> client_coverage;  ///< per client
  std::vector<double> step_epsilon;     ///< per step: spent so far. Empty without noisy sums
  /// Of the first repetition, steps x clients, NaN where none was made; empty if not kept.
  std::vector<double> predictions;
  std::vector<double> ends;  ///< low and high of the interval of each; empty: there are none
  std::optional<Divergence> divergence;

  /// Part of the naive error, or of the labels' variance, that is gone; none if the row diverged,
  /// or if there was none to begin with.
  std::optional<double> skill() const;
  std::optional<double> r2() const;
  double microseconds_per_sample() const {
    return 1e6 * seconds / static_cast<double>(std::max<std::uint64_t>(samples, 1));
  }
};

}  // namespace polykern
