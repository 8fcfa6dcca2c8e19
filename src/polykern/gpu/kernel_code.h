#pragma once

#include <functional>
#include <string>

#include "polykern/gpu/device.h"

namespace polykern::gpu {

/// The kernels' source for a shape, as the compiler gets it: the shape's numbers as constants, then
/// kernels/.
std::string SourceFor(const KernelShape& shape);

using KernelCompiler =
    std::function<std::string(const std::string& source, const std::string& architecture)>;

/// Machine code of a source for an architecture: as it was kept in the user's cache folder
/// (polykern/kernels in XDG_CACHE_HOME or ~/.cache), or newly compiled, and then kept. That it
/// cannot be kept is nobody's mistake. Code that was damaged is compiled anew. Threads and
/// processes may call it at the same time.
std::string KernelCode(const std::string& source, const std::string& architecture,
                       const KernelCompiler& compile);

}  // namespace polykern::gpu
