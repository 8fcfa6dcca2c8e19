// What agents make of a server's welcome: whether its federation is theirs, or one that they may
// move to.
#include <algorithm>
#include <cassert>
#include <string>
#include <vector>

#include "polykern/net/agent/agent_rounds_internal.h"
#include "polykern/net/agent/frozen_expert.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/learnt_ranges.h"

namespace polykern {
namespace {

bool IsSuccessor(const Welcome& welcome, const ConfigurationTexts& own) {
  try {
    return DescentOf(FromTexts(welcome.configuration), own) != Descent::kNone;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::string AgentRounds::Take(const Welcome& welcome) {
  if (welcome.version != kProtocolVersion) {
    throw WrongFederation("the server speaks version " + std::to_string(welcome.version) +
                          " of the protocol, this agent " + std::to_string(kProtocolVersion) +
                          "; update the older side");
  }
  Meet(welcome);
  const FederationConfiguration& what = learning_ ? *learning_ : learner_->configuration;
  if (demands_masks_ && what.options.masking == Masking::kNone) {
    throw WrongFederation(
        Error("the server does not use masks, so it would "
              "see this client's sums or samples, but " +
              OptionName("masked") + " is given: leave it out, or join a federation with masks"));
  }
  if (!learning_ && learner_->configuration.options.masking != Masking::kNone) {
    try {
      if (reports_) {
        throw Error(OptionName("report") + " tells the server what the masks hide: leave it out");
      }
      learner_->masks.Use(
          mask_identity_, welcome.helper_key, learner_->configuration,
          NoiseTermsOf(*learner_->algorithm, learner_->configuration.samples_per_row()));
    } catch (const Error& error) {
      throw WrongFederation(error);
    }
  }
  if (!learning_ && in_pairs()) CheckPairs(welcome);
  if (!learning_ && learner_->noisy) CheckNoise(welcome);
  if (learning_) {
    server_has_ranges_ = welcome.has_ranges;
    return server_has_ranges_ ? "" : ranges_;
  }
  Apply(welcome.model);
  const std::uint64_t step = model_->step;
  if (step + 1 < state_.next_step) {  // the server went back to an old copy
    state_.next_step = step;
    state_.update.clear();
  }
  uses_late_ = welcome.uses_late;
  uncounted_ = state_.update.empty() ? state_.next_step : welcome.answered;
  counted_ = welcome.answered;
  // The last update again, unless it counts already or is no longer needed.
  const bool again =
      uncounted_ < state_.next_step && !finished_ && (uses_late_ || step + 1 == state_.next_step);
  return again ? state_.update : "";
}

/// Pairwise masks have no nonce: a step that was answered is never answered with other numbers.
void AgentRounds::CheckPairs(const Welcome& welcome) const {
  if (forgets_) {
    throw WrongFederation(
        Error("this federation masks pairwise, so this client must know after a restart what it "
              "has sent: add " +
              OptionName("state", "FILE")));
  }
  const std::string epoch = "start a new epoch with `polykern store epoch`";
  const std::uint64_t begin = learner_->configuration.epoch_begin;
  if (std::max(state_.next_step, begin) < welcome.answered) {
    throw WrongFederation(
        "this client has answered step " + std::to_string(welcome.answered - 1) +
        ", but its state, which was lost or restored, has no record of it: " + epoch);
  }
  if (welcome.model.step + 1 < state_.next_step) {
    throw WrongFederation("this client has answered step " + std::to_string(state_.next_step - 1) +
                          ", and the server is at step " + std::to_string(welcome.model.step) +
                          ": its store was restored from a backup; " + epoch);
  }
}

/// With noise a sample leaves once: that is all the noise is for.
void AgentRounds::CheckNoise(const Welcome& welcome) const {
  if (reports_) {
    throw WrongFederation(
        Error(OptionName("report") + " tells the server what the noise hides: leave it out"));
  }
  if (forgets_) {
    throw WrongFederation(
        Error("this federation's noise covers samples that leave a client only once: " +
              OptionName("state", "FILE") +
              " is needed, so that it is known after a restart what has left"));
  }
  if (state_.next_step < welcome.answered) {
    throw WrongFederation("this client has answered step " + std::to_string(welcome.answered - 1) +
                          ", of which its state has no record: its samples might leave a second "
                          "time, which noise does "
                          "not cover; restore its newest state, or give it a new name");
  }
}

/// The first welcome says what the federation is; every later one must say the same, or which
/// ranges were learnt.
void AgentRounds::Meet(const Welcome& welcome) {
  if (!learner_) return MeetFirst(welcome);
  if (BeginEpoch(welcome)) return;
  std::string difference = Differences(state_.configuration, welcome.configuration);
  if (difference.empty() && state_.client != welcome.client) {
    difference =
        "client: " + std::to_string(state_.client) + " -> " + std::to_string(welcome.client);
  }
  if (difference.empty()) return;
  if (IsSuccessor(welcome, state_.configuration)) {
    throw Superseded("the server has started a new federation from the one this agent knows");
  }
  throw WrongFederation("the server's federation is not the one this agent has learnt with (" +
                        difference + "); use another state file");
}

void AgentRounds::MeetFirst(const Welcome& welcome) {
  FederationConfiguration told;
  try {
    told = FromTexts(welcome.configuration);
    if (former_ && DescentOf(told, former_->configuration) == Descent::kNone) {
      throw Error("the server's federation did not begin from the one this agent has left");
    }
    if (learning_ && !IsLearntFrom(*learning_, told)) {
      throw Error("the server now runs another federation; restart this agent");
    }
    if (told.learn_ranges > 0) {
      learning_ = told;
      return;
    }
    learner_.emplace(told, welcome.client);
  } catch (const Error& error) {
    throw WrongFederation(error);
  }
  if (coverage_) BeginInterval();
  learning_.reset();
  state_.configuration = welcome.configuration;
  state_.client = welcome.client;
  if (former_ && DescentOf(told, former_->configuration) == Descent::kWhole) {
    // Its own part of the earlier model, in place of what other clients begin with.
    const std::vector<double>& own = former_->private_state;
    std::ranges::copy(own, learner_->clients.State(0).last(own.size()).begin());
  }
  former_.reset();
}

void AgentRounds::Move() {
  assert(learner_);
  former_ = StateNow();
  state_ = {};
  // Lines that were learnt are not learnt again, and past labels are still known. Means and samples
  // that wait for labels are of other inputs.
  state_.position = former_->position;
  state_.position.means.clear();
  state_.position.ahead.clear();
  learner_.reset();
  model_.reset();
  predicted_.reset();
  interval_.reset();  // of other labels, perhaps
  uncounted_ = counted_ = 0;
  clipped_sent_ = clipped_;
  unkept_ = finished_ = false;
}

/// Of the federation that it knows, if the server says so: what was sent is not sent again, and the
/// open step may be answered once more.
bool AgentRounds::BeginEpoch(const Welcome& welcome) {
  FederationConfiguration told;
  try {
    told = FromTexts(welcome.configuration);
  } catch (const Error&) {
    return false;
  }
  FederationConfiguration& known = learner_->configuration;
  if (told.epoch <= known.epoch || state_.client != welcome.client) return false;
  FederationConfiguration same = told;
  same.epoch = known.epoch;
  same.epoch_begin = known.epoch_begin;
  if (!Differences(state_.configuration, ToTexts(same)).empty()) return false;
  std::vector<double> own = learner_->clients.Save();
  learner_->algorithm->BeginEpoch(own);
  learner_->clients.Load(own);
  known = told;
  if (model_ != nullptr) {
    auto next = std::make_shared<Broadcast>(*model_);
    next->releases = 0;  // they are counted from 0 again
    model_ = std::move(next);
  }
  state_.configuration = welcome.configuration;
  state_.update.clear();
  state_.next_step = std::max(welcome.answered, std::min(state_.next_step, welcome.model.step));
  return true;
}

}  // namespace polykern
