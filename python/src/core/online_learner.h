#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "polykern/algorithms/algorithm.h"
#include "polykern/algorithms/engine.h"
#include "polykern/core/kernels.h"
#include "polykern/federation/client.h"

namespace polykern::python {

struct OnlineLearnerOptions {
  std::size_t dimension = 0;
  std::size_t kernels = 0;
  std::size_t features = 0;
  std::string dictionary = "gaussian";
  double ridge = 0;
  double forgetting = 1;
  std::size_t warm_up = 0;  ///< samples whose inputs say how they are scaled, at least 2
  std::uint64_t seed = 0;
};

/// One stream in its own units, learnt by local-rls: what stands behind OnlineRegressor. Sample by
/// sample or in batches gives the same bits.
///
/// Inputs are centred and divided by their deviations over the first `warm_up` samples. While these
/// come in they are kept, and whenever their number has doubled the scale is determined again and
/// they are learnt again: so there are good predictions from the start, for twice the work at most.
/// Labels are scaled around their first mean; the range doubles whenever one falls outside, which
/// regressions and AdaHedge survive without a loss (ScaleLabels).
///
/// One thread at a time. The constructor throws Error for options that make no sense.
class OnlineLearner {
 public:
  explicit OnlineLearner(const OnlineLearnerOptions& options);

  /// Of many rows of finite numbers; changes nothing. 0 before anything was learnt.
  void Predict(std::span<const double> rows, std::span<double> predictions);
  /// Predicts, then learns one sample of finite numbers.
  double PredictAndLearn(std::span<const double> row, double label);

  const OnlineLearnerOptions& options() const { return options_; }
  std::uint64_t samples() const { return samples_; }
  /// Weights of the kernels.
  std::vector<double> Weights();

  /// Everything learnt, as numbers, and back. Load throws Error if they do not fit the options.
  std::vector<double> Save() const;
  void Load(std::span<const double> saved);

 private:
  void Scale(std::span<const double> row, std::span<float> scaled) const;
  void FindScale();
  void LearnAgain();
  double PredictScaled(std::span<const double> row);
  void LearnPredicted(double label);

  OnlineLearnerOptions options_;
  std::shared_ptr<const KernelBank> bank_;
  std::unique_ptr<Algorithm> algorithm_;
  Broadcast nothing_;  // a client of its own gets no model
  Clients client_;
  ClientRound round_;
  std::unique_ptr<CohortStep> together_;  // predicts rows side by side
  std::vector<float> scaled_;

  std::uint64_t samples_ = 0;
  std::vector<double> means_;    // of the inputs
  std::vector<double> factors_;  // 1 / (deviation sqrt(d)); empty: no scale yet
  double middle_ = 0;            // of the labels
  double half_ = 0;              // of their range; 0: all were alike
  std::vector<double> first_;    // samples of the warm-up, inputs and label
};

}  // namespace polykern::python
