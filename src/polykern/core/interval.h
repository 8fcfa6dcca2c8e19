#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "polykern/core/expected_error.h"
#include "polykern/core/metrics.h"

namespace polykern {

/// Where a client's next label is likely to be, so that a given part of all labels is there:
/// adaptive conformal inference (Gibbs and Candes 2021), with four numbers of state and those of
/// ExpectedError instead of all past errors. Nothing leaves the client.
///
/// The middle is the prediction and what the client's latest errors say is missing
/// (core/expected_error.h), the radius s e^m; an interval that does not reach the prediction is
/// widened to it. s, the mean of recent distances of labels from the middle, follows their size,
/// which falls as the model learns and rises when the world changes. It is of the last half of them
/// first, so that it keeps its proportion to errors that fall like a power of time, and of some
/// seventy later. m is what the method tracks: up by g c after a miss, down by g (1 - c) otherwise,
/// c being the wished coverage. So over T labels with the same g coverage is off by (m at the start
/// - m at the end) / (g T), whatever the labels are and whatever is expected. g falls from 0.1 to
/// 0.05 within 28 labels: m is found fast, and then moves little, since an interval that moves
/// without need is wider for the same coverage.
///
/// A plain value; one thread at a time.
class IntervalTracker {
 public:
  /// `inputs`: how many a sample has. Throws Error unless 0 < coverage < 1.
  IntervalTracker(double coverage, std::size_t inputs);

  /// For a prediction and what it was made of. None before the first label: nothing is known.
  std::optional<Interval> Around(double prediction, std::span<const float> x) const;

  /// The label of such a prediction has come. `told` is what Around gave for it, perhaps a while
  /// ago; none: no interval was given.
  void Take(double label, double prediction, std::span<const float> x,
            const std::optional<Interval>& told);

  /// All of it as numbers, and back with every bit. Load throws Error for numbers of no tracker of
  /// so many inputs. Four numbers are what trackers had that expected nothing: it learns that.
  std::vector<double> Save() const;
  static IntervalTracker Load(std::span<const double> saved, std::size_t inputs);
  std::size_t StateSize() const { return kOwn + expected_.StateSize(); }

  double coverage() const { return coverage_; }

 private:
  static constexpr std::size_t kOwn = 4;  // numbers that are not expected_'s

  double coverage_;
  double scale_ = 0;   // s
  double factor_ = 0;  // m
  double taken_ = 0;
  ExpectedError expected_;
};

/// Throws Error, naming the option, unless 0 < coverage < 1.
void CheckCoverage(double coverage);

}  // namespace polykern
