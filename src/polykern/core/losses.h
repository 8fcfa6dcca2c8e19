#pragma once

#include <span>

#include "polykern/core/names.h"

namespace polykern {

/// What a prediction f costs when the label is y. All are convex in f; the value and the slope in
/// f are all that an algorithm needs.
enum class LossKind {
  kSquared,   ///< (f - y)^2
  kHuber,     ///< (f - y)^2 up to |f - y| = delta, then the tangent: 2 delta |f - y| - delta^2
  kLogistic,  ///< ln(1 + e^f) - y f, for labels 0 and 1; f is the log-odds
};

struct Loss {
  LossKind kind = LossKind::kSquared;
  double delta = 0.1;  ///< Huber only, > 0; labels are scaled to [0, 1]

  double Value(double f, double y) const;
  /// Value of every f for one label.
  void Values(std::span<const float> f, double y, std::span<double> values) const;
  /// d Value / d f.
  double Slope(double f, double y) const;
  /// Slope of every f for one label.
  void Slopes(std::span<const float> f, double y, std::span<double> slopes) const;
  /// What a user calls the prediction: f itself, or the probability of label 1 (logistic).
  double Predicted(double f) const;
};

std::span<const Name<LossKind>> NamesOf(LossKind);

}  // namespace polykern
