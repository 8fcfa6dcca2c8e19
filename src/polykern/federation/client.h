#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "polykern/algorithms/algorithm.h"
#include "polykern/algorithms/engine.h"
#include "polykern/federation/sealing.h"

namespace polykern {

/// The private state of some clients: everything a client keeps between steps, and nothing that
/// ever leaves it. Threads may use different clients at the same time.
class Clients {
 public:
  /// Clients first_id .. first_id + count - 1, at their start.
  Clients(const Algorithm& algorithm, std::uint64_t first_id, std::size_t count);

  std::size_t size() const { return count_; }
  std::uint64_t Id(std::size_t client) const { return first_id_ + client; }
  std::span<double> State(std::size_t client) {
    return std::span(state_).subspan(client * state_size_, state_size_);
  }

  /// Sets what does not outlast new features (Algorithm::lasting_state) back to the start.
  void ForgetFeatures();

  const std::vector<double>& Save() const { return state_; }
  /// Throws Error if `saved` is not the state of as many clients of such an algorithm.
  void Load(std::span<const double> saved);

 private:
  std::uint64_t first_id_;
  std::size_t count_;
  std::size_t state_size_;
  std::size_t lasting_;
  std::vector<double> state_;
};

/// One round seen from the client side, for a cohort of neighbouring clients: predict, see the
/// labels, learn, and have something to send. One per thread, reused for cohort after cohort.
/// Calling Learn without a Predict before it is a programmer's mistake.
class ClientRound {
 public:
  /// Everything passed in must outlive it.
  explicit ClientRound(const Algorithm& algorithm, const Engine& engine = CpuEngine(),
                       const Sealing& sealing = PlainSealing())
      : algorithm_(&algorithm), sealing_(&sealing), step_(engine.NewStep(algorithm)) {}

  /// Where the clients' samples can be read again; algorithms that keep samples need it before
  /// Learn, with the sample that is learnt from at its end.
  void ReadFrom(const SampleHistory& history) { history_ = &history; }

  /// Steps 2-4 for those clients of first .. first + present.size() - 1 that are present. x holds a
  /// row and uniforms (if not empty) a number for each client, present or not. `broadcast`,
  /// `clients` and the states must live until Learn. Changes no state.
  void Predict(const Broadcast& broadcast, Clients& clients, std::size_t first,
               std::span<const float> x, std::span<const std::uint8_t> present,
               std::span<const double> uniforms = {});

  /// The present clients, as offsets from `first`, and their predictions.
  std::span<const std::size_t> participants() const { return participants_; }
  std::span<const double> predictions() const { return step_->predictions(); }
  /// After Predict: what each kernel predicts for a participant; empty without kernels.
  std::span<const float> KernelPredictions(std::size_t participant) const;

  /// Steps 5-7. Labels hold a number for each client, present or not. Gives what is sent: sealed.
  const Updates& Learn(std::span<const double> labels, const Answering& answering = {});
  /// After Learn: the losses of a participant's kernels in this step.
  std::span<const double> KernelLosses(std::size_t participant) const;

 private:
  const Algorithm* algorithm_;
  const Sealing* sealing_;
  const SampleHistory* history_ = nullptr;
  std::unique_ptr<CohortStep> step_;
  Updates sealed_;
  std::vector<std::size_t> participants_;
  std::vector<std::uint64_t> ids_;
  std::vector<float> x_;
  std::vector<double*> state_;
  std::vector<double> uniforms_;
  std::vector<double> labels_;
};

}  // namespace polykern
