#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "polykern/core/error.h"
#include "polykern/core/metrics.h"
#include "polykern/io/input_position.h"
#include "polykern/net/configuration.h"

namespace polykern {

/// How an agent reaches its server.
struct LinkOptions {
  /// HOST:PORT; or several, parted by commas, where several front ends serve the federation: each
  /// agent begins with another one, and goes to the next when one is away.
  std::string server = "127.0.0.1:7433";
  std::string certificates = {};  ///< folder with ca.crt, client.crt, client.key (`pki issue`)
  bool insecure = false;          ///< no certificates; the server must be insecure, too
  std::string name = {};          ///< insecure: who this is
  /// Between attempts: from the first to the last, doubling, each time multiplied by a random
  /// number between 1/2 and 1.
  std::chrono::milliseconds first_wait{100};
  std::chrono::milliseconds longest_wait{10'000};
  /// Instead, likewise at random, after a refusal: an operator must act first.
  std::chrono::milliseconds refused_wait{60'000};
  std::chrono::milliseconds keepalive{10'000};  ///< a silent server is asked whether it is there
};

struct AgentOptions {
  LinkOptions link = {};
  std::string state = {};  ///< file for what must survive a restart; empty: nothing does
  /// Tells the server how well this agent predicts: mean squared error and regret, nothing else.
  bool report = false;
  /// Takes part only where what it sends is masked: a server that masks nothing is refused.
  bool masked = false;
  /// Gives predictions intervals within which this part of the labels is, in (0, 1).
  std::optional<double> coverage = {};
};

/// A sample that cannot be learnt from: its numbers would leave the range of the federation's.
class UnusableSample : public Error {
 public:
  using Error::Error;
};

struct AgentPrediction {
  double value = 0;        ///< of the scaled label; Loss::Predicted applied
  std::uint64_t step = 0;  ///< of the model it was made with
  /// With a coverage: where the label is likely to be, scaled; the prediction is within. None
  /// before the first label.
  std::optional<Interval> interval = {};
};

struct AgentStatus {
  bool ready = false;  ///< there is a model to predict with
  /// Above 0: there is none before ranges are learnt, and the server wants those of so many samples
  /// (Agent::TellRanges).
  std::uint64_t learn_ranges = 0;
  bool connected = false;      ///< and welcomed
  bool finished = false;       ///< the server takes no more updates
  bool superseded = false;     ///< the server has begun another federation from this one: Move
  std::uint64_t step = 0;      ///< of the newest model
  std::uint64_t client = 0;    ///< its number
  std::uint64_t learnt = 0;    ///< labels learnt since the agent began
  std::uint64_t unlearnt = 0;  ///< labels that came when their step was answered before, or for
                               ///< which not_learnt had a reason
  std::uint64_t clipped = 0;   ///< learnt labels that were outside their range
  std::uint64_t rejected = 0;  ///< updates the server did not take
  /// Why the last label was not learnt from, though it is good: the model is not, or the state
  /// cannot be kept, since its disk is full. Empty: it was.
  std::string not_learnt = {};
  ClientReport report = {};  ///< how well it predicted since it began, whether sent or not
  /// Why the last connection ended, as text for an Error, which may name options; empty while
  /// connected.
  std::string trouble = {};
  /// Why it cannot connect before an operator has acted; unset: it may.
  std::optional<Error> failure = {};
};

/// One client of a federation, beside its data: predicts at once, learns when the label comes, and
/// stays connected to the server without help, for as long as it lives.
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
/// A server may begin another federation from the one that an agent knows, with other columns or
/// ranges. The agent predicts on with the model that it has, until its owner calls Move, and from
/// then on gives samples as the new configuration wants them.
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
  /// well when the federation is finished or another one has begun from it. Throws Error if the
  /// server will not have this agent.
  bool WaitForStep(std::chrono::milliseconds time);
  /// Waits until the server is past the last step that was answered; as above.
  bool WaitUntilCounted(std::chrono::milliseconds time);

  /// Takes part in the federation that has begun from this one, if status() says so; else it does
  /// nothing. There is no model until the server is met again. What was learnt is part of what it
  /// begins with, and the state file stays as it is until the first label is learnt there.
  void Move();

  /// What the federation is. Throws Error before there is a model.
  FederationConfiguration configuration() const;

  /// What the federation is while it learns its ranges: there is no model before they are known,
  /// and the server wants those of this agent's first learn_ranges samples. Its own ranges mean
  /// nothing. None: it has them, or it is not known yet.
  std::optional<FederationConfiguration> learning_ranges() const;
  /// The least and greatest of each input, and last of the label, not scaled: the server gets them
  /// once, and again if it has lost them. A second call, or one when no ranges are learnt, does
  /// nothing.
  void TellRanges(const ClientRanges& ranges);

  /// Throws Error before there is a model, or for a wrong number of inputs.
  AgentPrediction Predict(std::span<const float> x);

  /// Learns from the label of the last prediction, which must not be learnt yet, and answers the
  /// step. If the step was answered before, pof-gram learns all the same and sends it with its next
  /// answer. False, and nothing is learnt, with any other algorithm, or if the federation is
  /// finished. `position` is kept with the state, for the caller; `clipped`: the label was outside
  /// its range, of which the server is told the number; `told`: what was predicted for this label,
  /// if it came late and the last prediction is another one: intervals go by what was told, and
  /// also by labels that are not learnt. False as well, and status() says why, if the state cannot
  /// be written, or the model is so bad that no label can be learnt from. Throws UnusableSample if
  /// the label is so far off that the server would reject the update: then nothing is sent or
  /// learnt, and Learn may be called again, or Predict for another sample.
  bool Learn(double y, const InputPosition& position = {}, bool clipped = false,
             const std::optional<AgentPrediction>& told = {});

  /// The position of the last Learn, of an earlier process as well.
  InputPosition position() const;
  AgentStatus status() const;

 private:
  class Session;
  std::unique_ptr<Session> session_;
};

}  // namespace polykern
