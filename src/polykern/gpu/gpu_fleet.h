#pragma once

#include <memory>

#include "polykern/gpu/device.h"
#include "polykern/sim/fleet.h"

namespace polykern::gpu {

/// Runs kernels/floors.cu, whose threads take so many rounds.
DeviceFloors MeasureFloors(const Device& device, U64 rounds = 4096);

/// Fleets on a device, which must outlive it.
std::unique_ptr<FleetDevice> NewFleetDevice(std::unique_ptr<const Device> device);

}  // namespace polykern::gpu
