#pragma once

#include <functional>
#include <memory>
#include <string>

#include "polykern/gpu/device.h"

namespace polykern::gpu {

/// The kernels' source for a shape, as the compiler gets it: the shape's numbers as constants, then
/// kernels/.
std::string SourceFor(const KernelShape& shape);

/// What makes machine code.
struct KernelCompiler {
  std::string name;  ///< of another version, or with other options, it has another
  /// Code of a source for an architecture ("sm_90"). Throws Error if it cannot.
  std::function<std::string(const std::string& source, const std::string& architecture)> compile;
};

/// Code as a device runs it; null if the device does not take it.
using KernelLoader = std::function<std::shared_ptr<const Program>(const std::string& code)>;

/// A source for an architecture, from code that was kept in the user's cache folder
/// (polykern/kernels in XDG_CACHE_HOME or ~/.cache), or newly compiled, and then kept. Code
/// that cannot be kept is used all the same; code that was damaged, or that the device does not
/// take, is compiled again. Threads and processes may call it at the same time. Throws Error if the
/// device does not take new code either.
std::shared_ptr<const Program> LoadKernels(const std::string& source,
                                           const std::string& architecture,
                                           const KernelCompiler& compiler,
                                           const KernelLoader& load);

}  // namespace polykern::gpu
