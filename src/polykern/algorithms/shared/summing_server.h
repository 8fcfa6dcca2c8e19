#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "polykern/algorithms/algorithm.h"
#include "polykern/core/exact_sum.h"

namespace polykern {

/// What the clients of one step sent, added up.
struct StepSums {
  const ExactSum& values;  ///< blocks x width
  const ExactSum& losses;  ///< one for each of the server's weights
  double participants;     ///< K > 0: who took part, also those that did not send a given block
  std::span<const std::uint8_t>
      sent;  ///< per block: not 0 if a client sent it; else its sums are 0
};

/// What a server keeps between steps.
struct ServerState {
  std::vector<double> model;    ///< blocks x width; in double, so that small steps are not lost
  std::vector<double> losses;   ///< cumulative losses, from which its weights follow
  std::vector<double> squares;  ///< what a rule adds squares of gradients up in
};

/// (13): model -= (1/K) sum of the steps sent. Changes no block that was not sent.
void SubtractMean(const StepSums& sums, ServerState& state);

/// How a server differs from the plain one.
struct ServerRule {
  std::vector<double> start = {};  ///< the model before the first step; empty: all 0
  std::size_t weights = 0;         ///< kernels it has weights of, 0: it has none
  double weight_rate = 0;          ///< they are Hedge's, of ServerState::losses, with this rate
  std::size_t squares = 0;         ///< size of ServerState::squares, which start at 0
  /// What a step with participants changes. Pure, so that the same sums give the same bits. Unset:
  /// SubtractMean, and the step costs nothing for the blocks that no client sent.
  std::function<void(const StepSums&, ServerState&)> apply = {};
};

/// The server of every algorithm whose server needs only sums over the clients. The sums are exact,
/// so the order of arrival does not matter. Saves the model, the cumulative losses, the squares.
std::unique_ptr<Server> NewSummingServer(const ModelShape& shape, ServerRule rule = {});

}  // namespace polykern
