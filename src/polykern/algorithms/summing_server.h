#pragma once

#include <memory>

#include "polykern/algorithms/algorithm.h"

namespace polykern {

/// The server of first-order algorithms: model -= (1/K) sum of the steps sent  (13), where K is the
/// number of clients that took part, also those that did not send a given block. The model is kept
/// in double, so that small steps are not lost on long streams, and sent as float. It starts at 0.
std::unique_ptr<Server> NewSummingServer(const ModelShape& shape);

}  // namespace polykern
