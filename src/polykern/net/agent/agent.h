#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "polykern/core/error.h"
#include "polykern/net/agent/agent_link.h"
#include "polykern/net/agent/input_position.h"
#include "polykern/net/configuration.h"
#include "polykern/net/wire.h"

namespace polykern {

struct AgentOptions {
  LinkOptions link = {};
  std::string state = {};  ///< file for what must survive a restart; empty: nothing does
  /// Tells the server how well this agent predicts: mean squared error and regret, nothing else.
  bool report = false;
};

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
  bool ready = false;          ///< there is a model to predict with
  bool connected = false;      ///< and welcomed
  bool finished = false;       ///< the server takes no more updates
  std::uint64_t step = 0;      ///< of the newest model
  std::uint64_t client = 0;    ///< its number
  std::uint64_t learnt = 0;    ///< labels learnt since the agent began
  std::uint64_t unlearnt = 0;  ///< labels that came when their step was answered already
  std::uint64_t rejected = 0;  ///< updates the server did not take
  ClientReport report = {};    ///< how well it predicted since it began, whether sent or not
  std::string trouble = {};    ///< why the last connection ended; empty while connected
  /// Why it cannot connect before somebody has done something about it; unset: it may.
  std::optional<Error> failure = {};
};

/// One client of a federation, beside its data: predicts at once, learns when the label comes, and
/// keeps in touch with the server by itself, for as long as it lives.
///
///   polykern::Agent agent({.link = {.server = "host:7433", .certificates = "station-7"},
///                          .state = "station-7.state"});
///   agent.WaitForStep(std::chrono::seconds(10));
///   const auto prediction = agent.Predict(x);  // x: scaled inputs
///   agent.Learn(y);                            // y: the scaled label, when it is known
///
/// While the server is away it goes on predicting with the newest model it has; also while the
/// server will not have it, which it asks again from time to time. A step is answered once: labels
/// that come before the next model are not learnt from; WaitForStep waits for it.
/// Learn writes the state file before the update is sent, so a process may be killed at any moment:
/// it goes on where it was, and its answer is sent again if the server has not counted it.
///
/// Any thread may call anything, but Learn belongs to the Predict before it: one thread for both.
/// The constructor throws Error for certificates or a state file that cannot be used; what other
/// calls throw is said there. One agent per state file.
class Agent {
 public:
  explicit Agent(const AgentOptions& options);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  /// Waits for a model that this agent has not answered; false if there is none by then. True as
  /// well when the federation is finished. Throws Error if the server will not have this agent.
  bool WaitForStep(std::chrono::milliseconds time);
  /// Waits until the server is past the last step that was answered; as above.
  bool WaitUntilCounted(std::chrono::milliseconds time);

  /// What the federation is. Throws Error before there is a model.
  FederationConfiguration configuration() const;

  /// Throws Error before there is a model, or for a wrong number of inputs.
  AgentPrediction Predict(std::span<const float> x);

  /// Learns from the label of the last prediction, which must not be learnt yet, and answers the
  /// step. False, and nothing is learnt, if the step is answered already or the federation is
  /// finished. `position` is kept with the state, for the caller. Throws Error if the state cannot
  /// be written, UnusableSample if the label is so far off that the server would reject the update:
  /// then nothing is sent or learnt, and Learn may be called again, or Predict for another sample.
  bool Learn(double y, const InputPosition& position = {});

  /// The position of the last Learn, of an earlier process as well.
  InputPosition position() const;
  AgentStatus status() const;

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace polykern
