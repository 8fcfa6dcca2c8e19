#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "polykern/algorithms/messages.h"

namespace polykern {

class Algorithm;

/// Samples and labels, sample after sample. Reused from call to call.
struct LearntSamples {
  std::vector<float> x;   ///< samples x dimension
  std::vector<double> y;  ///< one label per sample

  void Clear() {
    x.clear();
    y.clear();
  }
};

/// What clients have learnt from so far, the sample of this step included: algorithms that send
/// sums read it again when a kernel's turn comes. A client's samples are numbered from 0 in the
/// order it learnt from them. The caller that runs clients keeps it: an agent in a buffer, the
/// simulator by reading its stream again. Threads may read different clients at the same time.
class SampleHistory {
 public:
  virtual ~SampleHistory() = default;
  /// Appends samples from .. to - 1 of a client that has learnt from `learnt` so far. Those that
  /// Algorithm::kept_samples does not promise to be there are not asked for.
  virtual void Read(std::uint64_t client, std::uint64_t from, std::uint64_t to,
                    std::uint64_t learnt, LearntSamples& samples) const = 0;
};

/// The samples of the clients of a cohort that take part in one step.
struct Samples {
  std::span<const std::uint64_t> clients = {};  ///< their identities: keys of their random draws
  std::span<const float> x = {};                ///< clients x dimension
  std::span<double* const> state = {};    ///< each client's private state, state_size() numbers
  std::span<const double> uniforms = {};  ///< fixes the clients' draws; empty: drawn from the seed
  /// Of algorithms that keep samples (Algorithm::kept_samples).
  const SampleHistory* history = nullptr;
};

/// What a cohort knows of its updates when labels arrive. It matters to algorithms that keep
/// samples: what did not count is sent again.
struct Answering {
  bool answers = true;       ///< an update is wanted; else the clients only learn
  bool last_counted = true;  ///< if so: the server has counted what these clients sent last
};

/// The client half of an algorithm at work: takes a cohort through a step. Predict, then Learn,
/// then the next cohort. One per thread; keeps its buffers from step to step, so the step loop does
/// not allocate. An engine derives from it and fills the results; whatever else it needs is its
/// own.
class CohortStep {
 public:
  CohortStep() = default;
  CohortStep(const CohortStep&) = delete;
  CohortStep& operator=(const CohortStep&) = delete;
  virtual ~CohortStep() = default;

  /// Predicts for every client of the cohort; changes no client's state. The broadcast and what the
  /// samples refer to must live until Learn.
  void Predict(const Broadcast& broadcast, const Samples& samples) {
    broadcast_ = &broadcast;
    samples_ = samples;
    PredictCohort();
  }
  /// The labels arrive: changes the states and gives what the cohort sends, which lives until the
  /// next Predict. To be called once after Predict.
  const Updates& Learn(std::span<const double> labels, const Answering& answering = {}) {
    assert(broadcast_ != nullptr && labels.size() == samples_.clients.size());
    answering_ = answering;
    LearnLabels(labels);
    broadcast_ = nullptr;
    return updates_;
  }

  /// After Predict: y_hat per client, and what each kernel predicts, clients x kernels, a client's
  /// own after the federated where it has both; empty without kernels.
  std::span<const double> predictions() const { return predictions_; }
  std::span<const float> kernel_predictions() const { return kernel_predictions_; }
  /// After Learn: clients x experts, regularisation included.
  std::span<const double> kernel_losses() const { return kernel_losses_; }

 protected:
  /// Writes the predictions.
  virtual void PredictCohort() = 0;
  /// Writes the updates and the kernels' losses.
  virtual void LearnLabels(std::span<const double> labels) = 0;

  const Broadcast& broadcast() const { return *broadcast_; }
  const Samples& samples() const { return samples_; }
  const Answering& answering() const { return answering_; }
  std::size_t clients() const { return samples_.clients.size(); }

  std::vector<double> predictions_;
  std::vector<float> kernel_predictions_;
  std::vector<double> kernel_losses_;
  Updates updates_;

 private:
  const Broadcast* broadcast_ = nullptr;
  Samples samples_;
  Answering answering_;
};

/// Row r of a matrix with so many columns.
template <class Numbers>
auto MatrixRow(Numbers& matrix, std::size_t r, std::size_t columns) {
  return std::span(matrix).subspan(r * columns, columns);
}

/// What takes cohorts of clients through their steps. Callers that run clients (the simulation, an
/// agent, Python) are given one and do not know what is behind it. An engine reads an algorithm's
/// name and definition, and needs nothing else of it. Immutable: threads may share it.
class Engine {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;

  virtual std::string_view name() const = 0;
  /// Clients in a cohort that suits this engine.
  virtual std::size_t cohort_size() const = 0;
  /// The client half of an algorithm, for one thread. The algorithm must outlive it. Throws Error
  /// for an algorithm that the engine does not have.
  virtual std::unique_ptr<CohortStep> NewStep(const Algorithm& algorithm) const = 0;
};

/// How many cohorts so many clients make.
inline std::size_t CohortsOf(const Engine& engine, std::size_t clients) {
  return (clients + engine.cohort_size() - 1) / engine.cohort_size();
}

/// The vector units of this machine's CPU, chosen at run time; has every algorithm.
const Engine& CpuEngine();

}  // namespace polykern
