#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "polykern/core/random.h"

namespace polykern {

/// Shift-invariant kernels k(x - x') with k(0) = 1.
enum class KernelKind {
  kGaussian,           ///< exp(-r^2 / (2 l^2))
  kLaplacian,          ///< product of exp(-|d_j| / l)
  kMatern12,           ///< exp(-r / l)
  kMatern32,           ///< (1 + sqrt(3) r / l) exp(-sqrt(3) r / l)
  kMatern52,           ///< (1 + sqrt(5) r / l + 5 r^2 / (3 l^2)) exp(-sqrt(5) r / l)
  kCauchy,             ///< product of 1 / (1 + d_j^2 / l^2)
  kRationalQuadratic,  ///< (1 + r^2 / (2 a l^2))^-a
};

struct Kernel {
  KernelKind kind = KernelKind::kGaussian;
  double length = 1;  ///< l > 0. The paper's bandwidth sigma is l squared.
  double shape = 1;   ///< a > 0, rational quadratic only
};

/// k(difference): the exact kernel, in double. For tests and reports, not for speed.
double KernelValue(const Kernel& kernel, std::span<const double> difference);

/// Draws one frequency rho from the kernel's spectral density into `rho`.
void DrawFrequency(const Kernel& kernel, Random& random, std::span<double> rho);

/// True if the spectral density depends on ||rho|| alone; only then can features be orthogonal.
bool IsIsotropic(KernelKind kind);

/// The paper's dictionary has `count` = 51 Gaussians, sigma_i = 10^((2i-52)/25), i = 1..51: squared
/// length-scales evenly spaced in the exponent from 0.01 to 100, for any count (1: sigma = 1).
/// Names: gaussian, laplacian, matern12, matern32, matern52, cauchy, rational-quadratic, and mixed
/// (Gaussian and Matern 3/2 in turn). Throws Error for an unknown name or count 0.
std::vector<Kernel> MakeDictionary(std::string_view name, std::size_t count);

/// "gaussian 0.01": the kind, as MakeDictionary names it, and the squared length l^2 to three
/// digits.
std::string KernelText(const Kernel& kernel);

/// All names MakeDictionary knows.
std::span<const std::string_view> DictionaryNames();

}  // namespace polykern
