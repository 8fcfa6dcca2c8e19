#pragma once

#include <cstddef>

#include "polykern/algorithms/messages.h"

namespace polykern {

/// How many weights of the server's own go with a model of this shape (Broadcast::weights).
inline std::size_t WeightsOf(const ModelShape& shape) {
  return shape.loss_per_block ? shape.blocks : shape.losses_per_update;
}

}  // namespace polykern
