#include "polykern/net/agent/agent.h"

#include <utility>
#include <variant>

#include "polykern/net/agent/agent_rounds_internal.h"
#include "polykern/net/agent/agent_state.h"

namespace polykern {
namespace {

constexpr std::uint32_t kFirstVersionWithReports = 2;

std::unique_ptr<AgentRounds> BeginOrResume(const std::string& path) {
  if (!path.empty()) {
    if (auto saved = ReadAgentState(path)) {
      return std::make_unique<AgentRounds>(std::move(*saved), path);
    }
  }
  return std::make_unique<AgentRounds>();
}

}  // namespace

Agent::Agent(const AgentOptions& options)
    : path_(options.state), report_(options.report), rounds_(BeginOrResume(options.state)) {
  const std::lock_guard lock(mutex_);  // its threads may need link_ at once
  link_ = OpenAgentLink(options.link, *this);
}

/// What was learnt since the last answer waits for the next one, in the next process as well.
Agent::~Agent() {
  link_.reset();
  if (path_.empty()) return;
  try {
    if (const auto state = rounds_->Unkept()) WriteAgentState(path_, *state);
  } catch (const Error&) {  // as if the process had been killed
  }
}

// The link's side.

std::string Agent::Greet() {
  const std::lock_guard lock(mutex_);
  return Encode(rounds_->hello());
}

bool Agent::Received(std::string_view bytes) {
  try {
    const ServerMessage message = DecodeServerMessage(bytes);
    const std::lock_guard lock(mutex_);
    failure_.reset();  // if it still holds, that is found out again
    try {
      std::visit([this](const auto& m) { Take(m); }, message);
    } catch (const WrongFederation& error) {
      failure_ = error;
    }
    changed_.notify_all();
    return !failure_;
  } catch (const Error& error) {  // of no use; the next connection may be better
    const std::lock_guard lock(mutex_);
    trouble_ = error.what();
    return false;
  }
}

void Agent::Take(const Welcome& welcome) {
  std::string again = rounds_->Take(welcome);
  version_ = welcome.version;
  connected_ = true;
  trouble_.clear();
  if (!again.empty()) link_->Send(std::move(again));
}

void Agent::Take(const ModelChange& change) {
  if (!connected_) throw Error("a model came before the welcome");
  rounds_->Take(change);
}

void Agent::Take(const Verdict& verdict) {
  std::string wrong = rounds_->Take(verdict);
  if (!wrong.empty()) trouble_ = std::move(wrong);
}

AgentLink::NextAttempt Agent::Lost(const std::string& why, bool refused) {
  const std::lock_guard lock(mutex_);
  const Busy busy = std::exchange(busy_, {});
  connected_ = false;
  trouble_ = busy.reason.empty() ? why : busy.reason;
  if (refused) failure_ = Error(why);
  changed_.notify_all();
  return {.refused = failure_.has_value(),
          .earliest = std::chrono::milliseconds(busy.earliest_milliseconds),
          .latest = std::chrono::milliseconds(busy.latest_milliseconds)};
}

// The user's side.

bool Agent::WaitFor(std::chrono::milliseconds time, const std::function<bool()>& holds) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, time, [&] { return failure_ || holds(); });
  if (failure_) throw *failure_;
  return holds();
}

bool Agent::WaitForStep(std::chrono::milliseconds time) {
  return WaitFor(time, [this] { return rounds_->HasStep(); });
}

bool Agent::WaitUntilCounted(std::chrono::milliseconds time) {
  return WaitFor(time, [this] { return rounds_->IsCounted(); });
}

void Agent::RequireModel() const {
  if (rounds_->has_model()) return;
  throw failure_.value_or(Error(rounds_->learning_ranges() == nullptr
                                    ? "no model has come from the server yet"
                                    : "the federation learns its ranges; there is no model yet"));
}

FederationConfiguration Agent::configuration() const {
  const std::lock_guard lock(mutex_);
  RequireModel();
  return rounds_->configuration();
}

std::optional<FederationConfiguration> Agent::learning_ranges() const {
  const std::lock_guard lock(mutex_);
  const FederationConfiguration* learning = rounds_->learning_ranges();
  return learning != nullptr ? std::optional(*learning) : std::nullopt;
}

void Agent::TellRanges(const ClientRanges& ranges) {
  const std::lock_guard lock(mutex_);
  std::string message = rounds_->Tell(ranges);
  if (connected_ && !message.empty()) link_->Send(std::move(message));
}

AgentPrediction Agent::Predict(std::span<const float> x) {
  const std::lock_guard lock(mutex_);
  RequireModel();
  return rounds_->Predict(x);
}

bool Agent::Learn(double y, const InputPosition& position, bool clipped) {
  const std::lock_guard lock(mutex_);
  AgentRounds::Keep keep;
  if (!path_.empty()) keep = [this](const AgentState& state) { WriteAgentState(path_, state); };
  AgentRounds::Learnt learnt = rounds_->Learn(y, position, keep, clipped);
  if (connected_ && !learnt.update.empty()) {
    link_->Send(std::move(learnt.update));
    if (report_ && version_ >= kFirstVersionWithReports) {
      link_->SendLowPriority(Encode(rounds_->status().report));
    }
  }
  return learnt.learnt;
}

InputPosition Agent::position() const {
  const std::lock_guard lock(mutex_);
  return rounds_->position();
}

AgentStatus Agent::status() const {
  const std::lock_guard lock(mutex_);
  AgentStatus status = rounds_->status();
  status.connected = connected_;
  status.trouble = trouble_;
  status.failure = failure_;
  return status;
}

}  // namespace polykern
