#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "polykern/core/error.h"
#include "polykern/core/kernels.h"
#include "polykern/core/random.h"
#include "polykern/core/spectral_draw.h"

namespace polykern {
namespace {

double Dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// Replaces v by a unit vector orthogonal to `basis` (rows of v.size()).
void Orthonormalize(std::span<const double> basis, std::span<double> v) {
  for (int pass = 0; pass < 2; ++pass) {  // twice is enough for full precision
    for (std::size_t row = 0; row < basis.size() / v.size(); ++row) {
      const auto direction = basis.subspan(row * v.size(), v.size());
      const double along = Dot(direction, v);
      for (std::size_t j = 0; j < v.size(); ++j) v[j] -= along * direction[j];
    }
  }
  const double norm = std::sqrt(Dot(v, v));
  for (double& value : v) value /= norm;
}

/// Directions from orthogonal blocks, lengths from the kernel's own law.
std::vector<double> DrawOrthogonal(const Kernel& kernel, std::size_t dimension,
                                   std::size_t features, Random& random) {
  std::vector<double> rho(features * dimension);
  std::vector<double> sample(dimension);
  for (std::size_t start = 0; start < features; start += dimension) {
    const std::size_t rows = std::min(dimension, features - start);
    const std::span block(rho.data() + start * dimension, rows * dimension);
    for (std::size_t row = 0; row < rows; ++row) {
      const auto v = block.subspan(row * dimension, dimension);
      for (double& value : v) value = random.Normal();
      Orthonormalize(block.first(row * dimension), v);
    }
    for (std::size_t row = 0; row < rows; ++row) {
      DrawFrequency(kernel, random, sample);
      const double length = std::sqrt(Dot(sample, sample));
      for (double& value : block.subspan(row * dimension, dimension)) value *= length;
    }
  }
  return rho;
}

}  // namespace

KernelBank::KernelBank(std::span<const Kernel> dictionary, std::size_t dimension,
                       std::size_t features, std::uint64_t seed, Draw draw)
    : kernels_(dictionary.size()), features_(features), dimension_(dimension) {
  assert(kernels_ > 0 && features > 0 && dimension > 0);
  frequencies_.reserve(kernels_ * features * dimension);
  if (draw == Draw::kShared) DrawShared(dictionary, seed);
  std::vector<double> rho(features * dimension);
  for (std::size_t i = 0; i < kernels_ && draw != Draw::kShared; ++i) {
    Random random(seed, Purpose::kFrequencies, i);
    if (draw == Draw::kOrthogonal) {
      if (!IsIsotropic(dictionary[i].kind)) {
        throw Error(
            "orthogonal features need isotropic kernels: choose another dictionary than "
            "laplacian or cauchy, or independent features");
      }
      rho = DrawOrthogonal(dictionary[i], dimension, features, random);
    } else {
      for (std::size_t j = 0; j < features; ++j) {
        DrawFrequency(dictionary[i], random, std::span(rho).subspan(j * dimension, dimension));
      }
    }
    for (const double value : rho) frequencies_.push_back(static_cast<float>(value));
  }
  MeasureFrequencies();
}

void KernelBank::DrawShared(std::span<const Kernel> dictionary, std::uint64_t seed) {
  Random random(seed, Purpose::kFrequencies);
  std::vector<double> rho(dimension_);
  for (std::size_t j = 0; j < features_; ++j) {
    DrawFrequency({.kind = KernelKind::kGaussian, .length = 1}, random, rho);
    for (const double value : rho) shared_.push_back(static_cast<float>(value));
  }
  for (std::size_t i = 0; i < kernels_; ++i) {
    if (dictionary[i].kind != KernelKind::kGaussian) {
      throw Error(
          "only Gaussian kernels can share one draw: choose the dictionary gaussian, or "
          "independent features");
    }
    scales_.push_back(static_cast<float>(1 / dictionary[i].length));
    for (const float value : shared_) frequencies_.push_back(scales_[i] * value);
  }
}

KernelBank::KernelBank(std::vector<float> frequencies, std::size_t kernels, std::size_t features,
                       std::size_t dimension)
    : kernels_(kernels),
      features_(features),
      dimension_(dimension),
      frequencies_(std::move(frequencies)) {
  assert(kernels > 0 && features > 0 && dimension > 0);
  assert(frequencies_.size() == kernels * features * dimension);
  MeasureFrequencies();
}

void KernelBank::MeasureFrequencies() {
  longest_.assign(kernels_, 0);
  for (std::size_t row = 0; row < kernels_ * features_; ++row) {
    double square = 0;
    for (std::size_t c = 0; c < dimension_; ++c) {
      const auto value = static_cast<double>(frequencies_[row * dimension_ + c]);
      square += value * value;
    }
    float& longest = longest_[row / features_];
    const auto length = static_cast<float>(1.001 * std::sqrt(square));
    if (!(length <= longest)) longest = length;
  }
}

}  // namespace polykern
