#include <condition_variable>
#include <ctime>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string_view>
#include <utility>
#include <variant>

#include "polykern/core/error.h"
#include "polykern/io/file_lock.h"
#include "polykern/net/agent/agent.h"
#include "polykern/net/agent/agent_link.h"
#include "polykern/net/agent/agent_rounds_internal.h"
#include "polykern/net/agent/agent_state.h"
#include "polykern/net/pki/client_identity.h"
#include "polykern/net/wire.h"

// What is behind an Agent. A file of its own, since what it is made of needs agent.h.

namespace polykern {
namespace {

/// Beside the state, which is replaced as a whole. None: no such file can be made, nor can the
/// state be written.
std::optional<FileLock> HoldState(const std::string& path) {
  if (path.empty()) return {};
  std::error_code error;
  const auto real = std::filesystem::weakly_canonical(path, error);
  std::optional<FileLock> lock;
  try {
    lock.emplace((error ? path : real.string()) + "-lock");
  } catch (const Error&) {
    return {};
  }
  if (lock->state() == FileLock::State::kBusy) {
    throw Error(path + ": another agent uses this state; stop it, or give each its own " +
                OptionName("state"));
  }
  return lock;
}

std::unique_ptr<AgentRounds> BeginOrResume(const std::string& path) {
  if (!path.empty()) {
    if (auto saved = ReadAgentState(path)) {
      return std::make_unique<AgentRounds>(std::move(*saved), path);
    }
  }
  return std::make_unique<AgentRounds>();
}

/// None: it has no certificates, or they are from before there were masks.
std::optional<MaskIdentity> ReadMaskIdentity(const LinkOptions& options) {
  if (options.insecure) return {};
  return MaskIdentityOf(ReadClientIdentity(options.certificates, std::time(nullptr)),
                        options.certificates);
}

}  // namespace

/// An agent's rounds, and its link to the server; any thread may call anything.
class Agent::Session final : private AgentLink::Handler {
 public:
  explicit Session(const AgentOptions& options);
  ~Session() override;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  bool WaitFor(std::chrono::milliseconds time, bool (AgentRounds::*holds)() const);
  void Move();
  FederationConfiguration configuration() const;
  std::optional<FederationConfiguration> learning_ranges() const;
  void TellRanges(const ClientRanges& ranges);
  AgentPrediction Predict(std::span<const float> x);
  bool Learn(double y, const InputPosition& position, bool clipped,
             const std::optional<AgentPrediction>& told);
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
  void RequireModel() const;

  const std::string path_;
  const std::optional<FileLock> lock_;  // of the state: one agent each
  const bool report_;
  mutable std::mutex mutex_;  // for all that follows, but the link
  std::condition_variable changed_;
  std::unique_ptr<AgentRounds> rounds_;
  bool connected_ = false;
  Busy busy_;                        // the server's last word on it, if it said so
  std::string trouble_;              // AgentStatus::trouble
  bool superseded_ = false;          // AgentStatus::superseded
  std::optional<Error> failure_;     // AgentStatus::failure
  std::unique_ptr<AgentLink> link_;  // last: its threads end first
};

Agent::Session::Session(const AgentOptions& options)
    : path_(options.state),
      lock_(HoldState(options.state)),
      report_(options.report),
      rounds_(BeginOrResume(options.state)) {
  if (options.coverage) rounds_->Cover(*options.coverage);
  if (auto own = ReadMaskIdentity(options.link)) rounds_->Mask(*std::move(own));
  if (report_) rounds_->RefusePrivacy();
  if (options.masked) rounds_->DemandMasks();
  if (options.state.empty()) rounds_->Forget();
  const std::lock_guard lock(mutex_);  // its threads may need link_ at once
  link_ = OpenAgentLink(options.link, *this);
}

/// What was learnt since the last answer waits for the next one, in the next process as well.
Agent::Session::~Session() {
  link_.reset();
  if (path_.empty()) return;
  try {
    if (const auto state = rounds_->Unkept()) WriteAgentState(path_, *state);
  } catch (const Error&) {  // as if the process had been killed
  }
}

// The link's side.

std::string Agent::Session::Greet() {
  const std::lock_guard lock(mutex_);
  return Encode(rounds_->hello());
}

bool Agent::Session::Received(std::string_view bytes) {
  try {
    const ServerMessage message = DecodeServerMessage(bytes);
    const std::lock_guard lock(mutex_);
    failure_.reset();  // if it still holds, that is found out again
    try {
      std::visit([this](const auto& m) { Take(m); }, message);
    } catch (const Superseded& error) {
      superseded_ = true;
      trouble_ = error.marked();
    } catch (const WrongFederation& error) {
      failure_ = error;
    }
    changed_.notify_all();
    return !failure_ && !superseded_;
  } catch (const Error& error) {  // of no use; the next connection may be better
    const std::lock_guard lock(mutex_);
    trouble_ = error.marked();
    return false;
  }
}

void Agent::Session::Take(const Welcome& welcome) {
  std::string again = rounds_->Take(welcome);
  connected_ = true;
  superseded_ = false;
  trouble_.clear();
  if (!again.empty()) link_->Send(std::move(again));
}

void Agent::Session::Take(const ModelChange& change) {
  if (!connected_) throw Error("received a model before the welcome");
  rounds_->Take(change);
}

void Agent::Session::Take(const Verdict& verdict) {
  std::string wrong = rounds_->Take(verdict);
  if (!wrong.empty()) trouble_ = std::move(wrong);
}

AgentLink::NextAttempt Agent::Session::Lost(const std::string& why, bool refused) {
  const std::lock_guard lock(mutex_);
  const Busy busy = std::exchange(busy_, {});
  connected_ = false;
  trouble_ = busy.reason.empty() ? why : busy.reason;
  if (refused) failure_ = Error(why);
  changed_.notify_all();
  return {.refused = failure_ || superseded_,
          .earliest = std::chrono::milliseconds(busy.earliest_milliseconds),
          .latest = std::chrono::milliseconds(busy.latest_milliseconds)};
}

// The user's side.

bool Agent::Session::WaitFor(std::chrono::milliseconds time, bool (AgentRounds::*holds)() const) {
  std::unique_lock lock(mutex_);
  const auto done = [&] { return superseded_ || ((*rounds_).*holds)(); };
  changed_.wait_for(lock, time, [&] { return failure_ || done(); });
  if (failure_) throw *failure_;
  return done();
}

void Agent::Session::Move() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(superseded_, false)) return;
  rounds_->Move();
  link_->Retry();
}

void Agent::Session::RequireModel() const {
  if (rounds_->has_model()) return;
  throw failure_.value_or(Error(rounds_->learning_ranges() == nullptr
                                    ? "no model has come from the server yet"
                                    : "the federation learns its ranges; there is no model yet"));
}

FederationConfiguration Agent::Session::configuration() const {
  const std::lock_guard lock(mutex_);
  RequireModel();
  return rounds_->configuration();
}

std::optional<FederationConfiguration> Agent::Session::learning_ranges() const {
  const std::lock_guard lock(mutex_);
  const FederationConfiguration* learning = rounds_->learning_ranges();
  return learning != nullptr ? std::optional(*learning) : std::nullopt;
}

void Agent::Session::TellRanges(const ClientRanges& ranges) {
  const std::lock_guard lock(mutex_);
  std::string message = rounds_->Tell(ranges);
  if (connected_ && !message.empty()) link_->Send(std::move(message));
}

AgentPrediction Agent::Session::Predict(std::span<const float> x) {
  const std::lock_guard lock(mutex_);
  RequireModel();
  return rounds_->Predict(x);
}

bool Agent::Session::Learn(double y, const InputPosition& position, bool clipped,
                           const std::optional<AgentPrediction>& told) {
  const std::lock_guard lock(mutex_);
  AgentRounds::Keep keep;
  if (!path_.empty()) keep = [this](const AgentState& state) { WriteAgentState(path_, state); };
  AgentRounds::Learnt learnt = rounds_->Learn(y, position, keep, clipped, told);
  if (connected_ && !learnt.update.empty()) {
    link_->Send(std::move(learnt.update));
    if (report_) {
      link_->SendLowPriority(Encode(rounds_->status().report));
    }
  }
  return learnt.learnt;
}

InputPosition Agent::Session::position() const {
  const std::lock_guard lock(mutex_);
  return rounds_->position();
}

AgentStatus Agent::Session::status() const {
  const std::lock_guard lock(mutex_);
  AgentStatus status = rounds_->status();
  status.connected = connected_;
  status.superseded = superseded_;
  status.trouble = trouble_;
  status.failure = failure_;
  return status;
}

// The agent itself.

Agent::Agent(const AgentOptions& options) : session_(std::make_unique<Session>(options)) {}
Agent::~Agent() = default;

bool Agent::WaitForStep(std::chrono::milliseconds time) {
  return session_->WaitFor(time, &AgentRounds::HasStep);
}
bool Agent::WaitUntilCounted(std::chrono::milliseconds time) {
  return session_->WaitFor(time, &AgentRounds::IsCounted);
}
void Agent::Move() {
  session_->Move();
}
FederationConfiguration Agent::configuration() const {
  return session_->configuration();
}
std::optional<FederationConfiguration> Agent::learning_ranges() const {
  return session_->learning_ranges();
}
void Agent::TellRanges(const ClientRanges& ranges) {
  session_->TellRanges(ranges);
}
AgentPrediction Agent::Predict(std::span<const float> x) {
  return session_->Predict(x);
}
bool Agent::Learn(double y, const InputPosition& position, bool clipped,
                  const std::optional<AgentPrediction>& told) {
  return session_->Learn(y, position, clipped, told);
}
InputPosition Agent::position() const {
  return session_->position();
}
AgentStatus Agent::status() const {
  return session_->status();
}

}  // namespace polykern
