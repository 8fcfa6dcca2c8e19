#include "polykern/core/kernels.h"

#include <array>
#include <cassert>
#include <cmath>
#include <iomanip>
#include <sstream>
#include <string>

#include "polykern/core/error.h"
#include "polykern/core/text.h"

namespace polykern {
namespace {

constexpr std::array<std::string_view, 8> kNames = {"gaussian",           "laplacian", "matern12",
                                                    "matern32",           "matern52",  "cauchy",
                                                    "rational-quadratic", "mixed"};
constexpr std::size_t kMixed = 7;  // the others stand in the order of KernelKind

double Norm(std::span<const double> v) {
  double sum = 0;
  for (const double value : v) sum += value * value;
  return std::sqrt(sum);
}

}  // namespace

double KernelValue(const Kernel& kernel, std::span<const double> difference) {
  const double r = Norm(difference) / kernel.length;
  double value = 1;
  switch (kernel.kind) {
    case KernelKind::kGaussian:
      return std::exp(-r * r / 2);
    case KernelKind::kLaplacian:
      for (const double d : difference) value *= std::exp(-std::abs(d) / kernel.length);
      return value;
    case KernelKind::kMatern12:
      return std::exp(-r);
    case KernelKind::kMatern32:
      return (1 + std::sqrt(3.0) * r) * std::exp(-std::sqrt(3.0) * r);
    case KernelKind::kMatern52:
      return (1 + std::sqrt(5.0) * r + 5 * r * r / 3) * std::exp(-std::sqrt(5.0) * r);
    case KernelKind::kCauchy:
      for (const double d : difference) value /= 1 + d * d / (kernel.length * kernel.length);
      return value;
    case KernelKind::kRationalQuadratic:
      return std::pow(1 + r * r / (2 * kernel.shape), -kernel.shape);
  }
  assert(false);
  return 0;
}

bool IsIsotropic(KernelKind kind) {
  return kind != KernelKind::kLaplacian && kind != KernelKind::kCauchy;
}

std::vector<Kernel> MakeDictionary(std::string_view name, std::size_t count) {
  if (count == 0) throw Error("a dictionary needs at least one kernel");
  for (std::size_t which = 0; which < kNames.size(); ++which) {
    if (kNames[which] != name) continue;
    std::vector<Kernel> kernels(count);
    for (std::size_t i = 0; i < count; ++i) {
      const double place =
          count == 1 ? 0.5 : static_cast<double>(i) / static_cast<double>(count - 1);
      // Through float, so that a last bit of std::pow cannot differ between machines.
      kernels[i].length =
          std::sqrt(static_cast<double>(static_cast<float>(std::pow(10, 4 * place - 2))));
      if (which != kMixed) kernels[i].kind = static_cast<KernelKind>(which);
      if (which == kMixed && i % 2 == 1) kernels[i].kind = KernelKind::kMatern32;
    }
    return kernels;
  }
  throw Error("unknown dictionary '" + std::string(name) + "'; there are: " + Joined(kNames));
}

std::string KernelText(const Kernel& kernel) {
  std::ostringstream text;
  text << kNames[static_cast<std::size_t>(kernel.kind)] << ' ' << std::setprecision(3)
       << kernel.length * kernel.length;
  return text.str();
}

std::span<const std::string_view> DictionaryNames() {
  return kNames;
}

}  // namespace polykern
