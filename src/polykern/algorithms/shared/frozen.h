#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "polykern/algorithms/algorithm.h"

namespace polykern {

/// A number times `factor` plus `shift`, not outside `low` .. `high`.
struct Rescaling {
  double factor = 1;
  double shift = 0;
  double low = 0;
  double high = 0;

  double operator()(double value) const;
};

/// A model that is learnt no more, in the scale that its own samples had.
struct FrozenModel {
  /// An input of its own: which of a sample's it is, and how it is made of that.
  struct Input {
    std::size_t place = 0;
    Rescaling scale = {};
  };

  std::unique_ptr<const Algorithm> algorithm = {};
  Broadcast broadcast = {};
  std::vector<double> start = {};  ///< the state in which its clients begin
  std::vector<Input> inputs = {};
  Rescaling to_label = {};    ///< from its predictions to those that are wanted
  Rescaling from_label = {};  ///< from labels to its own
};

/// The algorithm on clients that also have a frozen model, and mix its predictions with theirs:
/// whichever was better lately has more weight, and the frozen model all of it at the start. Its
/// theta stays; what a client keeps of it for itself is learnt on, as if its server were away. The
/// server's half, what is sent and the experts are the algorithm's own. A client's state is the
/// mixture, the algorithm's state and the frozen model's. Predictions must be in the labels' scale:
/// not for logistic loss.
std::unique_ptr<Algorithm> NewWithFrozen(std::unique_ptr<const Algorithm> learnt,
                                         FrozenModel frozen);

}  // namespace polykern
