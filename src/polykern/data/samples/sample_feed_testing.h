#pragma once

#include "polykern/data/scaling.h"

namespace polykern {

// For the tests of sample feeds.

/// Inputs from [0, 4] and [-1, 1] to [-1, 1], labels from [10, 30] to [0, 1].
inline Scale SomeScale() {
  Scale scale;
  scale.kind = Scaling::kRange;
  scale.features = {{0, 4}, {-1, 1}};
  scale.target = {10, 30};
  return scale;
}

}  // namespace polykern
