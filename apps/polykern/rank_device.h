#pragma once

#include <memory>
#include <string>

#include "polykern/sim/fleet.h"
#include "polykern/sim/ranks/communicator.h"

namespace polykern {

/// OpenDevice for this rank: of a machine's GPUs each rank there gets the next one. Says in a line
/// if several ranks have the same one. All ranks call it.
std::unique_ptr<FleetDevice> OpenRankDevice(const std::string& name, Communicator& ranks);

}  // namespace polykern
