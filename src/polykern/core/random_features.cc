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
