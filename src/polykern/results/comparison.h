#pragma once

#include <cstddef>
#include <string>

#include "polykern/core/metrics.h"

namespace polykern {

/// A published figure beside ours: an entry of "reproduction" in result.json. A plain value.
struct Comparison {
  std::string table = {};
  std::string title = {};        ///< of the table's row
  std::size_t kernels = 0;       ///< sent per step; 0: none
  std::size_t features = 0;      ///< D; 0: the algorithm has no kernels
  bool private_weights = false;  ///< clients have weights that can be carried
  std::string data = {};         ///< the recipe's name
  bool carried = false;
  bool diverged = false;      ///< ours is of what was finished before
  Spread published = {};      ///< MSE x 1e-3 or regret
  Spread measured = {};       ///< over the feature draws or, regret, over the clients
  double deviation = 0;       ///< (ours - published) / published
  bool reproduced = false;    ///< ours agrees with it; a regret together with its error
  std::string note = {};      ///< if not, why
  double published_cost = 0;  ///< Table 1: seconds of a client; Table 4: T x MSE
  double cost = 0;            ///< ours
};

}  // namespace polykern
