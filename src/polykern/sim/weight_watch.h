#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "polykern/algorithms/algorithm.h"
#include "polykern/federation/client.h"
#include "polykern/results/row.h"

namespace polykern {

/// Looks at the clients of one run after each of its steps. Both stay empty for an algorithm whose
/// clients have no weights of their own; those of clients that are not here are 0.
class WeightWatch {
 public:
  /// Both must outlive this.
  WeightWatch(const Algorithm& algorithm, const WeightPlan& plan);

  /// The clients whose states Look reads after step `step`; the next one to come.
  std::span<const std::size_t> Seen(std::size_t step) const;
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
