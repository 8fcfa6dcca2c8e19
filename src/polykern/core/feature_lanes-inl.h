// The inner loops of EvaluateKernels, for the dispatch target that is being compiled.
// Included once per target, after hwy/highway.h.

#include <algorithm>
#include <bit>
#include <cstring>

#include "polykern/core/kernel_bank.h"
#include "polykern/core/sincos-inl.h"

#if defined(POLYKERN_CORE_FEATURE_LANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef POLYKERN_CORE_FEATURE_LANES_INL_H
#undef POLYKERN_CORE_FEATURE_LANES_INL_H
#else
#define POLYKERN_CORE_FEATURE_LANES_INL_H
#endif

// Every lane does the scalar computation of one client and one kernel, so a result depends neither
// on its neighbours nor on the width of the vectors nor on which of two layouts was used:
//   ClientLanes  lanes are clients, for one kernel after the other: full vectors for large cohorts;
//   KernelLanes  lanes are kernels, for a few clients: the rest of a cohort, and the single device.
HWY_BEFORE_NAMESPACE();
namespace polykern {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::CappedTag<float, KernelBank::kLanes>;
using Vec = hn::Vec<Tag>;

constexpr std::size_t kMostLanes = KernelBank::kLanes;
constexpr int kGroup = 4;  // features whose part of theta . z is one chain of additions

/// Where the features of one vector's lanes go.
struct Sink {
  std::uint64_t lanes = 0;            // those that want them
  float* place[2 * kMostLanes] = {};  // per lane: z of its client and kernel
};

/// Four vectors, lane by lane: calls keep(lane, four neighbouring numbers) for the lanes asked for.
template <class Keep>
HWY_INLINE void ForEachLane(const Vec* four, std::uint64_t lanes, const Keep& keep) {
  const Tag tag;
  const std::size_t width = hn::Lanes(tag);
  HWY_ALIGN float rows[kGroup * kMostLanes];
#if HWY_TARGET == HWY_SCALAR
  for (int g = 0; g < kGroup; ++g) hn::Store(four[g], tag, rows + g);
#else
  // A 4 x 4 transposition inside every block of 128 bits.
  const hn::RepartitionToWide<Tag> wide;
  const auto low01 = hn::BitCast(wide, hn::InterleaveLower(tag, four[0], four[1]));
  const auto low23 = hn::BitCast(wide, hn::InterleaveLower(tag, four[2], four[3]));
  const auto high01 = hn::BitCast(wide, hn::InterleaveUpper(tag, four[0], four[1]));
  const auto high23 = hn::BitCast(wide, hn::InterleaveUpper(tag, four[2], four[3]));
  hn::Store(hn::BitCast(tag, hn::InterleaveLower(wide, low01, low23)), tag, rows);
  hn::Store(hn::BitCast(tag, hn::InterleaveUpper(wide, low01, low23)), tag, rows + width);
  hn::Store(hn::BitCast(tag, hn::InterleaveLower(wide, high01, high23)), tag, rows + 2 * width);
  hn::Store(hn::BitCast(tag, hn::InterleaveUpper(wide, high01, high23)), tag, rows + 3 * width);
#endif
  for (; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(lanes));
    const float* block = rows + (lane & 3) * width + (lane & ~std::size_t{3});
    keep(lane, block);
  }
}

/// Sines, cosines and theta . z of kCount features (at most kGroup) whose angles are known; adds to
/// f what they give, and hands their features to the sink.
template <int kCount, bool kLarge, class Theta>
HWY_INLINE void Finish(const Vec* angle, std::size_t stride, std::size_t features, float scale,
                       const Theta& theta, std::size_t j, const Sink* sink, std::size_t first_lane,
                       Vec& f) {
  const Tag tag;
  Vec sine[kGroup];
  Vec cosine[kGroup];
  Vec sum = hn::Zero(tag);
  for (int g = 0; g < kCount; ++g) {
    SinCos(tag, angle[g * stride], sine[g], cosine[g]);
    if (kLarge) SinCosLarge(tag, angle[g * stride], sine[g], cosine[g]);
    sum = hn::MulAdd(theta(j + g), sine[g], sum);
    sum = hn::MulAdd(theta(features + j + g), cosine[g], sum);
  }
  f = hn::Add(f, sum);
  const std::uint64_t all = (std::uint64_t{1} << hn::Lanes(tag)) - 1;
  const std::uint64_t lanes = sink == nullptr ? 0 : (sink->lanes >> first_lane) & all;
  if (lanes == 0) return;
  const Vec factor = hn::Set(tag, scale);
  for (int g = 0; g < kGroup; ++g) {
    sine[g] = g < kCount ? hn::Mul(factor, sine[g]) : hn::Zero(tag);
    cosine[g] = g < kCount ? hn::Mul(factor, cosine[g]) : hn::Zero(tag);
  }
  float* const* place = sink->place + first_lane;
  ForEachLane(sine, lanes, [&](std::size_t lane, const float* four) {
    std::memcpy(place[lane] + j, four, kCount * sizeof(float));
  });
  ForEachLane(cosine, lanes, [&](std::size_t lane, const float* four) {
    std::memcpy(place[lane] + features + j, four, kCount * sizeof(float));
  });
}

/// kWide vectors of clients, one kernel.
template <int kWide>
struct ClientLanes {
  const KernelBank& bank;
  const float* x;  // dimension x (kWide * lanes)
  float scale;     // 1 / sqrt(D)

  // Features whose projections are computed together: as many as the registers hold.
  static constexpr int kMost = HWY_TARGET <= HWY_AVX3 || kWide == 1 ? 2 * kGroup : kGroup;

  template <int kCount, bool kLarge>
  HWY_INLINE void Group(const float* rho, const float* theta, std::size_t j, const Sink* sink,
                        Vec* HWY_RESTRICT f) const {
    const Tag tag;
    const std::size_t lanes = hn::Lanes(tag);
    const std::size_t dimension = bank.dimension();
    Vec angle[kCount * kWide];
    for (int a = 0; a < kCount * kWide; ++a) angle[a] = hn::Zero(tag);
    for (std::size_t c = 0; c < dimension; ++c) {
      Vec sample[kWide];
      for (int v = 0; v < kWide; ++v) sample[v] = hn::Load(tag, x + (c * kWide + v) * lanes);
      for (int g = 0; g < kCount; ++g) {
        const Vec frequency = hn::Set(tag, rho[(j + g) * dimension + c]);
        for (int v = 0; v < kWide; ++v) {
          angle[g * kWide + v] = hn::MulAdd(frequency, sample[v], angle[g * kWide + v]);
        }
      }
    }
    const auto weight = [&](std::size_t at) { return hn::Set(tag, theta[at]); };
    for (int v = 0; v < kWide; ++v) {
      Finish<std::min(kCount, kGroup), kLarge>(angle + v, kWide, bank.features(), scale, weight, j,
                                               sink, v * lanes, f[v]);
      if constexpr (kCount > kGroup) {
        Finish<kCount - kGroup, kLarge>(angle + kGroup * kWide + v, kWide, bank.features(), scale,
                                        weight, j + kGroup, sink, v * lanes, f[v]);
      }
    }
  }

  template <bool kLarge>
  void Kernel(std::size_t kernel, const float* theta, const Sink* sink, float* f_out) const {
    const Tag tag;
    const std::size_t features = bank.features();
    const float* rho = bank.Frequencies(kernel).data();
    Vec f[kWide];
    for (int v = 0; v < kWide; ++v) f[v] = hn::Zero(tag);
    std::size_t j = 0;
    for (; j + kMost <= features; j += kMost) Group<kMost, kLarge>(rho, theta, j, sink, f);
    for (; j + kGroup <= features; j += kGroup) Group<kGroup, kLarge>(rho, theta, j, sink, f);
    if (features - j == 1) Group<1, kLarge>(rho, theta, j, sink, f);
    if (features - j == 2) Group<2, kLarge>(rho, theta, j, sink, f);
    if (features - j == 3) Group<3, kLarge>(rho, theta, j, sink, f);
    for (int v = 0; v < kWide; ++v) {
      hn::Store(hn::Mul(f[v], hn::Set(tag, scale)), tag, f_out + v * hn::Lanes(tag));
    }
  }
};

/// A vector of kernels, kClients clients. Pointers are to the first lane's numbers; rho, theta and
/// f hold KernelBank::kLanes kernels side by side.
template <int kClients>
struct KernelLanes {
  const KernelBank& bank;
  float scale;

  template <int kCount, bool kLarge>
  HWY_INLINE void Group(const float* rho, const float* theta, const float* x, std::size_t j,
                        const Sink* sinks, Vec* HWY_RESTRICT f) const {
    const Tag tag;
    const std::size_t dimension = bank.dimension();
    Vec angle[kCount * kClients];
    for (int a = 0; a < kCount * kClients; ++a) angle[a] = hn::Zero(tag);
    for (std::size_t c = 0; c < dimension; ++c) {
      for (int g = 0; g < kCount; ++g) {
        const Vec frequency = hn::Load(tag, rho + ((j + g) * dimension + c) * kMostLanes);
        for (int k = 0; k < kClients; ++k) {
          angle[g * kClients + k] =
              hn::MulAdd(frequency, hn::Set(tag, x[k * dimension + c]), angle[g * kClients + k]);
        }
      }
    }
    const auto weight = [&](std::size_t at) { return hn::Load(tag, theta + at * kMostLanes); };
    for (int k = 0; k < kClients; ++k) {
      Finish<kCount, kLarge>(angle + k, kClients, bank.features(), scale, weight, j, sinks + k, 0,
                             f[k]);
    }
  }

  template <bool kLarge>
  void Kernels(const float* rho, const float* theta, const float* x, const Sink* sinks,
               float* f_out, std::size_t f_stride) const {
    const Tag tag;
    const std::size_t features = bank.features();
    Vec f[kClients];
    for (int k = 0; k < kClients; ++k) f[k] = hn::Zero(tag);
    std::size_t j = 0;
    for (; j + kGroup <= features; j += kGroup) Group<kGroup, kLarge>(rho, theta, x, j, sinks, f);
    if (features - j == 1) Group<1, kLarge>(rho, theta, x, j, sinks, f);
    if (features - j == 2) Group<2, kLarge>(rho, theta, x, j, sinks, f);
    if (features - j == 3) Group<3, kLarge>(rho, theta, x, j, sinks, f);
    for (int k = 0; k < kClients; ++k) {
      hn::Store(hn::Mul(f[k], hn::Set(tag, scale)), tag, f_out + k * f_stride);
    }
  }
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace polykern
HWY_AFTER_NAMESPACE();

#endif  // target toggle
