#pragma once

#include <cstddef>
#include <memory>

#include "polykern/gpu/device.h"

namespace polykern::gpu {

/// The n-th GPU, counted round. Throws Error if there is none.
std::unique_ptr<const Device> NewCudaDevice(std::size_t number);

}  // namespace polykern::gpu
