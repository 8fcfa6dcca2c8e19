#pragma once

#include <cstddef>
#include <memory>

#include "polykern/algorithms/algorithm.h"

namespace polykern {

/// What a client adds that knows its last label y', the inputs x' it belonged to, and what was
/// predicted for them, p'. Beside the prediction p of its algorithm it has two experts, and a
/// mixture of the three: y' itself, and
///   p + theta . z,  z = (y' - p', y' - p, p - 1/2, 1, x - x', x),
/// a regression that carries over how wrong it was, and knows how labels move with the inputs.
/// Until there is a label, and for the regression a few, they say p. x and x - x' are clipped to
/// [-1, 1], and left out where there are more than kMostInputs of them.
struct TrackingRule {
  explicit TrackingRule(std::size_t dimension) : inputs(dimension <= kMostInputs ? dimension : 0) {}

  static constexpr std::size_t kExperts = 3;
  static constexpr std::size_t kMostInputs = 32;
  static constexpr double kRidge = 0.01;        ///< of labels in [0, 1]
  static constexpr double kForgetting = 0.999;  ///< of its own regression

  std::size_t inputs;  ///< that it uses

  std::size_t width() const { return 4 + 2 * inputs; }  ///< of z
  /// Labels before the regression speaks.
  double listening() const { return 2 * static_cast<double>(width()); }
  /// Numbers that it knows: labels so far, y', p', x'.
  std::size_t known() const { return 3 + inputs; }
};

/// The algorithm, which must have squared loss and labels in [0, 1], on clients that know their
/// last label. The server's half, what is sent and the experts are the algorithm's own. A client's
/// state is the mixture above, the algorithm's state, what it knows, and the regression.
std::unique_ptr<Algorithm> NewTracking(std::unique_ptr<const Algorithm> tracked);

}  // namespace polykern
