#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "polykern/algorithms/messages.h"
#include "polykern/algorithms/sample_history.h"

namespace polykern {

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

}  // namespace polykern
