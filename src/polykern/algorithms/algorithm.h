#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polykern/algorithms/messages.h"
#include "polykern/algorithms/options.h"
#include "polykern/core/losses.h"

namespace polykern {

class CohortStep;
class KernelBank;

/// Updates on their way into one step of the server. Several may be filled side by side, each by
/// one thread; the order, and the choice of the inbox, do not change the result.
class Inbox {
 public:
  virtual ~Inbox() = default;
  /// The updates must have passed CheckUpdates.
  virtual void Add(const Updates& updates) = 0;
  virtual void Clear() = 0;
  /// What was added, as integers: if those of another inbox are added to them, this one holds what
  /// was added to either. Nothing at all if the server needs each update separately.
  virtual std::vector<std::span<std::int64_t>> Sums() { return {}; }
  /// All that was added, as integers, for an inbox of another process: Unpack adds it there. Not
  /// where the server needs each update separately.
  virtual std::vector<std::int64_t> Pack() const { return {}; }
  /// Throws Error, and adds nothing, if they cannot be of such an inbox.
  virtual void Unpack(std::span<const std::int64_t> packed);
};

/// Calls job(i, lane) for i = 0 .. count - 1, each once, perhaps on several threads, and returns
/// when all are done. Jobs of one lane never run at the same time; there are as many lanes as
/// inboxes.
using RunJobs =
    std::function<void(std::size_t count, const std::function<void(std::size_t, std::size_t)>&)>;

/// One job after the other, all in lane 0.
void RunInTurn(std::size_t count, const std::function<void(std::size_t, std::size_t)>& job);

/// A closed sum over clients.
struct Release {
  std::uint64_t number = 0;  ///< of this server's releases: 0, 1, 2...
  std::uint32_t kind = 0;    ///< of sums (ModelShape::sums)
  std::uint64_t messages = 0;
  SampleCount count = {};
  std::vector<std::int64_t> sums = {};           ///< modulo 2^64; of masked messages: masked
  std::vector<Contribution> contributions = {};  ///< of masked messages: whose they are
  /// With noise, in place of `sums`: what all releases of this kind so far add up to, in numbers
  /// of any size, and the standard deviation of each.
  std::vector<double> estimate = {};
  double deviation = 0;
  std::string refusal = {};  ///< why it may not be seen; empty: `sums` may be seen
  /// Refused because the number belongs to a release that this server has lost: this one does not
  /// count, and the next one has the same number.
  bool number_taken = false;
};

/// The server half: owns the model. One thread at a time.
class Server {
 public:
  virtual ~Server() = default;
  virtual const Broadcast& broadcast() const = 0;
  virtual std::unique_ptr<Inbox> NewInbox() const = 0;
  /// Ends a step in which `participants` clients took part, 0 included: changes the model by what
  /// is in the inboxes (made by this server, at least one), empties them, and counts the step. Open
  /// must follow. The result does not depend on how `run` shares out the work.
  virtual void Commit(std::span<const std::unique_ptr<Inbox>> inboxes, std::uint64_t participants,
                      const RunJobs& run = RunInTurn) = 0;
  /// What the last Commit has closed, for the opener, which takes the masks away or refuses to.
  /// Then Open changes the model by them. Until then there is no broadcast of the next step.
  virtual std::span<Release> releases() { return {}; }
  virtual void Open() {}
  /// Masks start again: what was sent under the older ones and is not in the model is void, and
  /// releases are counted from 0.
  virtual void BeginEpoch() {}
  /// What the last Commit and Open did not take in, and why; one line for each.
  virtual std::span<const std::string> discarded() const { return {}; }
  /// How the clients weigh their experts, on average, as far as they have said; empty: they have
  /// not.
  virtual std::vector<double> MeanWeights() const { return {}; }
  /// Save gives everything that must survive a restart; Load restores it, and throws Error if it
  /// does not fit.
  virtual std::vector<double> Save() const = 0;
  virtual void Load(std::uint64_t step, std::span<const double> saved) = 0;
};

/// What an algorithm is made from. Together with its name it says everything about the client half,
/// so any engine can compute that half alone.
struct AlgorithmDefinition {
  std::shared_ptr<const KernelBank> bank = nullptr;  ///< null: it has no kernels
  AlgorithmOptions options = {};
  Problem problem = {};
  std::shared_ptr<const KernelBank> local_bank = nullptr;  ///< of private experts; null: none
};

/// An online federated learner: what its clients and its server are, and a factory of server
/// halves. Engines (algorithms/engine.h) take the clients through their steps; the CPU's step is
/// beside the description. The same object serves the simulator and the network. Immutable:
/// any number of threads may share it.
class Algorithm {
 public:
  explicit Algorithm(AlgorithmDefinition definition) : definition_(std::move(definition)) {}
  Algorithm(const Algorithm&) = delete;
  Algorithm& operator=(const Algorithm&) = delete;
  virtual ~Algorithm() = default;

  const AlgorithmDefinition& definition() const { return definition_; }
  virtual std::string_view name() const = 0;
  virtual const ModelShape& shape() const = 0;
  virtual const Loss& loss() const = 0;
  /// Predictors a client chooses among; what its regret is measured against. 0: none.
  virtual std::size_t experts() const = 0;
  /// eta_k of constant-rate Hedge, which Theorem 2's bound needs; 0 if that does not apply.
  virtual double weight_rate() const { return 0; }

  /// Private numbers a client keeps between steps. They start at 0, unless Start changes that.
  virtual std::size_t state_size() const = 0;
  virtual void Start(std::span<double> /*state*/) const {}
  /// How many of them, the first ones, stay meaningful when the features are drawn again.
  virtual std::size_t lasting_state() const { return state_size(); }
  /// The weights, experts() of them, with which a client in this state would mix its experts at a
  /// step. False, writing nothing, if clients have no weights of their own.
  virtual bool Weights(std::span<const double> /*state*/, std::uint64_t /*step*/,
                       std::span<double> /*weights*/) const {
    return false;
  }

  /// Changes a state at its start to one whose weights these are, but for rounding; nothing if
  /// clients have no weights of their own, or they are unknown (Server::MeanWeights).
  virtual void SetWeights(std::span<const double> /*weights*/, std::span<double> /*state*/) const {}

  /// Masks start again: a client in this state never again sends what it has sent before,
  /// counted or not.
  virtual void BeginEpoch(std::span<double> /*state*/) const {}

  /// How many of the samples it has learnt from last a client must be able to read again
  /// (SampleHistory); 0: none.
  virtual std::uint64_t kept_samples() const { return 0; }
  /// The sums of so many clients' updates in one step always fit into their numbers.
  virtual std::uint64_t most_clients() const;
  /// Throws BrokenRule unless what updates of the shape hold can be an answer to the broadcast, or,
  /// where they may be late, to an earlier one; as far as masks let it be seen.
  virtual void CheckContents(const Updates& /*updates*/, const Broadcast& /*broadcast*/) const {}
  /// Why clients can no longer learn with this model, in a line; empty: they can.
  virtual std::string TroubleOf(const Broadcast& /*broadcast*/) const { return {}; }

  virtual std::unique_ptr<Server> NewServer() const = 0;
  /// The client half on the CPU. The algorithm must outlive it.
  virtual std::unique_ptr<CohortStep> NewCpuStep() const = 0;

 private:
  AlgorithmDefinition definition_;
};

}  // namespace polykern
