#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "polykern/core/kernels.h"

namespace polykern {

// For the tests of kernels: all of them, and points at which they are compared.

inline constexpr std::size_t kDimension = 4;
using Point = std::array<double, kDimension>;

inline const std::vector<Kernel>& EveryKernel() {
  static const std::vector<Kernel> kernels = {
      {KernelKind::kGaussian, 0.7},          {KernelKind::kLaplacian, 1.4},
      {KernelKind::kMatern12, 1.3},          {KernelKind::kMatern32, 0.8},
      {KernelKind::kMatern52, 1.1},          {KernelKind::kCauchy, 0.9},
      {KernelKind::kRationalQuadratic, 0.6}, {KernelKind::kRationalQuadratic, 0.9, 0.4},
      {KernelKind::kRationalQuadratic, 1, 3}};
  return kernels;
}

inline std::string NameOf(const Kernel& kernel, Draw draw) {
  std::string name(DictionaryNames()[static_cast<std::size_t>(kernel.kind)]);
  if (kernel.kind == KernelKind::kRationalQuadratic) name += std::to_string(kernel.shape);
  return name + (draw == Draw::kOrthogonal ? " orthogonal"
                 : draw == Draw::kShared   ? " shared"
                                           : " independent");
}

}  // namespace polykern
