#include "polykern/core/random_features.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "polykern/core/random_features.cc"
#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "polykern/core/sincos-inl.h"

// Lanes are clients: every lane does the scalar computation of one client, so its result depends
// neither on its neighbours nor on the width of the vectors.
HWY_BEFORE_NAMESPACE();
namespace polykern {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::CappedTag<float, 16>;  // a tile of two is at most 32 clients
using Vec = hn::Vec<Tag>;

constexpr std::size_t kGroup = 4;  // features whose projections are computed together

/// One tile: kWide vectors of clients. Everything here stays in registers and first-level cache.
template <int kWide>
struct Tile {
  const KernelBank& bank;
  const float* x;  // dimension x (kWide * lanes)
  float scale;     // 1 / sqrt(D)

  /// kCount (at most kGroup) features of one kernel: projections, sines and cosines, and their part
  /// of theta . z added to f. `z` is null if nobody wants the features.
  template <int kCount, bool kLarge>
  HWY_INLINE void Group(const float* rho, const float* theta, float* z, Vec* HWY_RESTRICT f) const {
    const Tag tag;
    const std::size_t width = kWide * hn::Lanes(tag);
    const std::size_t dimension = bank.dimension();
    const std::size_t features = bank.features();
    Vec angle[kCount][kWide];
    for (int g = 0; g < kCount; ++g) {
      for (int v = 0; v < kWide; ++v) angle[g][v] = hn::Zero(tag);
    }
    for (std::size_t c = 0; c < dimension; ++c) {
      Vec sample[kWide];
      for (int v = 0; v < kWide; ++v) sample[v] = hn::Load(tag, x + c * width + v * hn::Lanes(tag));
      for (int g = 0; g < kCount; ++g) {
        const Vec frequency = hn::Set(tag, rho[g * dimension + c]);
        for (int v = 0; v < kWide; ++v) angle[g][v] = hn::MulAdd(frequency, sample[v], angle[g][v]);
      }
    }
    for (int v = 0; v < kWide; ++v) {
      Vec sum = hn::Zero(tag);
      for (int g = 0; g < kCount; ++g) {
        Vec sine;
        Vec cosine;
        SinCos(tag, angle[g][v], sine, cosine);
        if (kLarge) SinCosLarge(tag, angle[g][v], sine, cosine);
        sum = hn::MulAdd(hn::Set(tag, theta[g]), sine, sum);
        sum = hn::MulAdd(hn::Set(tag, theta[features + g]), cosine, sum);
        if (z != nullptr) {
          const Vec factor = hn::Set(tag, scale);
          float* place = z + g * width + v * hn::Lanes(tag);
          hn::Store(hn::Mul(factor, sine), tag, place);
          hn::Store(hn::Mul(factor, cosine), tag, place + features * width);
        }
      }
      f[v] = hn::Add(f[v], sum);
    }
  }

  template <bool kLarge>
  void Kernel(std::size_t kernel, const float* theta, float* z, float* f_out) const {
    const Tag tag;
    const std::size_t width = kWide * hn::Lanes(tag);
    const std::size_t features = bank.features();
    const float* rho = bank.Frequencies(kernel).data();
    Vec f[kWide];
    for (int v = 0; v < kWide; ++v) f[v] = hn::Zero(tag);
    std::size_t j = 0;
    const auto place = [&](std::size_t at) { return z == nullptr ? nullptr : z + at * width; };
    for (; j + kGroup <= features; j += kGroup) {
      Group<kGroup, kLarge>(rho + j * bank.dimension(), theta + j, place(j), f);
    }
    const float* rest = rho + j * bank.dimension();
    if (features - j == 1) Group<1, kLarge>(rest, theta + j, place(j), f);
    if (features - j == 2) Group<2, kLarge>(rest, theta + j, place(j), f);
    if (features - j == 3) Group<3, kLarge>(rest, theta + j, place(j), f);
    for (int v = 0; v < kWide; ++v) {
      hn::Store(hn::Mul(f[v], hn::Set(tag, scale)), tag, f_out + v * hn::Lanes(tag));
    }
  }
};

/// A pointer into `buffer` that vectors may be loaded from, with room for `count` floats.
float* Aligned(std::vector<float>& buffer, std::size_t count) {
  constexpr std::size_t kAlignment = 64;
  if (buffer.size() < count + kAlignment) buffer.resize(count + kAlignment);
  const auto address = reinterpret_cast<std::uintptr_t>(buffer.data());
  return buffer.data() + (kAlignment - address % kAlignment) % kAlignment / sizeof(float);
}

template <int kWide>
void EvaluateTile(const KernelBank& bank, const FeatureJob& job, std::size_t first,
                  std::size_t count, FeatureScratch& scratch) {
  const Tag tag;
  const std::size_t width = kWide * hn::Lanes(tag);
  const std::size_t dimension = bank.dimension();
  const std::size_t kernels = bank.kernels();
  const std::size_t size = bank.feature_size();

  float* x = Aligned(scratch.x, dimension * width);
  double largest_square = 0;
  bool finite = true;
  for (std::size_t lane = 0; lane < width; ++lane) {
    double square = 0;  // in double: neither tiny nor huge samples lose their size
    for (std::size_t c = 0; c < dimension; ++c) {
      const float value = lane < count ? job.x[(first + lane) * dimension + c] : 0.0F;
      x[c * width + lane] = value;
      square += static_cast<double>(value) * static_cast<double>(value);
    }
    finite &= std::isfinite(square);
    largest_square = std::max(largest_square, square);
  }
  const double norm = std::sqrt(largest_square);

  auto& wanted = scratch.wanted;
  wanted.assign(kernels, 0);
  const auto wanted_of =
      job.wanted.subspan(first * job.wanted_per_client, count * job.wanted_per_client);
  for (std::size_t i = 0; i < wanted_of.size(); ++i) {
    if (wanted_of[i] != kNoKernel) {
      wanted[wanted_of[i]] |= std::uint64_t{1} << (i / job.wanted_per_client);
    }
  }

  float* z_tile = Aligned(scratch.z, size * width);
  float* f_tile = Aligned(scratch.f, kernels * width);
  const Tile<kWide> tile{bank, x, 1 / std::sqrt(static_cast<float>(bank.features()))};
  for (std::size_t i = 0; i < kernels; ++i) {
    float* z = wanted[i] == 0 ? nullptr : z_tile;
    const float* theta = job.theta.data() + i * size;
    // |rho . x| <= ||rho|| ||x||: most kernels need no test for large angles at all.
    if (finite && static_cast<double>(bank.LongestFrequency(i)) * norm < double{kLargeAngle}) {
      tile.template Kernel<false>(i, theta, z, f_tile + i * width);
    } else {
      tile.template Kernel<true>(i, theta, z, f_tile + i * width);
    }
    for (std::uint64_t lanes = wanted[i]; lanes != 0; lanes &= lanes - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(lanes));
      const auto mine = wanted_of.subspan(lane * job.wanted_per_client, job.wanted_per_client);
      const auto slot = static_cast<std::size_t>(std::ranges::find(mine, i) - mine.begin());
      float* out = job.z.data() + ((first + lane) * job.wanted_per_client + slot) * size;
      for (std::size_t j = 0; j < size; ++j) out[j] = z_tile[j * width + lane];
    }
  }
  for (std::size_t lane = 0; lane < count; ++lane) {
    float* out = job.f.data() + (first + lane) * kernels;
    for (std::size_t i = 0; i < kernels; ++i) out[i] = f_tile[i * width + lane];
  }
}

void Evaluate(const KernelBank& bank, const FeatureJob& job, FeatureScratch& scratch) {
  const std::size_t lanes = hn::Lanes(Tag());
  for (std::size_t first = 0; first < job.clients;) {
    const std::size_t left = job.clients - first;
    if (left > lanes) {
      const std::size_t count = std::min(left, 2 * lanes);
      EvaluateTile<2>(bank, job, first, count, scratch);
      first += count;
    } else {
      EvaluateTile<1>(bank, job, first, left, scratch);
      first += left;
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace polykern
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace polykern {

HWY_EXPORT(Evaluate);

void EvaluateKernels(const KernelBank& bank, const FeatureJob& job, FeatureScratch& scratch) {
  assert(job.x.size() == job.clients * bank.dimension());
  assert(job.theta.size() == bank.kernels() * bank.feature_size());
  assert(job.wanted.size() == job.clients * job.wanted_per_client);
  assert(job.f.size() == job.clients * bank.kernels());
  assert(job.z.size() == job.wanted.size() * bank.feature_size());
  HWY_DYNAMIC_DISPATCH(Evaluate)(bank, job, scratch);
}

}  // namespace polykern
#endif  // HWY_ONCE
