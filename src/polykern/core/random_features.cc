#include "polykern/core/random_features.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "polykern/core/random_features.cc"
#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "polykern/core/feature_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace polykern {
namespace HWY_NAMESPACE {
namespace {

/// Room for `count` floats, aligned for vectors.
float* Aligned(std::vector<FloatLanes>& buffer, std::size_t count) {
  if (buffer.size() * kMostLanes < count) buffer.resize((count + kMostLanes - 1) / kMostLanes);
  return buffer.data()->lane;
}

/// At least ||x||, of `count` numbers that may belong to several samples of `dimension` numbers.
/// Infinite if one is not finite. In double, so that neither tiny nor huge samples lose it.
double NormBound(const float* x, std::size_t count, std::size_t dimension) {
  const Tag tag;
  const std::size_t lanes = hn::Lanes(tag);
  const Vec infinity = hn::Set(tag, std::numeric_limits<float>::infinity());
  Vec most = hn::Zero(tag);
  const auto take = [&](Vec value) {
    most = hn::Max(most, hn::IfThenElse(hn::IsNaN(value), infinity, hn::Abs(value)));
  };
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) take(hn::LoadU(tag, x + i));
  for (; i < count; ++i) take(hn::Set(tag, x[i]));
  return std::sqrt(static_cast<double>(dimension)) *
         static_cast<double>(hn::GetLane(hn::MaxOfLanes(tag, most)));
}

/// |rho . x| <= ||rho|| ||x||: most kernels need no test for large angles at all.
bool MayBeLarge(const KernelBank& bank, std::size_t first, std::size_t count, double norm) {
  bool large = false;
  for (std::size_t i = first; i < std::min(bank.kernels(), first + count); ++i) {
    const double most = static_cast<double>(bank.LongestFrequency(i)) * norm;
    large = large || !(most < static_cast<double>(kLargeAngle));
  }
  return large;
}

/// Calls found(kernel, place of its features) for what a client wants.
template <class Found>
void ForEachWanted(const KernelBank& bank, const FeatureJob& job, std::size_t client,
                   const Found& found) {
  if (job.first.empty()) return;
  for (std::size_t at = job.first[client]; at < job.first[client + 1]; ++at) {
    found(job.wanted[at], job.z.data() + at * bank.feature_size());
  }
}

/// out[c * out_stride + r] = in[r * in_stride + c]: rows become columns, four at a time.
void Transpose(const float* in, std::size_t in_stride, std::size_t rows, std::size_t columns,
               float* HWY_RESTRICT out, std::size_t out_stride) {
  const Tag tag;
  const std::size_t lanes = hn::Lanes(tag);
  std::size_t r = 0;
  for (; r + kGroup <= rows; r += kGroup, in += kGroup * in_stride) {
    const auto keep = [&](std::size_t c, const float* four) {
      std::memcpy(out + c * out_stride + r, four, kGroup * sizeof(float));
    };
    std::size_t c = 0;
    for (; c + lanes <= columns; c += lanes) {
      const Vec four[kGroup] = {hn::LoadU(tag, in + c), hn::LoadU(tag, in + in_stride + c),
                                hn::LoadU(tag, in + 2 * in_stride + c),
                                hn::LoadU(tag, in + 3 * in_stride + c)};
      ForEachLane(four, AllLanes(),
                  [&](std::size_t lane, const float* numbers) { keep(c + lane, numbers); });
    }
    for (; c < columns; ++c) {
      const float four[kGroup] = {in[c], in[in_stride + c], in[2 * in_stride + c],
                                  in[3 * in_stride + c]};
      keep(c, four);
    }
  }
  for (; r < rows; ++r, in += in_stride) {
    for (std::size_t c = 0; c < columns; ++c) out[c * out_stride + r] = in[c];
  }
}

/// Samples of `count` clients side by side, 0 in the lanes beyond them.
const float* SideBySide(const KernelBank& bank, const FeatureJob& job, std::size_t first,
                        std::size_t count, std::size_t width, FeatureScratch& scratch) {
  const std::size_t dimension = bank.dimension();
  float* x = Aligned(scratch.x, dimension * width);
  if (count < width) std::fill_n(x, dimension * width, 0.0F);
  Transpose(job.x.data() + first * dimension, dimension, count, dimension, x, width);
  return x;
}

/// Angles of the shared draw: features x width; null if every kernel has a draw of its own.
template <int kWide>
const float* BaseAngles(const KernelBank& bank, const float* x, FeatureScratch& scratch) {
  if (bank.SharedFrequencies().empty()) return nullptr;
  using Lanes = ClientLanes<kWide>;
  const std::size_t width = kWide * hn::Lanes(Tag());
  const Lanes lanes{bank, x, nullptr, 0};
  float* base = Aligned(scratch.base, bank.features() * width);
  for (std::size_t j = 0; j < bank.features();) {
    const std::size_t count = Lanes::AtOnce(bank.features() - j);
    lanes.Project(bank.SharedFrequencies().data() + j * bank.dimension(), count, base + j * width);
    j += count;
  }
  return base;
}

template <int kWide>
void EvaluateClientLanes(const KernelBank& bank, const FeatureJob& job, std::size_t first,
                         std::size_t count, FeatureScratch& scratch) {
  const std::size_t width = kWide * hn::Lanes(Tag());
  const std::size_t kernels = bank.kernels();
  const float* x = SideBySide(bank, job, first, count, width, scratch);
  const double norm = NormBound(x, bank.dimension() * width, bank.dimension());
  scratch.slots.resize(kernels * width);
  scratch.wanted.assign(kernels, 0);
  for (std::size_t lane = 0; lane < count; ++lane) {
    ForEachWanted(bank, job, first + lane, [&](std::size_t kernel, float* place) {
      scratch.wanted[kernel] |= kOne << lane;
      scratch.slots[kernel * width + lane] = place;
    });
  }
  float* f = Aligned(scratch.f, kernels * width);
  const ClientLanes<kWide> lanes{bank, x, BaseAngles<kWide>(bank, x, scratch),
                                 1 / std::sqrt(static_cast<float>(bank.features()))};
  for (std::size_t i = 0; i < kernels; ++i) {
    const Sink sink{scratch.wanted[i], &scratch.slots[i * width]};
    const float* theta = job.theta.data() + i * bank.feature_size();
    if (MayBeLarge(bank, i, 1, norm)) {
      lanes.template Kernel<true>(i, theta, sink, f + i * width);
    } else {
      lanes.template Kernel<false>(i, theta, sink, f + i * width);
    }
  }
  Transpose(f, width, kernels, count, job.f.data() + first * kernels, kernels);
}

/// theta with kLanes kernels side by side, as KernelLanes reads it; 0 beyond the last.
const float* PackTheta(const KernelBank& bank, std::span<const float> theta,
                       FeatureScratch& scratch) {
  const std::size_t pack_size = bank.feature_size() * kMostLanes;
  float* packed = Aligned(scratch.theta, bank.packs() * pack_size);
  for (std::size_t i = 0; i < bank.kernels(); i += kMostLanes) {
    float* pack = packed + i / kMostLanes * pack_size;
    const std::size_t count = std::min(kMostLanes, bank.kernels() - i);
    if (count < kMostLanes) std::fill_n(pack, pack_size, 0.0F);
    Transpose(theta.data() + i * bank.feature_size(), bank.feature_size(), count,
              bank.feature_size(), pack, kMostLanes);
  }
  return packed;
}

/// What KernelLanes needs for `clients` clients from `first` on: room for f, where features go, and
/// the norms.
struct KernelTile {
  KernelTile(const KernelBank& b, const FeatureJob& job, std::size_t first, std::size_t clients,
             const float* packed_theta, FeatureScratch& scratch)
      : bank(b),
        theta(packed_theta),
        scale(1 / std::sqrt(static_cast<float>(b.features()))),
        stride(b.packs() * kMostLanes),
        f(Aligned(scratch.f, clients * stride)),
        slots(scratch.slots),
        wanted(scratch.wanted) {
    slots.resize(clients * stride);
    wanted.assign(clients * bank.packs(), 0);
    for (std::size_t k = 0; k < clients; ++k) {
      ForEachWanted(bank, job, first + k, [&](std::size_t kernel, float* place) {
        slots[k * stride + kernel] = place;
        wanted[k * bank.packs() + kernel / kMostLanes] |= kOne << kernel % kMostLanes;
      });
    }
  }

  Sink SinkOf(std::size_t client, std::size_t kernel) const {
    const std::uint64_t pack = wanted[client * bank.packs() + kernel / kMostLanes];
    return {(pack >> kernel % kMostLanes) & AllLanes(), slots.data() + client * stride + kernel};
  }

  /// Features from KernelBank::kBlock * block on of the kernels from `kernel` on, for one client.
  template <bool kLarge>
  HWY_INLINE void FinishBlock(const float* angle, std::size_t angle_stride, std::size_t block,
                              std::size_t client, std::size_t kernel) const {
    const std::size_t j = block * KernelBank::kBlock;
    const std::size_t pack = kernel / kMostLanes * bank.feature_size() * kMostLanes;
    const float* own = theta + pack + kernel % kMostLanes;
    const auto weight = [&](std::size_t at) { return hn::Load(Tag(), own + at * kMostLanes); };
    float* sum = f + client * stride + kernel;
    Vec own_f = hn::Load(Tag(), sum);
    Finish<kLarge>(angle, angle_stride, std::min(KernelBank::kBlock, bank.features() - j),
                   bank.features(), scale, weight, j, SinkOf(client, kernel), own_f);
    hn::Store(own_f, Tag(), sum);
  }

  const float* Rho(std::size_t kernel, std::size_t block) const {
    return bank.PackedFrequencies(kernel / kMostLanes, block)->lane + kernel % kMostLanes;
  }

  const KernelBank& bank;
  const float* theta;  // packed
  float scale;         // 1 / sqrt(D)
  std::size_t stride;  // between the clients' f
  float* f;
  std::vector<float*>& slots;
  std::vector<std::uint64_t>& wanted;
};

/// A vector of kernels, for a few clients.
template <bool kLarge>
void EvaluateKernelVector(const KernelTile& tile, std::size_t clients, std::size_t kernel,
                          const float* x, const float* base) {
  const Tag tag;
  const std::size_t lanes = hn::Lanes(tag);
  const KernelBank& bank = tile.bank;
  HWY_ALIGN float angle[KernelBank::kBlock * KernelLanes::kMost * kMostLanes];
  for (std::size_t k = 0; k < clients; ++k) {
    hn::Store(hn::Zero(tag), tag, tile.f + k * tile.stride + kernel);
  }
  for (std::size_t block = 0; block < bank.blocks(); ++block) {
    if (base != nullptr) {
      const std::size_t j = block * KernelBank::kBlock;
      const std::size_t count = std::min(KernelBank::kBlock, bank.features() - j);
      const Vec scales = hn::LoadU(tag, bank.Scales().data() + kernel);
      for (std::size_t a = 0; a < count * clients; ++a) {
        const float projection = base[(j + a / clients) * lanes + a % clients];
        hn::Store(hn::Mul(scales, hn::Set(tag, projection)), tag, angle + a * lanes);
      }
    } else {
      KernelLanes::Project(tile.Rho(kernel, block), x, clients, bank.dimension(), angle);
    }
    for (std::size_t k = 0; k < clients; ++k) {
      tile.FinishBlock<kLarge>(angle + k * lanes, clients * lanes, block, k, kernel);
    }
  }
}

/// f of the tile's clients, which are complete but for the factor 1 / sqrt(D).
void WriteF(const KernelTile& tile, const FeatureJob& job, std::size_t first, std::size_t clients) {
  const std::size_t kernels = tile.bank.kernels();
  for (std::size_t k = 0; k < clients; ++k) {
    float* out = job.f.data() + (first + k) * kernels;
    for (std::size_t i = 0; i < kernels; ++i) out[i] = tile.f[k * tile.stride + i] * tile.scale;
  }
}

void EvaluateKernelLanes(const KernelBank& bank, const FeatureJob& job, std::size_t first,
                         std::size_t clients, const float* theta, FeatureScratch& scratch) {
  const std::size_t lanes = hn::Lanes(Tag());
  const KernelTile tile(bank, job, first, clients, theta, scratch);
  const float* x = job.x.data() + first * bank.dimension();
  const double norm = NormBound(x, clients * bank.dimension(), bank.dimension());
  const float* base = nullptr;
  if (!bank.SharedFrequencies().empty()) {
    base = BaseAngles<1>(bank, SideBySide(bank, job, first, clients, lanes, scratch), scratch);
  }
  for (std::size_t i = 0; i < bank.kernels(); i += lanes) {
    if (MayBeLarge(bank, i, lanes, norm)) {
      EvaluateKernelVector<true>(tile, clients, i, x, base);
    } else {
      EvaluateKernelVector<false>(tile, clients, i, x, base);
    }
  }
  WriteF(tile, job, first, clients);
}

/// The columns of a sample that are not 0, client after client.
void FindColumns(const KernelBank& bank, const FeatureJob& job, FeatureScratch& scratch) {
  scratch.starts.assign(1, 0);
  scratch.columns.clear();
  scratch.values.clear();
  for (std::size_t k = 0; k < job.clients; ++k) {
    for (std::size_t c = 0; c < bank.dimension(); ++c) {
      const float value = job.x[k * bank.dimension() + c];
      if (value == 0) continue;
      scratch.columns.push_back(static_cast<std::uint32_t>(c));
      scratch.values.push_back(value);
    }
    scratch.starts.push_back(scratch.columns.size());
  }
}

/// Samples that are mostly 0. A block of frequencies is used for all clients before the next, so
/// that it comes from memory once.
void EvaluateSparse(const KernelBank& bank, const FeatureJob& job, FeatureScratch& scratch) {
  const std::size_t lanes = hn::Lanes(Tag());
  FindColumns(bank, job, scratch);
  const KernelTile tile(bank, job, 0, job.clients, PackTheta(bank, job.theta, scratch), scratch);
  std::fill_n(tile.f, job.clients * tile.stride, 0.0F);
  const double norm = NormBound(job.x.data(), job.x.size(), bank.dimension());
  HWY_ALIGN float angle[KernelBank::kBlock * kMostLanes];
  for (std::size_t i = 0; i < bank.kernels(); i += lanes) {
    const bool large = MayBeLarge(bank, i, lanes, norm);
    for (std::size_t block = 0; block < bank.blocks(); ++block) {
      const float* rho = tile.Rho(i, block);
      for (std::size_t k = 0; k < job.clients; ++k) {
        const std::size_t start = scratch.starts[k];
        KernelLanes::Project(rho,
                             {scratch.columns.data() + start, scratch.values.data() + start,
                              scratch.starts[k + 1] - start},
                             angle);
        if (large) {
          tile.FinishBlock<true>(angle, lanes, block, k, i);
        } else {
          tile.FinishBlock<false>(angle, lanes, block, k, i);
        }
      }
    }
  }
  WriteF(tile, job, 0, job.clients);
}

/// True if leaving out the zeros pays: it costs a load for every multiplication.
bool IsSparse(const KernelBank& bank, const FeatureJob& job) {
  constexpr std::size_t kLeastDimension = 32;
  constexpr std::size_t kLeastZeros = 4;  // columns per column that is not 0
  if (bank.dimension() < kLeastDimension || !bank.SharedFrequencies().empty()) return false;
  std::size_t filled = 0;
  for (const float value : job.x) filled += value != 0 ? 1 : 0;
  return filled * kLeastZeros <= job.x.size();
}

void Evaluate(const KernelBank& bank, const FeatureJob& job, FeatureScratch& scratch) {
  if (IsSparse(bank, job)) return EvaluateSparse(bank, job, scratch);
  const std::size_t lanes = hn::Lanes(Tag());
  // Vectors per feature that a client takes as kernel lanes. A vector costs 1.4 times as much
  // there, and where one vector of clients goes alone, as in two vectors of clients at once
  // (measured).
  const std::size_t per_client = (bank.kernels() + lanes - 1) / lanes;
  const auto two_pay = [&](std::size_t left) {
    return left >= 2 * lanes ||
           (left > lanes && 7 * (left - lanes) * per_client >= 3 * bank.kernels());
  };
  const float* theta = nullptr;
  std::size_t first = 0;
  if constexpr (HWY_TARGET <= HWY_AVX3) {  // it has the registers
    for (; first + 4 * lanes <= job.clients; first += 4 * lanes) {
      EvaluateClientLanes<4>(bank, job, first, 4 * lanes, scratch);
    }
  }
  while (first < job.clients) {
    const std::size_t left = job.clients - first;
    std::size_t count = 0;
    if (two_pay(left)) {
      count = std::min(left, 2 * lanes);
      EvaluateClientLanes<2>(bank, job, first, count, scratch);
    } else if (left * per_client >= bank.kernels()) {
      count = std::min(left, lanes);
      EvaluateClientLanes<1>(bank, job, first, count, scratch);
    } else {
      if (theta == nullptr) theta = PackTheta(bank, job.theta, scratch);
      count = std::min(left, KernelLanes::kMost);
      EvaluateKernelLanes(bank, job, first, count, theta, scratch);
    }
    first += count;
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
  assert(job.first.empty()
             ? job.wanted.empty()
             : job.first.size() == job.clients + 1 && job.first.back() == job.wanted.size());
  assert(job.f.size() == job.clients * bank.kernels());
  assert(job.z.size() == job.wanted.size() * bank.feature_size());
  HWY_DYNAMIC_DISPATCH(Evaluate)(bank, job, scratch);
}

}  // namespace polykern
#endif  // HWY_ONCE
