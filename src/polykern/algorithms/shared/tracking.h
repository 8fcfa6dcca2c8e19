#pragma once

#include <cstddef>
#include <memory>

#include "polykern/algorithms/algorithm.h"

namespace polykern {

/// What a client adds that knows its last label, y', and what was predicted for it, p'. Beside the
/// prediction p of its algorithm it has two experts, and a mixture of the three: y' itself, and
///   p + theta . z,  z = (y' - p', y' - p, p - 1/2, 1),
/// a regression that carries over how wrong it was, in part. Until there is a label, and for the
/// regression a few, they say p.
struct TrackingRule {
  static constexpr std::size_t kExperts = 3;
  static constexpr std::size_t kWidth = 4;          ///< of z
  static constexpr double kRidge = 0.01;            ///< of labels in [0, 1]
  static constexpr double kForgetting = 0.999;      ///< of its own regression
  static constexpr double kListening = 2 * kWidth;  ///< labels, before it speaks
  static constexpr std::size_t kKnown = 3;          ///< numbers: labels so far, y', p'
};

/// The algorithm, which must have squared loss and labels in [0, 1], on clients that know their
/// last label. The server's half, what is sent and the experts are the algorithm's own. A client's
/// state is the mixture above, the algorithm's state, what it knows, and the regression.
std::unique_ptr<Algorithm> NewTracking(std::unique_ptr<const Algorithm> tracked);

}  // namespace polykern
