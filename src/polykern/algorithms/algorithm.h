#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "polykern/algorithms/messages.h"
#include "polykern/core/losses.h"
#include "polykern/core/network.h"
#include "polykern/core/random_features.h"

namespace polykern {

/// The samples of the clients of a cohort that take part in one step.
struct Samples {
  std::span<const std::uint64_t> clients;  ///< their identities: keys of their random draws
  std::span<const float> x;                ///< clients x dimension
  std::span<double* const> state;          ///< each client's private state, state_size() numbers
  std::span<const double> uniforms;        ///< fixes the clients' draws; empty: drawn from the seed
};

/// What a thread needs to take a cohort through a step; reused from step to step, so the step loop
/// does not allocate. Holds what Predict leaves for Learn.
struct Workspace {
  std::vector<double> predictions;  ///< out of Predict: y_hat per client
  /// Out of Learn: clients x experts(), regularisation included.
  std::vector<double> kernel_losses;
  /// Out of Learn: what the cohort sends. Predict leaves the features of the chosen kernels here.
  Updates updates;

  FeatureScratch features;
  std::vector<float> f;  ///< clients x kernels
  /// Features that stay on the client, of whom and of which kernels.
  std::vector<float> z;
  std::vector<std::size_t> first;
  std::vector<std::uint32_t> chosen;
  std::vector<float> no_theta;  ///< all 0, where clients have models of their own
  std::vector<double> base;     ///< per client: what its private experts add to
  std::vector<float> local_f;   ///< clients x predictions of what is mixed last
  std::vector<double> local_weights;
  std::vector<double> weights;
  std::vector<double> norms;  ///< ||theta_i||^2
  std::vector<double> slopes;
  std::vector<std::uint32_t> order;
  std::vector<float> along_z;  ///< factors of the features in the updates, and of theta
  std::vector<float> along_theta;
  std::vector<double> numbers;  ///< whatever else is needed in double
  Network::Activations network;
};

/// Updates on their way into one step of the server. Several may be filled side by side, each by
/// one thread; what was added in which order, to which of them, does not change the result.
class Inbox {
 public:
  virtual ~Inbox() = default;
  /// The updates must have passed CheckUpdates.
  virtual void Add(const Updates& updates) = 0;
  virtual void Clear() = 0;
  /// What was added, as integers: if those of another inbox are added to them, this one holds what
  /// was added to either. Nothing at all if the server needs every update by itself.
  virtual std::vector<std::span<std::int64_t>> Sums() { return {}; }
};

/// Calls job(i, lane) for i = 0 .. count - 1, each once, perhaps on several threads, and returns
/// when all are done. Jobs of one lane never run at the same time; there are as many lanes as
/// inboxes.
using RunJobs =
    std::function<void(std::size_t count, const std::function<void(std::size_t, std::size_t)>&)>;

/// One job after the other, all in lane 0.
void RunInTurn(std::size_t count, const std::function<void(std::size_t, std::size_t)>& job);

/// The server half: owns the model. One thread at a time.
class Server {
 public:
  virtual ~Server() = default;
  virtual const Broadcast& broadcast() const = 0;
  virtual std::unique_ptr<Inbox> NewInbox() const = 0;
  /// Ends a step in which `participants` clients took part, 0 included: changes the model by what
  /// is in the inboxes (made by this server, at least one), empties them, and counts the step. The
  /// result does not depend on how `run` shares out the work.
  virtual void Commit(std::span<const std::unique_ptr<Inbox>> inboxes, std::uint64_t participants,
                      const RunJobs& run = RunInTurn) = 0;
  /// Everything that must survive a restart, and back. Load throws Error if it does not fit.
  virtual std::vector<double> Save() const = 0;
  virtual void Load(std::uint64_t step, std::span<const double> saved) = 0;
};

/// An online federated learner: the client half for a cohort, and a factory of server halves. The
/// same object serves the simulator and the network. Immutable: any number of threads may share it.
class Algorithm {
 public:
  virtual ~Algorithm() = default;
  virtual std::string_view name() const = 0;
  virtual const ModelShape& shape() const = 0;
  virtual const Loss& loss() const = 0;
  /// Predictors a client chooses among; what its regret is measured against. 0: none.
  virtual std::size_t experts() const = 0;
  /// eta_k of constant-rate Hedge, which Theorem 2's bound needs; 0 if that does not apply.
  virtual double weight_rate() const = 0;

  /// Private numbers a client keeps between steps. They start at 0.
  virtual std::size_t state_size() const = 0;
  /// How many of them, the first ones, still mean something when the features are drawn anew.
  virtual std::size_t lasting_state() const { return state_size(); }
  /// The weights, experts() of them, with which a client in this state would mix its experts at a
  /// step. False, writing nothing, if clients have no weights of their own.
  virtual bool Weights(std::span<const double> /*state*/, std::uint64_t /*step*/,
                       std::span<double> /*weights*/) const {
    return false;
  }
  /// Predicts for every client of the cohort; changes no client's state.
  virtual void Predict(const Broadcast& broadcast, const Samples& samples,
                       Workspace& workspace) const = 0;
  /// The labels arrive: changes the states and writes the updates. To be called after Predict with
  /// the same broadcast, samples and workspace, once.
  virtual void Learn(const Broadcast& broadcast, const Samples& samples,
                     std::span<const double> labels, Workspace& workspace) const = 0;

  virtual std::unique_ptr<Server> NewServer() const = 0;
};

}  // namespace polykern
