#pragma once

#include <cstdint>

#include "polykern/net/store/store.h"

namespace polykern {

/// Begins a new epoch of a masked federation, whose server must be stopped: keys and the numbers of
/// releases start again, the model is kept. What was sent and is not in the model is lost,
/// and clients send nothing again that they have sent. It is what remains if a helper's log was
/// lost or put back, or of pairwise masks a client's state. Gives its number. Throws Error, and
/// changes nothing, if nothing is masked or the store cannot be used.
std::uint64_t BeginEpoch(Store& store);

}  // namespace polykern
