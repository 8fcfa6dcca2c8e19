#pragma once

#include <memory>
#include <optional>
#include <span>

#include "polykern/io/input_position.h"
#include "polykern/net/agent/agent.h"
#include "polykern/net/agent/agent_state.h"
#include "polykern/net/configuration.h"
#include "polykern/net/exported_model.h"

namespace polykern {

/// Predicts with an exported model and learns nothing: with the bits of an agent that has this
/// model and these weights. Use it from one thread.
class ModelPredictor {
 public:
  /// `own`: of an agent of the same federation, whose private experts and weights take the place of
  /// the clients' mean. Throws Error if the model does not fit its own configuration, or the state
  /// belongs to another federation.
  explicit ModelPredictor(const ExportedModel& model, const std::optional<AgentState>& own = {});
  ~ModelPredictor();

  const FederationConfiguration& configuration() const;
  /// How far the agent was, whose past labels and means inputs may need; of no agent: nowhere.
  const InputPosition& position() const;

  /// x: scaled inputs. Throws Error for a wrong number of them.
  AgentPrediction Predict(std::span<const float> x);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace polykern
