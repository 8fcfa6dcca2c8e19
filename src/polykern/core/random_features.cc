#include "polykern/core/random_features.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "polykern/core/random_features.cc"
#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "polykern/core/sincos-inl.h"

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

/// Room for `count` floats, aligned for vectors.
float* Aligned(std::vector<FloatLanes>& buffer, std::size_t count) {
  if (buffer.size() * kMostLanes < count) buffer.resize((count + kMostLanes - 1) / kMostLanes);
  return buffer.data()->lane;
}

/// The size of a sample in double, so that neither tiny nor huge ones lose it; infinite if a value
/// is not finite.
double Norm(std::span<const float> sample) {
  double square = 0;
  for (const float value : sample)
    square += static_cast<double>(value) * static_cast<double>(value);
  return std::isfinite(square) ? std::sqrt(square) : std::numeric_limits<double>::infinity();
}

/// |rho . x| <= ||rho|| ||x||: most kernels need no test for large angles at all.
bool MayBeLarge(const KernelBank& bank, std::size_t kernel, double norm) {
  return !(static_cast<double>(bank.LongestFrequency(kernel)) * norm <
           static_cast<double>(kLargeAngle));
}

/// Calls found(slot, kernel) for what a client wants.
template <class Found>
void ForEachWanted(const FeatureJob& job, std::size_t client, const Found& found) {
  for (std::size_t slot = 0; slot < job.wanted_per_client; ++slot) {
    const std::size_t at = client * job.wanted_per_client + slot;
    if (job.wanted[at] != kNoKernel) found(at, job.wanted[at]);
  }
}

template <int kWide>
void EvaluateClientLanes(const KernelBank& bank, const FeatureJob& job, std::size_t first,
                         std::size_t count, FeatureScratch& scratch) {
  const std::size_t width = kWide * hn::Lanes(Tag());
  const std::size_t dimension = bank.dimension();
  const std::size_t kernels = bank.kernels();
  const std::size_t size = bank.feature_size();
  float* x = Aligned(scratch.x, dimension * width);
  double norm = 0;
  for (std::size_t lane = 0; lane < width; ++lane) {
    if (lane < count) {
      const auto sample = job.x.subspan((first + lane) * dimension, dimension);
      norm = std::max(norm, Norm(sample));
      for (std::size_t c = 0; c < dimension; ++c) x[c * width + lane] = sample[c];
    } else {
      for (std::size_t c = 0; c < dimension; ++c) x[c * width + lane] = 0;
    }
  }
  scratch.slots.assign(kernels * width, nullptr);
  scratch.wanted.assign(kernels, 0);
  for (std::size_t lane = 0; lane < count; ++lane) {
    ForEachWanted(job, first + lane, [&](std::size_t at, std::size_t kernel) {
      scratch.wanted[kernel] |= std::uint64_t{1} << lane;
      scratch.slots[kernel * width + lane] = job.z.data() + at * size;
    });
  }
  float* f = Aligned(scratch.f, kernels * width);
  const ClientLanes<kWide> lanes{bank, x, 1 / std::sqrt(static_cast<float>(bank.features()))};
  Sink sink;
  for (std::size_t i = 0; i < kernels; ++i) {
    sink.lanes = scratch.wanted[i];
    if (sink.lanes != 0) std::copy_n(&scratch.slots[i * width], width, sink.place);
    const Sink* wanted = sink.lanes == 0 ? nullptr : &sink;
    const float* theta = job.theta.data() + i * size;
    if (MayBeLarge(bank, i, norm)) {
      lanes.template Kernel<true>(i, theta, wanted, f + i * width);
    } else {
      lanes.template Kernel<false>(i, theta, wanted, f + i * width);
    }
  }
  for (std::size_t lane = 0; lane < count; ++lane) {
    float* out = job.f.data() + (first + lane) * kernels;
    for (std::size_t i = 0; i < kernels; ++i) out[i] = f[i * width + lane];
  }
}

/// theta with kLanes kernels side by side, as KernelLanes reads it.
const float* PackTheta(const KernelBank& bank, std::span<const float> theta,
                       FeatureScratch& scratch) {
  const Tag tag;
  const std::size_t size = bank.feature_size();
  const std::size_t packs = (bank.kernels() + kMostLanes - 1) / kMostLanes;
  float* packed = Aligned(scratch.theta, packs * size * kMostLanes);
  for (std::size_t i = 0; i < packs * kMostLanes; i += kGroup) {
    float* out = packed + i / kMostLanes * size * kMostLanes + i % kMostLanes;
    const auto row = [&](std::size_t r) { return theta.data() + (i + r) * size; };
    std::size_t j = 0;
    if (i + kGroup <= bank.kernels()) {
      const std::size_t lanes = hn::Lanes(tag);
      const std::uint64_t all = (std::uint64_t{1} << lanes) - 1;
      for (; j + lanes <= size; j += lanes) {
        const Vec rows[kGroup] = {hn::LoadU(tag, row(0) + j), hn::LoadU(tag, row(1) + j),
                                  hn::LoadU(tag, row(2) + j), hn::LoadU(tag, row(3) + j)};
        ForEachLane(rows, all, [&](std::size_t lane, const float* four) {
          std::memcpy(out + (j + lane) * kMostLanes, four, kGroup * sizeof(float));
        });
      }
    }
    for (; j < size; ++j) {
      for (std::size_t r = 0; r < kGroup; ++r) {
        out[j * kMostLanes + r] = i + r < bank.kernels() ? row(r)[j] : 0.0F;
      }
    }
  }
  return packed;
}

template <int kClients>
void EvaluateKernelLanes(const KernelBank& bank, const FeatureJob& job, std::size_t first,
                         const float* theta, FeatureScratch& scratch) {
  const std::size_t lanes = hn::Lanes(Tag());
  const std::size_t dimension = bank.dimension();
  const std::size_t kernels = bank.kernels();
  const std::size_t size = bank.feature_size();
  double norm = 0;
  for (int k = 0; k < kClients; ++k) {
    norm = std::max(norm, Norm(job.x.subspan((first + k) * dimension, dimension)));
  }
  const std::size_t f_stride = (kernels + kMostLanes - 1) / kMostLanes * kMostLanes;
  float* f = Aligned(scratch.f, kClients * f_stride);
  const KernelLanes<kClients> tile{bank, 1 / std::sqrt(static_cast<float>(bank.features()))};
  Sink sinks[kClients];
  for (std::size_t i = 0; i < kernels; i += lanes) {
    for (int k = 0; k < kClients; ++k) {
      sinks[k].lanes = 0;
      ForEachWanted(job, first + k, [&](std::size_t at, std::size_t kernel) {
        if (kernel < i || kernel >= i + lanes) return;
        sinks[k].lanes |= std::uint64_t{1} << (kernel - i);
        sinks[k].place[kernel - i] = job.z.data() + at * size;
      });
    }
    bool large = false;
    for (std::size_t n = i; n < std::min(kernels, i + lanes); ++n) {
      large = large || MayBeLarge(bank, n, norm);
    }
    const float* rho = bank.PackedFrequencies(i / kMostLanes)->lane + i % kMostLanes;
    const float* weights = theta + i / kMostLanes * size * kMostLanes + i % kMostLanes;
    const float* x = job.x.data() + first * dimension;
    if (large) {
      tile.template Kernels<true>(rho, weights, x, sinks, f + i, f_stride);
    } else {
      tile.template Kernels<false>(rho, weights, x, sinks, f + i, f_stride);
    }
  }
  for (int k = 0; k < kClients; ++k) {
    std::copy_n(f + k * f_stride, kernels, job.f.data() + (first + k) * kernels);
  }
}

void Evaluate(const KernelBank& bank, const FeatureJob& job, FeatureScratch& scratch) {
  const std::size_t lanes = hn::Lanes(Tag());
  // Vectors per feature that a few clients take in either layout.
  const std::size_t per_client = (bank.kernels() + lanes - 1) / lanes;
  const float* theta = nullptr;
  for (std::size_t first = 0; first < job.clients;) {
    const std::size_t left = job.clients - first;
    if (left >= 2 * lanes || (left > lanes && (left - lanes) * per_client >= bank.kernels())) {
      const std::size_t count = std::min(left, 2 * lanes);
      EvaluateClientLanes<2>(bank, job, first, count, scratch);
      first += count;
    } else if (left * per_client >= bank.kernels()) {
      const std::size_t count = std::min(left, lanes);
      EvaluateClientLanes<1>(bank, job, first, count, scratch);
      first += count;
    } else {
      if (theta == nullptr) theta = PackTheta(bank, job.theta, scratch);
      if (left >= 3) {
        EvaluateKernelLanes<3>(bank, job, first, theta, scratch);
        first += 3;
      } else if (left == 2) {
        EvaluateKernelLanes<2>(bank, job, first, theta, scratch);
        first += 2;
      } else {
        EvaluateKernelLanes<1>(bank, job, first, theta, scratch);
        first += 1;
      }
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
