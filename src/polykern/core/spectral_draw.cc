#include "polykern/core/spectral_draw.h"

#include <cmath>

namespace polykern {
namespace {

void DrawNormal(Random& random, double scale, std::span<double> rho) {
  for (double& value : rho) value = scale * random.Normal();
}

/// Matern of order nu is a Gaussian whose precision is a chi-square with 2 nu degrees.
void DrawMatern(Random& random, int twice_nu, double length, std::span<double> rho) {
  double chi_square = 0;
  for (int i = 0; i < twice_nu; ++i) {
    const double h = random.Normal();
    chi_square += h * h;
  }
  DrawNormal(random, std::sqrt(twice_nu / chi_square) / length, rho);
}

}  // namespace

void DrawFrequency(const Kernel& kernel, Random& random, std::span<double> rho) {
  switch (kernel.kind) {
    case KernelKind::kGaussian:
      return DrawNormal(random, 1 / kernel.length, rho);
    case KernelKind::kLaplacian:  // Cauchy law: the ratio of two normals
      for (double& value : rho) {
        const double numerator = random.Normal();
        value = numerator / random.Normal() / kernel.length;
      }
      return;
    case KernelKind::kMatern12:
      return DrawMatern(random, 1, kernel.length, rho);
    case KernelKind::kMatern32:
      return DrawMatern(random, 3, kernel.length, rho);
    case KernelKind::kMatern52:
      return DrawMatern(random, 5, kernel.length, rho);
    case KernelKind::kCauchy:  // Laplace law: an exponential with a random sign
      for (double& value : rho) {
        const double size = random.Exponential() / kernel.length;
        value = random.Uniform() < 0.5 ? -size : size;
      }
      return;
    case KernelKind::kRationalQuadratic:
      return DrawNormal(random,
                        std::sqrt(random.Gamma(kernel.shape) / kernel.shape) / kernel.length, rho);
  }
}

}  // namespace polykern
