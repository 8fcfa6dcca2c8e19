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

/// Where the features of the lanes go.
struct Sink {
  std::uint64_t lanes = 0;        // those that want them
  float* const* place = nullptr;  // per lane: z of its client and kernel
};

constexpr std::uint64_t kOne = 1;

HWY_INLINE std::uint64_t AllLanes() {
  return (kOne << hn::Lanes(Tag())) - 1;
}

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
  const auto keep_lane = [&](std::size_t lane) {
    keep(lane, rows + (lane & 3) * width + (lane & ~std::size_t{3}));
  };
  if (lanes == AllLanes()) {
    for (std::size_t lane = 0; lane < width; ++lane) keep_lane(lane);
  } else {
    for (; lanes != 0; lanes &= lanes - 1) {
      keep_lane(static_cast<std::size_t>(std::countr_zero(lanes)));
    }
  }
}

/// Sines, cosines and theta . z of kCount features (at most kGroup) from j on; adds to f what they
/// give, and hands their features to the sink. angle(g) is the angle of feature j + g.
template <int kCount, bool kLarge, class Angle, class Theta>
HWY_INLINE void FinishGroup(const Angle& angle, std::size_t features, float scale,
                            const Theta& theta, std::size_t j, const Sink& sink, Vec& f) {
  const Tag tag;
  Vec sine[kGroup];
  Vec cosine[kGroup];
  Vec sum = hn::Zero(tag);
  for (int g = 0; g < kCount; ++g) {
    const Vec a = angle(g);
    SinCos(tag, a, sine[g], cosine[g]);
    if (kLarge) SinCosLarge(tag, a, sine[g], cosine[g]);
    sum = hn::MulAdd(theta(j + g), sine[g], sum);
    sum = hn::MulAdd(theta(features + j + g), cosine[g], sum);
  }
  f = hn::Add(f, sum);
  if (sink.lanes == 0) return;
  const Vec factor = hn::Set(tag, scale);
  for (int g = 0; g < kGroup; ++g) {
    sine[g] = g < kCount ? hn::Mul(factor, sine[g]) : hn::Zero(tag);
    cosine[g] = g < kCount ? hn::Mul(factor, cosine[g]) : hn::Zero(tag);
  }
  ForEachLane(sine, sink.lanes, [&](std::size_t lane, const float* four) {
    std::memcpy(sink.place[lane] + j, four, kCount * sizeof(float));
  });
  ForEachLane(cosine, sink.lanes, [&](std::size_t lane, const float* four) {
    std::memcpy(sink.place[lane] + features + j, four, kCount * sizeof(float));
  });
}

/// The same for `count` features whose angles are in memory, `stride` floats apart. j is a multiple
/// of kGroup.
template <bool kLarge, class Theta>
HWY_INLINE void Finish(const float* angle, std::size_t stride, std::size_t count,
                       std::size_t features, float scale, const Theta& theta, std::size_t j,
                       const Sink& sink, Vec& f) {
  const auto load = [&](std::size_t g) { return hn::Load(Tag(), angle + g * stride); };
  for (; count >= kGroup; count -= kGroup, j += kGroup, angle += kGroup * stride) {
    FinishGroup<kGroup, kLarge>(load, features, scale, theta, j, sink, f);
  }
  if (count == 1) FinishGroup<1, kLarge>(load, features, scale, theta, j, sink, f);
  if (count == 2) FinishGroup<2, kLarge>(load, features, scale, theta, j, sink, f);
  if (count == 3) FinishGroup<3, kLarge>(load, features, scale, theta, j, sink, f);
}

/// kWide vectors of clients, one kernel.
template <int kWide>
struct ClientLanes {
  const KernelBank& bank;
  const float* x;     // dimension x (kWide * lanes)
  const float* base;  // features x (kWide * lanes): angles of the shared draw; or null
  float scale;        // 1 / sqrt(D)

  // Features whose projections are computed together: as many as the registers hold. A few that are
  // left at the end go with the last ones: alone they would wait for each other's results.
  static constexpr std::size_t kUsual =
      (HWY_TARGET <= HWY_AVX3 && kWide <= 2) || kWide == 1 ? 2 * kGroup : kGroup;
  static constexpr std::size_t kMost = kUsual + kGroup - 1;
  static std::size_t AtOnce(std::size_t left) { return left <= kMost ? left : kUsual; }

  /// sum[g] = rho_g . x for kCount rows of rho.
  template <int kCount>
  HWY_INLINE void Project(const float* rho, Vec* HWY_RESTRICT sum) const {
    const Tag tag;
    const std::size_t lanes = hn::Lanes(tag);
    const std::size_t dimension = bank.dimension();
    const auto add = [&](std::size_t c, const auto& before) {
      Vec sample[kWide];
      for (int v = 0; v < kWide; ++v) sample[v] = hn::Load(tag, x + (c * kWide + v) * lanes);
      for (int g = 0; g < kCount; ++g) {
        const Vec frequency = hn::Set(tag, rho[g * dimension + c]);
        for (int v = 0; v < kWide; ++v) {
          sum[g * kWide + v] = hn::MulAdd(frequency, sample[v], before(g * kWide + v));
        }
      }
    };
    add(0, [&](int) { return hn::Zero(tag); });  // a loop that sets all to 0 would go over memory
    for (std::size_t c = 1; c < dimension; ++c) add(c, [&](int a) { return sum[a]; });
  }

  /// The same for `count` rows, into memory. Functions of their own: they need all the registers.
  template <int kCount = kMost>
  HWY_NOINLINE void Project(const float* rho, std::size_t count, float* HWY_RESTRICT angle) const {
    if constexpr (kCount > 1) {
      if (count < kCount) return Project<kCount - 1>(rho, count, angle);
    }
    Vec sum[kCount * kWide];
    Project<kCount>(rho, sum);
    for (int a = 0; a < kCount * kWide; ++a) hn::Store(sum[a], Tag(), angle + a * hn::Lanes(Tag()));
  }

  /// kUsual features of a kernel from j on, from projection to f without a detour over memory.
  template <bool kLarge>
  HWY_NOINLINE void Fused(const float* rho, const float* theta, std::size_t j, const Sink& sink,
                          float* HWY_RESTRICT f) const {
    const Tag tag;
    const std::size_t lanes = hn::Lanes(tag);
    const auto weight = [&](std::size_t at) { return hn::Set(tag, theta[at]); };
    Vec sum[kUsual * kWide];
    Project<kUsual>(rho, sum);
    for (int v = 0; v < kWide; ++v) {
      Vec own_f = hn::Load(tag, f + v * lanes);
      for (std::size_t g = 0; g < kUsual; g += kGroup) {
        FinishGroup<kGroup, kLarge>([&](std::size_t at) { return sum[(g + at) * kWide + v]; },
                                    bank.features(), scale, weight, j + g, OfVector(sink, v),
                                    own_f);
      }
      hn::Store(own_f, tag, f + v * lanes);
    }
  }

  static Sink OfVector(const Sink& sink, int v) {
    const std::size_t first = v * hn::Lanes(Tag());
    return {(sink.lanes >> first) & AllLanes(), sink.place + first};
  }

  /// angle = factor times what the shared draw gives.
  HWY_INLINE void Rescale(float factor, std::size_t j, std::size_t count,
                          float* HWY_RESTRICT angle) const {
    const Tag tag;
    const std::size_t lanes = hn::Lanes(tag);
    const Vec by = hn::Set(tag, factor);
    for (std::size_t a = 0; a < count * kWide; ++a) {
      hn::Store(hn::Mul(by, hn::Load(tag, base + (j * kWide + a) * lanes)), tag, angle + a * lanes);
    }
  }

  template <bool kLarge>
  void Kernel(std::size_t kernel, const float* theta, const Sink& sink, float* f) const {
    const Tag tag;
    const std::size_t lanes = hn::Lanes(tag);
    const std::size_t features = bank.features();
    const float* rho = bank.Frequencies(kernel).data();
    for (int v = 0; v < kWide; ++v) hn::Store(hn::Zero(tag), tag, f + v * lanes);
    std::size_t j = 0;
    for (; base == nullptr && AtOnce(features - j) == kUsual; j += kUsual) {
      Fused<kLarge>(rho + j * bank.dimension(), theta, j, sink, f);
    }
    const auto weight = [&](std::size_t at) { return hn::Set(tag, theta[at]); };
    HWY_ALIGN float angle[kMost * kWide * kMostLanes];
    while (j < features) {
      const std::size_t count = AtOnce(features - j);
      if (base != nullptr) {
        Rescale(bank.Scales()[kernel], j, count, angle);
      } else {
        Project(rho + j * bank.dimension(), count, angle);
      }
      for (int v = 0; v < kWide; ++v) {
        Vec own_f = hn::Load(tag, f + v * lanes);
        Finish<kLarge>(angle + v * lanes, kWide * lanes, count, features, scale, weight, j,
                       OfVector(sink, v), own_f);
        hn::Store(own_f, tag, f + v * lanes);
      }
      j += count;
    }
    for (int v = 0; v < kWide; ++v) {
      hn::Store(hn::Mul(hn::Load(tag, f + v * lanes), hn::Set(tag, scale)), tag, f + v * lanes);
    }
  }
};

/// Where a sample is not 0.
struct SparseSample {
  const std::uint32_t* columns;
  const float* values;
  std::size_t count;
};

/// A vector of kernels, a few clients. Pointers are to the first lane's numbers; rho, theta and f
/// hold KernelBank::kLanes kernels side by side, rho as KernelBank::PackedFrequencies.
struct KernelLanes {
  static constexpr std::size_t kStride = KernelBank::kBlock * kMostLanes;  // between columns

  // Clients that share a pass over the frequencies, which come from the second-level cache.
  static constexpr std::size_t kMost = HWY_TARGET <= HWY_AVX3 ? 7 : 3;

  /// angle[g][k] = rho_g . x_k for a block of features and `clients` <= kClients clients.
  template <int kClients = kMost>
  static HWY_INLINE void Project(const float* rho, const float* x, std::size_t clients,
                                 std::size_t dimension, float* HWY_RESTRICT angle) {
    if constexpr (kClients > 1) {
      if (clients < kClients) return Project<kClients - 1>(rho, x, clients, dimension, angle);
    }
    // Features whose projections are computed together: as many as the registers hold.
    constexpr bool kAll = kClients == 1 || (HWY_TARGET <= HWY_AVX3 && kClients <= 3);
    constexpr int kCount = kAll ? KernelBank::kBlock : kGroup;
    for (std::size_t g = 0; g < KernelBank::kBlock; g += kCount) {
      ProjectRows<kClients, kCount>(rho + g * kMostLanes, x, dimension,
                                    angle + g * kClients * hn::Lanes(Tag()));
    }
  }

  /// A function of its own: it needs all the registers.
  template <int kClients, int kCount>
  static HWY_NOINLINE void ProjectRows(const float* rho, const float* x, std::size_t dimension,
                                       float* HWY_RESTRICT angle) {
    const Tag tag;
    Vec sum[kCount * kClients];
    const auto add = [&](std::size_t c, const auto& before) {
      for (int g = 0; g < kCount; ++g) {
        const Vec frequency = hn::Load(tag, rho + c * kStride + g * kMostLanes);
        for (int k = 0; k < kClients; ++k) {
          sum[g * kClients + k] =
              hn::MulAdd(frequency, hn::Set(tag, x[k * dimension + c]), before(g * kClients + k));
        }
      }
    };
    add(0, [&](int) { return hn::Zero(tag); });
    for (std::size_t c = 1; c < dimension; ++c) add(c, [&](int a) { return sum[a]; });
    for (int a = 0; a < kCount * kClients; ++a) hn::Store(sum[a], tag, angle + a * hn::Lanes(tag));
  }

  /// The same for one client of whose sample only a few columns are not 0: leaving out the others
  /// changes no bit, because adding rho * 0 does not.
  static HWY_NOINLINE void Project(const float* rho, const SparseSample& x,
                                   float* HWY_RESTRICT angle) {
    constexpr int kCount = KernelBank::kBlock;
    const Tag tag;
    Vec sum[kCount];
    for (int g = 0; g < kCount; ++g) sum[g] = hn::Zero(tag);
    for (std::size_t n = 0; n < x.count; ++n) {
      const Vec value = hn::Set(tag, x.values[n]);
      const float* row = rho + x.columns[n] * kStride;
      for (int g = 0; g < kCount; ++g) {
        sum[g] = hn::MulAdd(hn::Load(tag, row + g * kMostLanes), value, sum[g]);
      }
    }
    for (int g = 0; g < kCount; ++g) hn::Store(sum[g], tag, angle + g * hn::Lanes(tag));
  }
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace polykern
HWY_AFTER_NAMESPACE();

#endif  // target toggle
