#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace polykern {

/// What a client's latest errors say about its next one. A model that lags behind a changing world
/// is wrong in the same direction for like samples:
///   label - prediction = s a (b + w . z),   z = (p, x, 2 p x),
/// where p and x are prediction and inputs, clipped to [-1, 1], less their recent means. s is the
/// mean size of recent errors and b the mean of recent errors, in units of s; so nothing depends on
/// the unit of labels, and what is expected shrinks as errors do. w follows each error by a step of
/// normalised least mean squares, which needs no matrix. a, in [0, 1], is how far what was expected
/// came true: trust has to be earned, and where nothing can be known a stays near 0.
///
/// A plain value; one thread at a time. The constants were chosen on streams that no test judges:
/// docs/use/predictions.md.
class ExpectedError {
 public:
  static constexpr double kStep = 0.15;        ///< of w
  static constexpr double kPace = 0.03;        ///< of means: some 30 samples
  static constexpr double kForgetting = 0.98;  ///< of a: some 50 errors
  static constexpr double kDoubt = 10;         ///< a starts as if so much had been expected in vain
  static constexpr double kLargest = 3;  ///< in units of s: errors and what is expected of them

  /// `inputs`: how many x has.
  explicit ExpectedError(std::size_t inputs);

  /// Label less prediction, as far as it can be known; 0 at first.
  double Of(double prediction, std::span<const float> x) const;
  /// The label of such a sample has come: it was so much more than the prediction.
  void Take(double error, double prediction, std::span<const float> x);

  /// All of it: eight numbers, and three for each input.
  std::span<const double> Save() const { return state_; }
  std::size_t StateSize() const { return state_.size(); }
  /// StateSize numbers of Save.
  void Load(std::span<const double> saved);

 private:
  double Prediction(double prediction) const;
  double Input(std::span<const float> x, std::size_t i) const;
  /// b + w . z
  double Regress(double prediction, std::span<const float> x) const;
  void Move(double error, double prediction, std::span<const float> x);

  std::size_t inputs_;
  std::vector<double> state_;  // see expected_error.cc
};

/// The rate of a mean of the last half of all numbers first, and of some seventy later: this is the
/// `taken`th of them, from 1.
double RecentRate(double taken);

}  // namespace polykern
