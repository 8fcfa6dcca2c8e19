#pragma once

#include <vector>

#include "polykern/gpu/device.h"

namespace polykern::gpu {

/// 2^(i / 128) for i below 128, to 106 bits, as LibraryExp reads them (kernels/arithmetic.cu): the
/// powers that the C library's exp has in its table, computed.
std::vector<ExpEntry> ExpTable();

}  // namespace polykern::gpu
