#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "polykern/algorithms/shared/cohort_features.h"
#include "polykern/core/kernels.h"
#include "polykern/core/recursive_least_squares.h"

namespace polykern {

/// What a private expert does.
struct LocalRule {
  double ridge = 1e-4;
  /// It corrects nothing until it has seen this many samples for each of its parameters. What it
  /// would say before is mostly noise, and a mixture that has no losses yet to tell experts apart
  /// believes it: on Naval and Air that alone costs pof-newton 10 to 20 % of the error.
  double listening = 0;
  /// It fits the label itself, counted from the middle of [0, 1], not what the base leaves over.
  bool alone = false;
};

/// Private experts of a client: for each kernel of a bank a ridge regression of what a base
/// prediction leaves over, or of the label itself, recursively, in the client's own state. An
/// expert's prediction is the base plus its correction, clipped to [0, 1]. Immutable: threads may
/// share it.
class LocalExperts {
 public:
  /// Expert i has rule i, modulo their number. With kAutoForgetting experts differ in what they
  /// forget (ForgettingOf).
  LocalExperts(const KernelBank& bank, std::vector<LocalRule> rules, double forgetting);

  /// Of expert i, where `rules` in a row have the same kernel: the number given, or with
  /// kAutoForgetting one of kFactors, in turn, so that neighbours in bandwidth differ in it.
  static double ForgettingOf(double forgetting, std::size_t i, std::size_t rules);
  static constexpr double kFactors[] = {1, 0.999, 0.99, 0.97};

  /// The most features per kernel such that `kernels` experts take at most `bytes` of a client's
  /// memory, at most `most`; 0 if not even one fits.
  static std::size_t FittingFeatures(std::size_t kernels, std::size_t bytes, std::size_t most);

  std::size_t experts() const { return experts_; }
  /// Numbers of a client's state, which start at 0.
  std::size_t StateSize() const { return experts() * size_; }

  /// As if every label had been `factor` times as far from a constant base.
  void ScaleLabels(double factor, std::span<double> state) const;

  /// One client's predictions. `state` is its StateSize() numbers; the features are of the bank and
  /// the client's cohort.
  void Predict(std::size_t client, double base, std::span<const double> state,
               const CohortFeatures& features, std::span<float> predictions) const;
  /// The label arrives, after Predict with the same base. `scratch` grows to what is needed.
  /// Without `based` the base knew nothing yet: only experts that stay alone learn.
  void Learn(std::size_t client, double base, double label, const CohortFeatures& features,
             std::span<double> state, std::vector<double>& scratch, bool based = true) const;

 private:
  static double BaseOf(const LocalRule& rule, double base) { return rule.alone ? 0.5 : base; }
  const LocalRule& RuleOf(std::size_t i) const { return rules_[i % rules_.size()]; }
  const RecursiveLeastSquares& SquaresOf(std::size_t i) const { return squares_[i]; }

  std::size_t experts_;
  std::vector<LocalRule> rules_;
  std::vector<RecursiveLeastSquares> squares_;  // one for each expert
  std::size_t size_;                            // of an expert's state
};

}  // namespace polykern
