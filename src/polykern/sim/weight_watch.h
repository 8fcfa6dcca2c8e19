#pragma once

#include <cstddef>
#include <vector>

#include "polykern/algorithms/algorithm.h"
#include "polykern/data/stream.h"
#include "polykern/federation/client.h"

namespace polykern {

/// Whose weights a run shows, and when: few enough of both for a file that people look at, however
/// many clients and steps there are.
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

/// Looks at the clients of one run after each of its steps. Both stay empty for an algorithm whose
/// clients have no weights of their own; those of clients that are not here are 0.
class WeightWatch {
 public:
  /// Both must outlive this.
  WeightWatch(const Algorithm& algorithm, const WeightPlan& plan);

  /// After step `step`, counted from 1; steps in order.
  void Look(std::size_t step, Clients& clients);

  const ClientWeights& weights() const { return weights_; }

 private:
  void Append(std::size_t client, std::size_t step, Clients& clients, std::vector<double>& to);

  const Algorithm& algorithm_;
  const WeightPlan& plan_;
  std::size_t next_ = 0;  // of plan_.steps
  bool has_weights_ = false;
  std::vector<double> one_;
  ClientWeights weights_;
};

}  // namespace polykern
