#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace polykern {

/// How inputs and labels are brought to a common size.
enum class Scaling {
  kNone,   ///< as they are
  kNorm,   ///< the paper's: x / (largest ||x||_2 of all rows); y to [0, 1]
  kRange,  ///< every input column to [-1, 1] by its range; y to [0, 1]
};

/// A closed interval.
struct Range {
  double low = 0;
  double high = 1;
};

/// A range the user knows beforehand, of an input column or of the target.
struct DeclaredRange {
  std::string column = {};
  Range range = {};
};

struct ScalingOptions {
  Scaling kind = Scaling::kNorm;
  /// Columns not named here are scanned. With kNorm only the target may be named.
  std::vector<DeclaredRange> ranges = {};
  /// kNorm: taken from every input after the norm is measured, so that the most frequent value of
  /// sparse rows (UJI: 100, "not detected") becomes 0. A shift only turns random features.
  double background = 0;
};

/// The parameters of a scaling, enough to scale a new sample and to map a prediction back.
/// A plain value; any number of threads may use it.
struct Scale {
  Scaling kind = Scaling::kNone;
  double norm = 1;              ///< kNorm: the largest ||x||_2
  double background = 0;        ///< kNorm: taken off before the division
  std::vector<Range> features;  ///< kRange: one for each input
  Range target;                 ///< becomes [0, 1]
  /// Whether labels are scaled by it; unset: unless the inputs are not.
  std::optional<bool> scales_labels = {};

  /// Scales one row; a constant column becomes 0. Returns how many values were outside their
  /// range and were clipped. NaN, a value that is missing, stays.
  std::size_t ScaleInputs(std::span<const double> raw, std::span<float> scaled) const;
  bool ScalesLabels() const { return scales_labels.value_or(kind != Scaling::kNone); }
  /// Scales a label; outside the range it is clipped to 0 or 1.
  double ScaleLabel(double raw) const;
  /// Is the label outside the range?
  bool ClipsLabel(double raw) const;
  /// From a scaled label, or a prediction of one, back to the user's unit. Never clips.
  double UnscaleLabel(double scaled) const;
  /// The same for users of a prediction: no label is outside the range, so it is clipped.
  double ToldLabel(double scaled) const;
};

/// Finds the parameters: takes every row once, then gives the Scale. Use it from one thread.
class ScaleFitter {
 public:
  /// Throws Error for a declared range that is empty, not finite, or of an unknown column.
  ScaleFitter(const ScalingOptions& options, std::span<const std::string> feature_names,
              const std::string& target_name);

  /// NaN among the inputs is a value that is missing.
  void Add(std::span<const double> x, double y);

  /// Throws Error for a constant target (and no declared range), and for inputs that are all zero
  /// or too large.
  Scale Fit() const;

 private:
  Scale scale_;
  std::vector<std::string> feature_names_;
  std::string target_name_;
  std::vector<bool> declared_;  ///< for each input
  bool target_declared_ = false;
  double square_ = 0;  ///< the largest squared norm
};

}  // namespace polykern
