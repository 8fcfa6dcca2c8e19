#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "polykern/sim/fleet.h"

namespace polykern {

/// The n-th NVIDIA GPU of this machine, counted round: with two, 2 is the first one again. The
/// driver and NVRTC are found at run time. Throws Error, in one line, if there is no driver, no
/// GPU, or no NVRTC.
std::unique_ptr<FleetDevice> OpenGpu(std::size_t number = 0);

/// What a device is called by a user: "cpu" gives none, "gpu" OpenGpu(number). Throws Error for
/// another name.
std::unique_ptr<FleetDevice> OpenDevice(std::string_view name, std::size_t number = 0);

}  // namespace polykern
