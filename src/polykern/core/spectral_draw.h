#pragma once

#include <span>

#include "polykern/core/kernels.h"
#include "polykern/core/random.h"

namespace polykern {

/// Draws one frequency rho from the kernel's spectral density into `rho`.
void DrawFrequency(const Kernel& kernel, Random& random, std::span<double> rho);

}  // namespace polykern
