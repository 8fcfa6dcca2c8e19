#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "polykern/algorithms/engine.h"
#include "polykern/io/input_position.h"
#include "polykern/net/configuration.h"

namespace polykern {

/// What an agent must not lose: its private state, and the update that may not have arrived.
struct AgentState {
  ConfigurationTexts configuration = {};   ///< of the federation it belongs to
  std::uint64_t client = 0;                ///< its number there
  std::uint64_t next_step = 0;             ///< the first step that it has not answered
  InputPosition position = {};             ///< how far its input was learnt
  std::vector<double> private_state = {};  ///< Clients::Save
  std::string update = {};                 ///< the answer to the step before, encoded
  std::string model = {};                  ///< the model it learnt with, encoded: every block
  std::uint64_t first_sample = 0;          ///< SampleBuffer::first, and Save
  LearntSamples samples = {};
  std::vector<double> interval = {};  ///< IntervalTracker::Save; empty: there is none
};

/// Replaces the file as a whole (ReplaceFile), readable by its owner alone. Throws Error.
void WriteAgentState(const std::string& path, const AgentState& state);

/// Nothing if there is no such file. One of an older version knows of its position the line alone.
/// Throws Error if it is damaged, or of a newer version.
std::optional<AgentState> ReadAgentState(const std::string& path);

}  // namespace polykern
