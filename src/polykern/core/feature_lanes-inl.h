// The inner loops of EvaluateKernels, for the dispatch target that is being compiled.
// Included once per target, after hwy/highway.h.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "polykern/core/packed_kernels.h"
#include "polykern/core/sincos-inl.h"
#include "polykern/core/unroll.h"

#if defined(POLYKERN_CORE_FEATURE_LANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef POLYKERN_CORE_FEATURE_LANES_INL_H
#undef POLYKERN_CORE_FEATURE_LANES_INL_H
#else
#define POLYKERN_CORE_FEATURE_LANES_INL_H
#endif

// A row is all features of a group of kernels for one client, in vectors as PackedKernels has them.
// So vectors are full whatever the number of clients, a device alone is as fast as one of many, and
// every lane does the scalar computation of one kernel's every fourth feature, whatever the width
// of the vectors.
HWY_BEFORE_NAMESPACE();
namespace polykern {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::CappedTag<float, PackedKernels::kLanes>;
using Vec = hn::Vec<Tag>;

constexpr std::size_t kRowLanes = PackedKernels::kLanes;
constexpr std::size_t kRun = PackedKernels::kRun;
constexpr std::size_t kGroup = PackedKernels::kGroup;
constexpr bool kManyRegisters = HWY_TARGET <= HWY_AVX3;

/// Samples of kClients clients, all columns.
template <int kClients>
struct DenseSamples {
  static constexpr int kCount = kClients;
  // Vectors of a row whose angles are computed together: as many as the registers hold.
  static constexpr int kVectors = kManyRegisters ? (kClients == 8   ? 3
                                                    : kClients == 4 ? 5
                                                                    : 8)
                                                 : (kClients == 4 ? 2 : 8);
  const float* row[kClients];
  std::size_t columns;

  std::size_t Column(std::size_t n) const { return n; }
  float Value(int k, std::size_t n) const { return row[k][n]; }
};

/// The sample of one client, without the columns that are 0: leaving them out changes no bit,
/// because adding rho * 0 does not.
struct SparseSample {
  static constexpr int kCount = 1;
  static constexpr int kVectors = kManyRegisters ? 13 : 8;
  const std::uint32_t* which;
  const float* value;
  std::size_t columns;

  std::size_t Column(std::size_t n) const { return which[n]; }
  float Value(int, std::size_t n) const { return value[n]; }
};

/// Angles rho . x of kVectors vectors of features. rho: columns x stride floats; the angles of
/// client k begin at angle + k * angle_stride. A function of its own: it needs all the registers.
template <int kVectors, class Samples>
HWY_NOINLINE void ProjectTile(const float* HWY_RESTRICT rho, std::size_t stride,
                              const Samples& samples, float* HWY_RESTRICT angle,
                              std::size_t angle_stride) {
  const Tag tag;
  const std::size_t lanes = hn::Lanes(tag);
  constexpr int kClients = Samples::kCount;
  const Samples own = samples;
  if (own.columns == 0) {
    for (int k = 0; k < kClients; ++k) {
      std::fill_n(angle + k * angle_stride, kVectors * lanes, 0.0F);
    }
    return;
  }
  Vec sum[kClients][kVectors];
  POLYKERN_UNROLL
  for (int k = 0; k < kClients; ++k) {
    POLYKERN_UNROLL
    for (int v = 0; v < kVectors; ++v) sum[k][v] = hn::Zero(tag);
  }
  std::size_t n = 0;
  do {
    const float* column = rho + own.Column(n) * stride;
    Vec frequency[kVectors];
    POLYKERN_UNROLL
    for (int v = 0; v < kVectors; ++v) frequency[v] = hn::Load(tag, column + v * lanes);
    POLYKERN_UNROLL
    for (int k = 0; k < kClients; ++k) {
      const Vec value = hn::Set(tag, own.Value(k, n));
      POLYKERN_UNROLL
      for (int v = 0; v < kVectors; ++v) sum[k][v] = hn::MulAdd(frequency[v], value, sum[k][v]);
    }
  } while (++n < own.columns);
  POLYKERN_UNROLL
  for (int k = 0; k < kClients; ++k) {
    POLYKERN_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      hn::Store(sum[k][v], tag, angle + k * angle_stride + v * lanes);
    }
  }
}

/// The same for a whole row of `size` floats, from its place `at` on.
template <class Samples, int kVectors = Samples::kVectors>
void ProjectRow(const float* rho, std::size_t size, const Samples& samples, float* angle,
                std::size_t angle_stride, std::size_t at = 0) {
  const std::size_t tile = kVectors * hn::Lanes(Tag());
  for (; at + tile <= size; at += tile) {
    ProjectTile<kVectors>(rho + at, size, samples, angle + at, angle_stride);
  }
  if constexpr (kVectors > 1) {
    if (at < size) ProjectRow<Samples, kVectors - 1>(rho, size, samples, angle, angle_stride, at);
  }
}

/// From angles to f and features, for the kernels of a group.
struct RowEnd {
  std::size_t features;     // D
  const float* theta_sine;  // theta in the order of a row
  const float* theta_cosine;
  float scale;  // 1 / sqrt(D)
};

/// Adds what a vector of angles gives to the sums of its lanes; with kKeep its features, scaled,
/// are written to sines and cosines.
template <bool kLarge, bool kKeep>
HWY_INLINE void FinishVector(const RowEnd& end, const float* angle, std::size_t at, float* sines,
                             float* cosines, Vec& sum) {
  const Tag tag;
  const Vec a = hn::Load(tag, angle + at);
  Vec sine;
  Vec cosine;
  SinCos(tag, a, sine, cosine);
  if (kLarge) SinCosLarge(tag, a, sine, cosine);
  sum = hn::MulAdd(hn::Load(tag, end.theta_sine + at), sine, sum);
  sum = hn::MulAdd(hn::Load(tag, end.theta_cosine + at), cosine, sum);
  if (kKeep) {
    const Vec scale = hn::Set(tag, end.scale);
    hn::Store(hn::Mul(scale, sine), tag, sines);
    hn::Store(hn::Mul(scale, cosine), tag, cosines);
  }
}

/// f of a group's kernels from one client's row of angles; the lanes of a kernel are added
/// pairwise. With kKeep the features of kernel q go to z[q].
template <bool kLarge, bool kKeep>
HWY_INLINE void FinishRow(const RowEnd& end, const float* HWY_RESTRICT angle, float* const* z,
                          float* HWY_RESTRICT f) {
  const Tag tag;
  constexpr std::size_t kLanes = hn::MaxLanes(Tag());
  constexpr std::size_t kParts = kRowLanes / kLanes;
  HWY_ALIGN float sines[kRowLanes];
  HWY_ALIGN float cosines[kRowLanes];
  Vec sum[kParts];
  POLYKERN_UNROLL
  for (std::size_t p = 0; p < kParts; ++p) sum[p] = hn::Zero(tag);
  const auto finish = [&](std::size_t j) HWY_ATTR {
    POLYKERN_UNROLL
    for (std::size_t p = 0; p < kParts; ++p) {
      FinishVector<kLarge, kKeep>(end, angle, j * kGroup + p * kLanes, sines + p * kLanes,
                                  cosines + p * kLanes, sum[p]);
    }
  };
  const auto keep = [&](std::size_t j, auto count) {
    POLYKERN_UNROLL
    for (std::size_t q = 0; q < kGroup; ++q) {
      std::memcpy(z[q] + j, sines + q * kRun, count * sizeof(float));
      std::memcpy(z[q] + end.features + j, cosines + q * kRun, count * sizeof(float));
    }
  };
  std::size_t j = 0;
  for (; j + kRun <= end.features; j += kRun) {
    finish(j);
    if (kKeep) keep(j, std::integral_constant<std::size_t, kRun>());
  }
  if (j < end.features) {
    finish(j);
    if (kKeep) {  // counts that are constants: no call for a few bytes
      if (end.features - j == 1) keep(j, std::integral_constant<std::size_t, 1>());
      if (end.features - j == 2) keep(j, std::integral_constant<std::size_t, 2>());
      if (end.features - j == 3) keep(j, std::integral_constant<std::size_t, 3>());
    }
  }
#if HWY_TARGET == HWY_SCALAR
  for (std::size_t q = 0; q < kGroup; ++q) {
    const Vec* own = sum + q * kRun;
    const Vec all = hn::Add(hn::Add(own[0], own[2]), hn::Add(own[1], own[3]));
    f[q] = hn::GetLane(all) * end.scale;
  }
#else
  POLYKERN_UNROLL
  for (std::size_t p = 0; p < kParts; ++p) {
    const Vec pairs = hn::Add(sum[p], hn::Shuffle1032(sum[p]));
    const Vec all = hn::Add(pairs, hn::Shuffle2301(pairs));
    hn::Store(hn::Mul(all, hn::Set(tag, end.scale)), tag, sines + p * kLanes);
  }
  POLYKERN_UNROLL
  for (std::size_t q = 0; q < kGroup; ++q) f[q] = sines[q * kRun];
#endif
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace polykern
HWY_AFTER_NAMESPACE();

#endif  // target toggle
