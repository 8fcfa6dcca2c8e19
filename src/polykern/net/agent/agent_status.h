#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "polykern/core/error.h"
#include "polykern/net/wire.h"

namespace polykern {

/// A sample that cannot be learnt from: its numbers would leave the range of the federation's.
class UnusableSample : public Error {
 public:
  using Error::Error;
};

struct AgentPrediction {
  double value = 0;        ///< of the scaled label; Loss::Predicted applied
  std::uint64_t step = 0;  ///< of the model it was made with
};

struct AgentStatus {
  bool ready = false;  ///< there is a model to predict with
  /// Above 0: there is none before ranges are learnt, and the server wants those of so many samples
  /// (Agent::TellRanges).
  std::uint64_t learn_ranges = 0;
  bool connected = false;      ///< and welcomed
  bool finished = false;       ///< the server takes no more updates
  std::uint64_t step = 0;      ///< of the newest model
  std::uint64_t client = 0;    ///< its number
  std::uint64_t learnt = 0;    ///< labels learnt since the agent began
  std::uint64_t unlearnt = 0;  ///< labels that came when their step was answered already
  std::uint64_t clipped = 0;   ///< learnt labels that were outside their range
  std::uint64_t rejected = 0;  ///< updates the server did not take
  ClientReport report = {};    ///< how well it predicted since it began, whether sent or not
  std::string trouble = {};    ///< why the last connection ended; empty while connected
  /// Why it cannot connect before somebody has done something about it; unset: it may.
  std::optional<Error> failure = {};
};

}  // namespace polykern
