#pragma once

#include <memory>

#include "polykern/gpu/device.h"

namespace polykern::gpu {

/// The kernels' source as C++, thread after thread: what a GPU computes, where there is none. For
/// tests: slow, and for at most 64 inputs and kernels.
std::unique_ptr<const Device> NewEmulatedDevice();

}  // namespace polykern::gpu
