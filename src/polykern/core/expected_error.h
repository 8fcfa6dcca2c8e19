#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "polykern/core/recursive_least_squares.h"

namespace polykern {

/// What a client's latest errors say about its next one. A model that lags behind a changing world
/// is wrong in the same direction for like samples, and a small regression that forgets fast sees
/// it first:
///   label - prediction = s a (theta . z),   z = (1, prediction, x, x^2).
/// s, the mean size of recent errors, is their unit: so nothing depends on that of labels, and what
/// is expected shrinks as errors do. a, in [0, 1], is how far what was expected came true; where
/// the regression knows nothing a is near 0. Squares are left out where there are more than
/// kMostSquares inputs, and inputs where there are more than kMostInputs; what is in z is clipped
/// to [-1, 1].
///
/// A plain value; one thread at a time.
class ExpectedError {
 public:
  static constexpr std::size_t kMostSquares = 16;
  static constexpr std::size_t kMostInputs = 32;
  static constexpr double kForgetting = 0.98;  ///< some 50 labels
  static constexpr double kRidge = 0.01;
  static constexpr double kLargest = 3;  ///< in units of s: errors and what is expected of them

  /// `inputs`: how many x has.
  explicit ExpectedError(std::size_t inputs);

  /// Label less prediction, as far as it can be known; 0 at first.
  double Of(double prediction, std::span<const float> x) const;
  /// The label of such a sample has come: it was so much more than the prediction.
  void Take(double error, double prediction, std::span<const float> x);

  std::span<const double> Save() const { return state_; }
  std::size_t StateSize() const { return state_.size(); }
  /// StateSize numbers of Save.
  void Load(std::span<const double> saved);
  /// Nothing is known but the mean size of recent errors, and how many there were.
  void Load(double size, double taken);

 private:
  static constexpr std::size_t kOwn = 4;  // numbers before the regression's: see below

  static constexpr std::size_t kMostWidth = 2 + kMostInputs;  // of z
  static_assert(2 * kMostSquares <= kMostInputs);

  using Features = std::array<float, kMostWidth>;  // z, and 0
  Features FeaturesOf(double prediction, std::span<const float> x) const;
  /// theta . z
  double Regress(const Features& z) const;
  /// a
  double Trust() const;

  std::size_t inputs_;
  std::size_t squares_;
  RecursiveLeastSquares regression_;
  /// Errors taken; s; sums of (error u) and u^2, u being what the regression said, which forget
  /// likewise; and the regression's own.
  std::vector<double> state_;
};

/// The rate of a mean of the last half of all numbers first, and of some seventy later: this is the
/// `taken`th of them, from 1.
double RecentRate(double taken);

}  // namespace polykern
