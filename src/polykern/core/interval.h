#pragma once

#include <array>
#include <optional>
#include <span>

namespace polykern {

/// How far a client's next label may lie from its prediction, so that a given part of all labels is
/// within it: adaptive conformal inference (Gibbs and Candes 2021), with three numbers of state
/// instead of all past errors. Nothing leaves the client.
///
/// The radius is s e^m. s, the mean of recent errors, follows their size, which falls as the model
/// learns and rises when the world changes. It is of the last half of all errors first, so that it
/// keeps its proportion to errors that fall like a power of time, and of some seventy later. m is
/// what the method tracks: up by g c after a miss, down by g (1 - c) otherwise, c being the wished
/// coverage. So over T labels with the same g coverage is off by (m at the start - m at the end) /
/// (g T), whatever the labels are. g falls from 0.1 to 0.05 within 28 labels: m is found fast, and
/// then moves little, since an interval that moves without need is wider for the same coverage.
///
/// A plain value; one thread at a time.
class IntervalTracker {
 public:
  /// Throws Error unless 0 < coverage < 1.
  explicit IntervalTracker(double coverage);

  /// None before the first error: nothing is known.
  std::optional<double> radius() const;

  /// The error of the prediction that radius() was for, of either sign.
  void Take(double error) { Take(error, radius()); }
  /// The same where the label came late: `told` is the radius that was for that prediction.
  void Take(double error, std::optional<double> told);

  /// All of it as numbers, and back with every bit. Load throws Error for numbers of no tracker.
  std::array<double, 4> Save() const { return {coverage_, scale_, factor_, taken_}; }
  static IntervalTracker Load(std::span<const double> saved);

  double coverage() const { return coverage_; }

 private:
  double coverage_;
  double scale_ = 0;   // s
  double factor_ = 0;  // m
  double taken_ = 0;
};

/// Throws Error, naming the option, unless 0 < coverage < 1.
void CheckCoverage(double coverage);

}  // namespace polykern
