#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "polykern/core/error.h"
#include "polykern/io/input_position.h"
#include "polykern/net/agent/agent_link.h"
#include "polykern/net/agent/agent_status.h"
#include "polykern/net/configuration.h"
#include "polykern/net/wire.h"

namespace polykern {

class AgentRounds;

struct AgentOptions {
  LinkOptions link = {};
  std::string state = {};  ///< file for what must survive a restart; empty: nothing does
  /// Tells the server how well this agent predicts: mean squared error and regret, nothing else.
  bool report = false;
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
/// A federation may learn its ranges first: then there is no model, and WaitForStep waits, until
/// enough agents have called TellRanges.
///
/// While the server is away it predicts with the newest model it has; also while the server will
/// not have it, which it asks again from time to time. A step is answered once: labels that come
/// before the next model wait for the next answer with pof-gram, and are not learnt from with other
/// algorithms; WaitForStep waits for the model.
/// Learn writes the state file before the update is sent, so a process may be killed at any moment:
/// the next one resumes from there, and sends the answer again if the server has not counted it.
///
/// Any thread may call anything, but Learn belongs to the Predict before it: one thread for both.
/// The constructor throws Error for certificates or a state file that cannot be used; what other
/// calls throw is said there. One agent per state file.
class Agent : private AgentLink::Handler {
 public:
  explicit Agent(const AgentOptions& options);
  ~Agent() override;
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  /// Waits for a model that this agent has not answered; false if there is none by then. True as
  /// well when the federation is finished. Throws Error if the server will not have this agent.
  bool WaitForStep(std::chrono::milliseconds time);
  /// Waits until the server is past the last step that was answered; as above.
  bool WaitUntilCounted(std::chrono::milliseconds time);

  /// What the federation is. Throws Error before there is a model.
  FederationConfiguration configuration() const;

  /// What the federation is while it learns its ranges: there is no model before they are known,
  /// and the server wants those of this agent's first learn_ranges samples. Its own ranges mean
  /// nothing. None: it has them, or nobody knows it yet.
  std::optional<FederationConfiguration> learning_ranges() const;
  /// The least and greatest of each input, and last of the label, not scaled: the server gets them
  /// once, and again if it has lost them. A second call, or one when no ranges are learnt, does
  /// nothing.
  void TellRanges(const ClientRanges& ranges);

  /// Throws Error before there is a model, or for a wrong number of inputs.
  AgentPrediction Predict(std::span<const float> x);

  /// Learns from the label of the last prediction, which must not be learnt yet, and answers the
  /// step. If the step is answered already, pof-gram learns all the same and sends it with its next
  /// answer. False, and nothing is learnt, with any other algorithm, or if the federation is
  /// finished. `position` is kept with the state, for the caller; `clipped`: the label was outside
  /// its range, of which the server is told the number. Throws Error if the state cannot
  /// be written, UnusableSample if the label is so far off that the server would reject the update:
  /// then nothing is sent or learnt, and Learn may be called again, or Predict for another sample.
  bool Learn(double y, const InputPosition& position = {}, bool clipped = false);

  /// The position of the last Learn, of an earlier process as well.
  InputPosition position() const;
  AgentStatus status() const;

 private:
  std::string Greet() override;
  bool Received(std::string_view bytes) override;
  AgentLink::NextAttempt Lost(const std::string& why, bool refused) override;
  void Take(const Welcome& welcome);
  void Take(const ModelChange& change);
  void Take(const Verdict& verdict);
  void Take(const Busy& busy) { busy_ = busy; }
  bool WaitFor(std::chrono::milliseconds time, const std::function<bool()>& holds);
  void RequireModel() const;

  const std::string path_;
  const bool report_;
  mutable std::mutex mutex_;  // for all that follows, but the link
  std::condition_variable changed_;
  std::unique_ptr<AgentRounds> rounds_;
  bool connected_ = false;
  std::uint32_t version_ = 0;        // of the protocol, on the connection of now
  Busy busy_;                        // the server's last word on it, if it said so
  std::string trouble_;              // AgentStatus::trouble
  std::optional<Error> failure_;     // AgentStatus::failure
  std::unique_ptr<AgentLink> link_;  // last: its threads end first
};

}  // namespace polykern
