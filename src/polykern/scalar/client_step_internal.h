#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "polykern/algorithms/algorithm.h"
#include "polykern/algorithms/engine.h"
#include "polykern/core/kernels.h"
#include "polykern/core/random.h"
#include "polykern/scalar/arithmetic_internal.h"

namespace polykern::scalar {

/// A cohort is only its clients, one after the other. What a client learns from is computed
/// again from its sample and its state, which Predict does not change.
class ClientStep : public CohortStep {
 public:
  explicit ClientStep(const Algorithm& algorithm)
      : algorithm_(algorithm),
        options_(algorithm.definition().options),
        kernels_(algorithm.definition().bank ? algorithm.definition().bank->kernels() : 0) {}

 protected:
  /// What client c predicts, and what each of its kernels does.
  struct Prediction {
    double value = 0;
    Floats kernels = {};
  };
  virtual Prediction PredictClient(std::size_t c) const = 0;
  /// Changes the client's state; sends and scores by the functions below.
  virtual void LearnClient(std::size_t c, double label) = 0;

  std::span<const float> X(std::size_t c) const {
    return MatrixRow(samples().x, c, samples().x.size() / clients());
  }
  std::span<double> State(std::size_t c) const {
    return {samples().state[c], algorithm_.state_size()};
  }
  /// theta_i of the model.
  std::span<const float> Theta(std::size_t i) const {
    return MatrixRow(broadcast().model, i, algorithm_.shape().width);
  }
  Floats Z(std::size_t c, std::size_t i) const { return Features(WavesOf(bank(), i, X(c))); }
  /// theta_i . z_i of every kernel, with the model's theta.
  Floats F(std::size_t c) const;
  /// loss(f_i, y) + lambda ||theta_i||^2 of the model's theta.
  double LossOf(std::size_t i, float f, double label) const {
    return loss().Value(static_cast<double>(f), label) +
           options_.regularization * SumOfSquares(Theta(i));
  }
  /// rate (slope z_i + 2 lambda theta_i), which is sent.
  void SendGradient(std::size_t c, std::size_t i, float f, double label, double rate);
  void Send(std::size_t block, std::span<const float> values) {
    updates_.blocks.push_back(static_cast<std::uint32_t>(block));
    updates_.values.insert(updates_.values.end(), values.begin(), values.end());
  }
  void SendLoss(double value) { updates_.losses.push_back(static_cast<float>(value)); }
  void Score(double kernel_loss) { kernel_losses_.push_back(kernel_loss); }

  /// The client's uniform number of this step.
  double Uniform(std::size_t c, Purpose purpose) const {
    if (!samples().uniforms.empty()) return samples().uniforms[c];
    return Random(seed(), purpose, samples().clients[c], broadcast().step).Uniform();
  }

  const KernelBank& bank() const { return *algorithm_.definition().bank; }
  const Loss& loss() const { return algorithm_.loss(); }
  std::uint64_t seed() const { return algorithm_.definition().problem.seed; }
  double RateOr(const std::optional<double>& given) const {
    return ResolveRate(given, algorithm_.definition().problem);
  }

  const Algorithm& algorithm_;
  const AlgorithmOptions& options_;
  std::size_t kernels_;  // N

 private:
  void PredictCohort() final;
  void LearnLabels(std::span<const double> labels) final;
};

// One for each algorithm.
std::unique_ptr<CohortStep> NewPofMklStep(const Algorithm& algorithm);  // and pof-adagrad
std::unique_ptr<CohortStep> NewPofNewtonStep(const Algorithm& algorithm);
std::unique_ptr<CohortStep> NewPofGramStep(const Algorithm& algorithm);
std::unique_ptr<CohortStep> NewEveryKernelStep(
    const Algorithm& algorithm);  // ofskl, ofmkl-avg, vm-kofl
std::unique_ptr<CohortStep> NewEmKoflStep(const Algorithm& algorithm);
std::unique_ptr<CohortStep> NewFomdOmsStep(const Algorithm& algorithm);
std::unique_ptr<CohortStep> NewFedPoeStep(const Algorithm& algorithm);
std::unique_ptr<CohortStep> NewPerFedAvgStep(const Algorithm& algorithm);
std::unique_ptr<CohortStep> NewLocalStep(const Algorithm& algorithm);
std::unique_ptr<CohortStep> NewLocalRlsStep(const Algorithm& algorithm);
/// The last label on top of any of them. A client's state has theirs after the mixture's.
std::unique_ptr<CohortStep> NewTrackingStep(const Algorithm& algorithm,
                                            std::unique_ptr<CohortStep> tracked);

}  // namespace polykern::scalar
