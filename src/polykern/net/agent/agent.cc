#include "polykern/net/agent/agent.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <sys/random.h>

#include "polykern/core/error.h"
#include "polykern/core/metrics.h"
#include "polykern/federation/client.h"
#include "polykern/net/agent/agent_state.h"
#include "polykern/net/wire.h"

namespace polykern {
namespace {

constexpr std::uint32_t kFirstVersionWithReports = 2;

/// What learning needs; made when the federation is known.
struct Learner {
  Learner(const FederationConfiguration& what, std::uint64_t client)
      : configuration(what),
        algorithm(MakeAlgorithm(what)),
        clients(*algorithm, client, 1),
        round(*algorithm),
        score(1, algorithm->experts()) {}

  FederationConfiguration configuration;
  std::unique_ptr<Algorithm> algorithm;
  Clients clients;
  ClientRound round;
  Scoreboard score;
};

}  // namespace

class Agent::Parts final : public AgentLink::Handler {
 public:
  explicit Parts(const AgentOptions& options) : path_(options.state), report_(options.report) {
    if (!path_.empty()) {
      if (auto saved = ReadAgentState(path_)) Restore(std::move(*saved));
    }
    const std::lock_guard lock(mutex_);  // its threads may need link_ at once
    link_ = std::make_unique<AgentLink>(options.link, *this);
  }

  // The link's side.

  std::string Greet() override {
    const std::lock_guard lock(mutex_);
    return Encode(Hello{kProtocolVersion, state_.answered});
  }

  bool Received(std::string_view bytes) override {
    try {
      const ServerMessage message = DecodeServerMessage(bytes);
      const std::lock_guard lock(mutex_);
      failure_.reset();  // if it still holds, that is found out again
      std::visit([this](const auto& m) { Handle(m); }, message);
      changed_.notify_all();
      return !failure_;
    } catch (const Error& error) {  // of no use; the next connection may be better
      const std::lock_guard lock(mutex_);
      status_.trouble = error.what();
      return false;
    }
  }

  std::chrono::milliseconds Wait() override {
    const std::lock_guard lock(mutex_);
    const Busy window = std::exchange(busy_, {});
    const std::uint32_t width = std::max(window.latest_milliseconds, window.earliest_milliseconds) -
                                window.earliest_milliseconds;
    std::uint32_t bits = 0;
    if (getrandom(&bits, sizeof bits, 0) != sizeof bits) bits = 0;
    return std::chrono::milliseconds(window.earliest_milliseconds +
                                     static_cast<std::uint64_t>(bits) * width / (1ULL << 32));
  }

  bool Lost(const std::string& why, bool refused) override {
    const std::lock_guard lock(mutex_);
    status_.connected = false;
    status_.trouble = busy_.reason.empty() ? why : busy_.reason;
    if (refused) failure_ = Error(why);
    changed_.notify_all();
    return failure_.has_value();
  }

  // The user's side.

  bool WaitForStep(std::chrono::milliseconds time) {
    return WaitFor(
        time, [this] { return model_ != nullptr && (status_.finished || MayAnswer(*model_)); });
  }

  bool WaitUntilCounted(std::chrono::milliseconds time) {
    return WaitFor(time, [this] {
      return state_.answered == 0 || status_.finished || (model_ != nullptr && MayAnswer(*model_));
    });
  }

  FederationConfiguration configuration() {
    const std::lock_guard lock(mutex_);
    RequireModel();
    return learner_->configuration;
  }

  AgentPrediction Predict(std::span<const float> x) {
    const std::lock_guard lock(mutex_);
    RequireModel();
    const std::size_t dimension = learner_->configuration.problem.dimension;
    if (x.size() != dimension) {
      throw Error("a sample has " + std::to_string(x.size()) +
                  " inputs, the federation works with " + std::to_string(dimension));
    }
    playing_ = model_;  // Learn needs the same one, whatever comes meanwhile
    x_.assign(x.begin(), x.end());
    PredictAgain();
    const double f = learner_->round.predictions()[0];
    return {learner_->algorithm->loss().Predicted(f), playing_->step};
  }

  bool Learn(double y, const InputPosition& position) {
    const std::lock_guard lock(mutex_);
    assert(playing_ != nullptr);
    if (status_.finished || !MayAnswer(*playing_)) {
      playing_.reset();
      ++status_.unlearnt;
      return false;
    }
    const double f = learner_->round.predictions()[0];
    const std::vector<double> before = learner_->clients.Save();
    const Updates& updates = learner_->round.Learn(std::array{y});
    try {
      CheckLearnt(updates);
    } catch (const Error& error) {
      TakeBack(before);
      throw UnusableSample(std::string("its label cannot be learnt from: ") + error.marked());
    }
    AgentState next = state_;
    next.answered = updates.step + 1;
    next.position = position;
    next.weights = learner_->clients.Save();
    next.update = Encode(updates);
    if (!path_.empty()) {
      next.model = EncodeWhole(*playing_);
      try {
        WriteAgentState(path_, next);
      } catch (const Error&) {
        TakeBack(before);
        throw;
      }
    }
    state_ = std::move(next);
    playing_.reset();
    ++status_.learnt;
    Score(f, y);
    if (status_.connected) {
      link_->Send(state_.update);
      if (report_ && version_ >= kFirstVersionWithReports) {
        link_->SendAside(Encode(status_.report));
      }
    }
    return true;
  }

  InputPosition position() const {
    const std::lock_guard lock(mutex_);
    return state_.position;
  }

  AgentStatus status() const {
    const std::lock_guard lock(mutex_);
    AgentStatus status = status_;
    status.ready = model_ != nullptr;
    status.step = model_ != nullptr ? model_->step : 0;
    status.client = state_.client;
    status.failure = failure_;
    return status;
  }

 private:
  template <typename Condition>
  bool WaitFor(std::chrono::milliseconds time, Condition holds) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, time, [&] { return failure_ || holds(); });
    if (failure_) throw *failure_;
    return holds();
  }

  /// A step is answered once; and where late updates count, the last one must be on the server's
  /// disk: so each of them is, whoever is killed.
  bool MayAnswer(const Broadcast& model) const {
    return model.step >= state_.answered && (!uses_late_ || counted_ >= state_.answered);
  }

  void RequireModel() const {
    if (model_ != nullptr) return;
    throw failure_.value_or(Error("no model has come from the server yet"));
  }

  void PredictAgain() {
    learner_->round.Predict(*playing_, learner_->clients, 0, x_, std::array<std::uint8_t, 1>{1});
  }

  /// As if Learn had not been called: it may be called again.
  void TakeBack(const std::vector<double>& before) {
    learner_->clients.Load(before);
    PredictAgain();
  }

  /// What the server would not take is not sent, nor are the weights it left behind kept.
  void CheckLearnt(const Updates& updates) const {
    CheckUpdates(learner_->algorithm->shape(), updates);
    const auto finite = [](double value) { return std::isfinite(value); };
    if (!std::ranges::all_of(learner_->clients.Save(), finite)) throw Error("weights overflow");
  }

  std::string EncodeWhole(const Broadcast& model) const {
    const ModelShape& shape = learner_->algorithm->shape();
    std::vector<std::uint32_t> all(shape.blocks);
    std::iota(all.begin(), all.end(), 0U);
    return Encode(TakeBlocks(shape, model, std::move(all)));
  }

  void Score(double f, double y) {
    const Loss& loss = learner_->algorithm->loss();
    const double error = loss.Predicted(f) - y;
    Scoreboard& score = learner_->score;
    score.Record(0, error * error, loss.Value(f, y), learner_->round.KernelLosses(0));
    const auto steps = static_cast<double>(score.Steps(0));
    status_.report = {score.Steps(0), score.SquaredError(0) / steps,
                      learner_->algorithm->experts() > 0 ? score.Regret(0) : 0};
  }

  void Restore(AgentState saved) {
    learner_.emplace(FromTexts(saved.configuration), saved.client);
    learner_->clients.Load(saved.weights);
    const ServerMessage model = DecodeServerMessage(saved.model);
    const auto* change = std::get_if<ModelChange>(&model);
    if (change == nullptr) throw Error(path_ + ": damaged; remove it to begin anew");
    state_ = std::move(saved);
    Apply(*change);
  }

  void Apply(const ModelChange& change) {
    // A copy: a prediction may be waiting for its label with the old one.
    auto next = std::make_shared<Broadcast>(model_ != nullptr ? *model_ : Broadcast());
    ApplyModel(learner_->algorithm->shape(), change, *next);
    model_ = std::move(next);
    status_.finished = change.finished;
  }

  void Handle(const Welcome& welcome) {
    if (welcome.version < kOldestProtocolVersion || welcome.version > kProtocolVersion) {
      failure_ = Error("the server speaks version " + std::to_string(welcome.version) +
                       " of the protocol, this agent " + std::to_string(kProtocolVersion) +
                       "; update the older side");
      return;
    }
    if (learner_) {
      std::string difference = Differences(state_.configuration, welcome.configuration);
      if (difference.empty() && state_.client != welcome.client) {
        difference =
            "client: " + std::to_string(state_.client) + " -> " + std::to_string(welcome.client);
      }
      if (!difference.empty()) {
        failure_ = Error("the server's federation is not the one this agent has learnt with (" +
                         difference + "); use another state file");
        return;
      }
    } else {
      try {
        learner_.emplace(FromTexts(welcome.configuration), welcome.client);
      } catch (const Error& error) {
        failure_ = error;
        return;
      }
      state_.configuration = welcome.configuration;
      state_.client = welcome.client;
    }
    Apply(welcome.model);
    version_ = welcome.version;
    status_.connected = true;
    status_.trouble.clear();
    const std::uint64_t step = model_->step;
    if (step + 1 < state_.answered) {  // the server went back to an old copy
      state_.answered = step;
      state_.update.clear();
    }
    uses_late_ = welcome.uses_late;
    counted_ = state_.update.empty() ? state_.answered : welcome.answered;
    // The last update again, unless it counts already or is of no use any more.
    if (counted_ < state_.answered && !status_.finished &&
        (uses_late_ || step + 1 == state_.answered)) {
      link_->Send(state_.update);
    }
  }
  void Handle(const ModelChange& change) {
    if (!status_.connected) throw Error("a model came before the welcome");
    Apply(change);
  }
  void Handle(const Verdict& verdict) {
    counted_ = std::max(counted_, verdict.step + 1);  // or never will
    if (verdict.accepted) return;
    ++status_.rejected;
    status_.trouble = "the server rejected the update of step " + std::to_string(verdict.step) +
                      ": " + verdict.reason;
  }
  void Handle(const Busy& busy) { busy_ = busy; }

  const std::string path_;
  const bool report_;
  mutable std::mutex mutex_;  // for all that follows, but the link
  std::condition_variable changed_;
  AgentState state_;
  std::optional<Learner> learner_;
  std::shared_ptr<const Broadcast> model_;    // the newest; a reader may keep the one before
  std::shared_ptr<const Broadcast> playing_;  // of the last prediction, until its label came
  std::vector<float> x_;                      // of the last prediction
  bool uses_late_ = false;     // the server counts late updates, and says which are on its disk
  std::uint64_t counted_ = 0;  // 1 + the step of the last of them
  Busy busy_;
  AgentStatus status_;
  std::uint32_t version_ = 0;  // of the protocol, on the connection of now
  std::optional<Error> failure_;
  std::unique_ptr<AgentLink> link_;  // last: its threads end first
};

Agent::Agent(const AgentOptions& options) : parts_(std::make_unique<Parts>(options)) {}

Agent::~Agent() = default;

bool Agent::WaitForStep(std::chrono::milliseconds time) {
  return parts_->WaitForStep(time);
}

bool Agent::WaitUntilCounted(std::chrono::milliseconds time) {
  return parts_->WaitUntilCounted(time);
}

FederationConfiguration Agent::configuration() const {
  return parts_->configuration();
}

AgentPrediction Agent::Predict(std::span<const float> x) {
  return parts_->Predict(x);
}

bool Agent::Learn(double y, const InputPosition& position) {
  return parts_->Learn(y, position);
}

InputPosition Agent::position() const {
  return parts_->position();
}

AgentStatus Agent::status() const {
  return parts_->status();
}

}  // namespace polykern
