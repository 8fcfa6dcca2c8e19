#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "polykern/algorithms/engine.h"
#include "polykern/core/error.h"
#include "polykern/core/interval.h"
#include "polykern/core/metrics.h"
#include "polykern/core/naive_score.h"
#include "polykern/core/version.h"
#include "polykern/federation/client.h"
#include "polykern/federation/sample_buffer.h"
#include "polykern/io/input_position.h"
#include "polykern/net/agent/agent.h"
#include "polykern/net/agent/agent_masks.h"
#include "polykern/net/agent/agent_state.h"
#include "polykern/net/configuration.h"
#include "polykern/net/wire.h"

namespace polykern {

/// The server's federation is not one that this agent can take part in, until an operator does
/// something about it.
class WrongFederation : public Error {
 public:
  using Error::Error;
  explicit WrongFederation(const Error& why) : Error(why) {}
};

/// The server has begun another federation from the one that this agent knows.
class Superseded : public Error {
 public:
  using Error::Error;
};

/// A federation's rounds as an agent sees them: what it has learnt, the newest model, and which
/// steps it has answered. Knows no connection, no file and no clock: it is told what the server
/// says, and gives what is to be sent and kept. Use it from one thread at a time.
class AgentRounds {
 public:
  /// Takes a state to be kept; if it throws, nothing is learnt.
  using Keep = std::function<void(const AgentState&)>;

  /// An agent that has learnt nothing yet.
  AgentRounds() = default;
  /// Resumes from what an earlier process kept; `what` names it in messages. Throws Error.
  AgentRounds(AgentState saved, const std::string& what);

  /// Predictions have intervals from now on; they continue what an earlier process kept of the
  /// same coverage. Throws Error unless 0 < coverage < 1.
  void Cover(double coverage);

  /// What it masks its messages with, in federations that want that; else it cannot take part in
  /// them.
  void Mask(MaskIdentity own) { mask_identity_ = std::move(own); }
  /// It tells the server things that masks and noise are there to hide.
  void RefusePrivacy() { reports_ = true; }
  /// Nothing of it survives a restart.
  void Forget() { forgets_ = true; }
  /// It takes part nowhere else.
  void DemandMasks() { demands_masks_ = true; }

  // What the server says. All throw Error for what does not fit; the model stays what it was then.

  /// Returns the update that has to be sent again, or the ranges; empty: none. There is no model
  /// while ranges are learnt: another welcome comes when they are known. Throws WrongFederation, or
  /// Superseded, after which Move lets the same welcome be taken.
  std::string Take(const Welcome& welcome);
  /// Needs a welcome before it.
  void Take(const ModelChange& change);
  /// Returns what is wrong; empty: nothing.
  std::string Take(const Verdict& verdict);

  // What the agent does.

  /// Leaves its federation for one that begins from it; there is no model until its welcome.
  void Move();

  /// What it tells the server first.
  Hello hello() const {
    return {kProtocolVersion, state_.next_step, mask_identity_ ? mask_identity_->signed_key : "",
            Version()};
  }

  /// The federation while its ranges are learnt; null: it has them, or it is not known yet.
  const FederationConfiguration* learning_ranges() const {
    return learning_ ? &*learning_ : nullptr;
  }
  /// Tells the ranges of this client's samples, once; no later ones count. Returns what is to be
  /// sent; empty: nothing, since the server has them or needs none.
  std::string Tell(const ClientRanges& ranges);

  bool has_model() const { return model_ != nullptr; }
  /// Is there a model that is not answered? Also true at the federation's end.
  bool HasStep() const { return has_model() && (finished_ || MayAnswer(*model_)); }
  /// Is the server past the last step that was answered? Also true at the federation's end.
  bool IsCounted() const { return state_.next_step == 0 || HasStep(); }

  /// Needs a model. Throws Error for a wrong number of inputs.
  AgentPrediction Predict(std::span<const float> x);

  /// What became of a label.
  struct Learnt {
    bool learnt = false;
    std::string update = {};  ///< to be sent, encoded; empty: the step is answered
  };
  /// Learns from the label of the last prediction, which must not be learnt yet, and answers its
  /// step. If that is answered, algorithms that keep samples learn all the same, for the next
  /// answer; others do not, and none does at the federation's end. `keep`, unless empty, gets the
  /// new state with every answer, before anything else sees it. `clipped`: the label was outside
  /// its range; the next answer has their number. `told`: see Agent::Learn. Throws UnusableSample:
  /// then Learn may be called again. Learns nothing, and status() says why, if `keep` throws Error,
  /// or if the model is so bad that no label can be learnt from.
  Learnt Learn(double y, const InputPosition& position, const Keep& keep, bool clipped = false,
               const std::optional<AgentPrediction>& told = {});
  /// The state of now, if something was learnt since the last answer; else none.
  std::optional<AgentState> Unkept() const;

  /// Needs a model.
  const FederationConfiguration& configuration() const { return learner_->configuration; }
  const InputPosition& position() const { return state_.position; }
  /// All but the connection's part of it.
  AgentStatus status() const;

 private:
  /// What learning needs; made when the federation is known.
  struct Learner {
    Learner(const FederationConfiguration& what, std::uint64_t client);
    Learner(const Learner&) = delete;
    Learner& operator=(const Learner&) = delete;

    FederationConfiguration configuration;
    std::unique_ptr<Algorithm> algorithm;
    Clients clients;
    SampleBuffer buffer;
    AgentMasks masks;
    ClientRound round;
    Scoreboard score;
    NaiveScore naive;
    bool keeps_samples;
    bool noisy;
  };

  bool MayAnswer(const Broadcast& model) const;
  void Meet(const Welcome& welcome);
  void MeetFirst(const Welcome& welcome);
  void BeginInterval();
  bool in_pairs() const { return learner_->configuration.options.masking == Masking::kPairwise; }
  void CheckPairs(const Welcome& welcome) const;
  bool BeginEpoch(const Welcome& welcome);
  const Updates& LearnNow(double y, bool& answers, std::span<const double> before);
  void CheckNoise(const Welcome& welcome) const;
  void Apply(const ModelChange& change);
  void PredictAgain();
  Answering AnsweringNow(bool answers) const;
  void CheckLearnt(const Updates& updates, bool answers, double y) const;
  AgentState StateNow() const;
  AgentPrediction PredictionNow() const;
  std::optional<IntervalTracker> IntervalAfter(double y,
                                               const std::optional<AgentPrediction>& told) const;
  std::string EncodeModel(const Broadcast& model) const;
  void Score(double f, double y);

  AgentState state_;
  std::optional<MaskIdentity> mask_identity_;
  bool reports_ = false;
  bool demands_masks_ = false;
  bool forgets_ = false;
  std::optional<AgentState> former_;  // of the federation that it has left, until it meets the next
  std::optional<Learner> learner_;
  std::optional<FederationConfiguration> learning_;  // while ranges are
  std::string ranges_;                               // of this client, encoded; empty: not told yet
  bool server_has_ranges_ = false;                   // those of this client
  std::shared_ptr<const Broadcast> model_;      // the newest; a prediction may hold the one before
  std::shared_ptr<const Broadcast> predicted_;  // that of the last prediction, until its label came
  std::vector<float> x_;                        // of the last prediction
  std::optional<double> coverage_;              // that is wished
  std::optional<IntervalTracker> interval_;     // if so, once the federation is known
  bool uses_late_ = false;       // the server counts late updates, and says which are on its disk
  std::uint64_t uncounted_ = 0;  // the first step whose update is not known to be there
  std::uint64_t counted_ = 0;    // 1 + the last step whose update is known to count; 0: none
  bool unkept_ = false;          // something was learnt since the last answer
  bool finished_ = false;
  std::uint64_t learnt_ = 0;
  std::uint64_t unlearnt_ = 0;
  std::uint64_t clipped_ = 0;
  std::string not_learnt_;          // AgentStatus::not_learnt
  std::uint64_t clipped_sent_ = 0;  // of these, those that an update tells of
  std::uint64_t rejected_ = 0;
  ClientReport report_;
};

}  // namespace polykern
