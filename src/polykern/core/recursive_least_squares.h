#pragma once

#include <cstddef>
#include <span>

namespace polykern {

/// Ridge regression of samples (z, y) that come one by one, with a solution after each: the form
/// for small F. What it learns lives in the caller's numbers, which start at 0: how many samples
/// were seen, theta, and P = (ridge I + sum z z')^-1. Immutable: threads may share it.
///
/// Forgetting would let the ridge fade as well, and P grow for ever along whatever no sample tells
/// about. So each sample gives the ridge back to as many axes as it takes, in turn from the first
/// on: while an axis waits for its turn, its ridge falls by half at most, and it stays below twice
/// the ridge.
class RecursiveLeastSquares {
 public:
  /// forgetting in (0, 1]: what a sample's weight is multiplied by with every later sample.
  RecursiveLeastSquares(std::size_t width, double ridge, double forgetting);

  std::size_t width() const { return width_; }
  std::size_t StateSize() const { return 1 + width_ + width_ * width_; }
  double Samples(std::span<const double> state) const { return state[0]; }
  std::span<const double> Theta(std::span<const double> state) const {
    return state.subspan(1, width_);
  }

  /// As if every label had been `factor` times as large.
  void ScaleLabels(double factor, std::span<double> state) const {
    for (double& value : state.subspan(1, width_)) value *= factor;
  }

  /// One sample: its z, its label, and theta . z before it. `scratch` has at least 2 F numbers.
  void Learn(std::span<const float> z, double y, double predicted, std::span<double> state,
             std::span<double> scratch) const;

 private:
  std::size_t width_;
  double ridge_;
  double forgetting_;
  std::size_t axes_ = 0;  // that get their ridge back with every sample
  double returned_ = 0;   // what each of them gets
};

}  // namespace polykern
