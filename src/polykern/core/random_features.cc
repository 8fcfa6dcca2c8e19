#include "polykern/core/random_features.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "polykern/core/random_features.cc"
#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "polykern/core/clean_uppers-inl.h"
#include "polykern/core/feature_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace polykern {
namespace HWY_NAMESPACE {
namespace {

constexpr std::uint32_t kUnwanted = std::numeric_limits<std::uint32_t>::max();

/// Clients that share a pass over the frequencies.
constexpr std::size_t kMostClients = kManyRegisters ? 8 : 4;

/// Room for `count` floats, aligned for vectors.
float* Aligned(std::vector<FloatLanes>& buffer, std::size_t count) {
  if (buffer.size() * kRowLanes < count) buffer.resize((count + kRowLanes - 1) / kRowLanes);
  return buffer.data()->lane;
}

/// True for NaN as well.
HWY_INLINE hn::Mask<Tag> NotZero(Vec value) {
  return hn::Not(hn::Eq(value, hn::Zero(Tag())));
}

/// What a look at all samples tells.
struct Overview {
  double norm;  // none is longer; infinite if a number is not finite
  bool sparse;  // leaving out the zeros pays: it costs a load for every multiplication
};

Overview LookAt(const PackedKernels& packed, std::span<const float> x) {
  const Tag tag;
  const std::size_t lanes = hn::Lanes(tag);
  const Vec infinity = hn::Set(tag, std::numeric_limits<float>::infinity());
  Vec most = hn::Zero(tag);
  std::size_t filled = 0;
  const auto take = [&](Vec value) {
    most = hn::Max(most, hn::IfThenElse(hn::IsNaN(value), infinity, hn::Abs(value)));
  };
  std::size_t i = 0;
  for (; i + lanes <= x.size(); i += lanes) {
    const Vec value = hn::LoadU(tag, x.data() + i);
    take(value);
    filled += hn::CountTrue(tag, NotZero(value));
  }
  for (; i < x.size(); ++i) {
    take(hn::Set(tag, x[i]));
    filled += x[i] != 0 ? 1 : 0;
  }
  constexpr std::size_t kLeastDimension = 32;
  constexpr std::size_t kLeastShared = 5;  // vectors; finding the columns costs as much as four
  constexpr std::size_t kLeastZeros = 4;   // columns per column that is not 0
  const bool long_rows = !packed.shared() || packed.shared_vectors() >= kLeastShared;
  // In double, so that neither tiny nor huge samples lose their norm.
  return {std::sqrt(static_cast<double>(packed.dimension())) *
              static_cast<double>(hn::GetLane(hn::MaxOfLanes(tag, most))),
          packed.dimension() >= kLeastDimension && long_rows && filled * kLeastZeros <= x.size()};
}

/// One call of EvaluateKernels.
class Evaluation {
 public:
  Evaluation(const PackedKernels& packed, const FeatureJob& job, FeatureScratch& scratch)
      : packed_(packed),
        job_(job),
        scratch_(scratch),
        seen_(LookAt(packed, job.x)),
        scale_(1 / std::sqrt(static_cast<float>(packed.features()))),
        row_size_(packed.row_vectors() * kRowLanes) {
    angle_ = Aligned(scratch.angle, kMostClients * row_size_);
    unwanted_ = Aligned(scratch.unwanted, packed.feature_size());
    SplitTheta();
    NotePlaces();
    if (seen_.sparse) FindColumns();
    if (packed.shared()) ProjectShared();
  }

  /// Group after group of kernels for all clients, so that its frequencies come from memory once;
  /// every other time backwards, so that those that were used last come from the cache.
  void Run() {
    scratch_.backwards = !scratch_.backwards;
    for (std::size_t g = 0; g < packed_.groups(); ++g) {
      const std::size_t group = scratch_.backwards ? packed_.groups() - 1 - g : g;
      const bool large = MayBeLarge(group);
      ForEachTile([&](const auto& samples, std::size_t first, std::size_t count) {
        Project(group, samples, first, count);
        if (large) {
          Finish<true>(group, first, count);
        } else {
          Finish<false>(group, first, count);
        }
      });
    }
  }

 private:
  /// Calls work(their samples, first, count) for the clients, as many at once as pays.
  template <class Work>
  void ForEachTile(const Work& work) const {
    for (std::size_t first = 0; first < job_.clients;) {
      const std::size_t left = job_.clients - first;
      if (seen_.sparse) {
        const std::size_t start = scratch_.starts[first];
        work(SparseSample{scratch_.columns.data() + start, scratch_.values.data() + start,
                          scratch_.starts[first + 1] - start},
             first, 1);
        first += 1;
      } else if (left > 4 && kManyRegisters) {
        first += DenseTile<8>(first, left, work);
      } else if (left > 1) {
        first += DenseTile<4>(first, left, work);
      } else {
        first += DenseTile<1>(first, left, work);
      }
    }
  }

  template <int kClients, class Work>
  std::size_t DenseTile(std::size_t first, std::size_t left, const Work& work) const {
    DenseSamples<kClients> samples;
    samples.columns = packed_.dimension();
    for (std::size_t k = 0; k < kClients; ++k) {  // the last one also in places beyond it
      samples.row[k] = job_.x.data() + (first + std::min(k, left - 1)) * packed_.dimension();
    }
    const std::size_t count = std::min<std::size_t>(kClients, left);
    work(samples, first, count);
    return count;
  }

  /// Angles of a group, a row for each of the clients.
  template <class Samples>
  void Project(std::size_t group, const Samples& samples, std::size_t first, std::size_t count) {
    if (!packed_.shared()) {
      ProjectRow(packed_.Group(group)->lane, row_size_, samples, angle_, row_size_);
      return;
    }
    const Tag tag;
    HWY_ALIGN float scales[kRowLanes] = {};
    for (std::size_t q = 0; q < KernelsOf(group); ++q) {
      std::fill_n(scales + q * kRun, kRun, packed_.Scale(group * kGroup + q));
    }
    for (std::size_t k = 0; k < count; ++k) {
      const float* base = scratch_.base.data()->lane + (first + k) * BaseSize();
      for (std::size_t i = 0; i < row_size_; i += hn::Lanes(tag)) {
        const float* run = base + i / kRowLanes * kRun;
#if HWY_TARGET == HWY_SCALAR
        const Vec own = hn::Load(tag, run + i % kRun);
#else
        const Vec own = hn::LoadDup128(tag, run);
#endif
        const Vec by = hn::Load(tag, scales + i % kRowLanes);
        hn::Store(hn::Mul(by, own), tag, angle_ + k * row_size_ + i);
      }
    }
  }

  /// Angles of the shared draw, client after client.
  void ProjectShared() {
    float* base = Aligned(scratch_.base, (job_.clients + kMostClients) * BaseSize());
    ForEachTile([&](const auto& samples, std::size_t first, std::size_t) {
      ProjectRow(packed_.Shared()->lane, BaseSize(), samples, base + first * BaseSize(),
                 BaseSize());
    });
  }
  std::size_t BaseSize() const {
    return packed_.shared_vectors() * kRowLanes;
  }

  std::size_t KernelsOf(std::size_t group) const {
    return std::min(kGroup, packed_.kernels() - group * kGroup);
  }

  /// From the angles of a group to f and, where they are wanted, features.
  template <bool kLarge>
  HWY_NOINLINE void Finish(std::size_t group, std::size_t first, std::size_t count) {
    const float* theta = scratch_.theta.data()->lane + group * row_size_;
    const RowEnd end{packed_.features(), theta, theta + packed_.groups() * row_size_, scale_};
    const std::size_t kernels = KernelsOf(group);
    for (std::size_t k = 0; k < count; ++k) {
      const float* angle = angle_ + k * row_size_;
      const std::size_t kernel = (first + k) * packed_.kernels() + group * kGroup;
      float f[kGroup];
      float* z[kGroup];
      if (FindPlaces(group, first + k, z)) {
        FinishRow<kLarge, true>(end, angle, z, f);
      } else {
        FinishRow<kLarge, false>(end, angle, nullptr, f);
      }
      if (kernels == kGroup) {
        std::memcpy(job_.f.data() + kernel, f, sizeof(f));
      } else {
        std::copy_n(f, kernels, job_.f.data() + kernel);
      }
    }
  }

  /// Where the features of a group's kernels go; false if they are not wanted.
  HWY_INLINE bool FindPlaces(std::size_t group, std::size_t client, float** z) const {
    const std::uint32_t* places =
        scratch_.places.data() + (client * packed_.groups() + group) * kGroup;
    bool any = false;
    for (std::size_t q = 0; q < kGroup; ++q) {
      const bool wanted = places[q] != kUnwanted;
      z[q] = wanted ? job_.z.data() + places[q] * packed_.feature_size() : unwanted_;
      any = any || wanted;
    }
    return any;
  }

  /// |rho . x| <= ||rho|| ||x||: most kernels need no test for large angles at all.
  bool MayBeLarge(std::size_t group) const {
    bool large = false;
    for (std::size_t q = 0; q < KernelsOf(group); ++q) {
      const float longest = packed_.LongestFrequency(group * kGroup + q);
      large =
          large || !(static_cast<double>(longest) * seen_.norm < static_cast<double>(kLargeAngle));
    }
    return large;
  }

  /// theta in the order of the rows: what belongs to sines, then what belongs to cosines.
  void SplitTheta() {
    const std::size_t features = packed_.features();
    const std::size_t whole = features / kRun * kRun;
    const std::size_t size = packed_.groups() * row_size_;
    float* out = Aligned(scratch_.theta, 2 * size);
    for (float* part : {out, out + size}) {
      if (whole < features) std::fill_n(part, size, 0.0F);
      if (packed_.kernels() % kGroup != 0) std::fill_n(part + size - row_size_, row_size_, 0.0F);
      const float* HWY_RESTRICT in = job_.theta.data() + (part == out ? 0 : features);
      for (std::size_t i = 0; i < packed_.kernels(); ++i, in += packed_.feature_size()) {
        float* HWY_RESTRICT run = part + i / kGroup * row_size_ + i % kGroup * kRun;
        for (std::size_t j = 0; j < whole; j += kRun, run += kRowLanes) {
          std::memcpy(run, in + j, kRun * sizeof(float));
        }
        for (std::size_t j = whole; j < features; ++j) *run++ = in[j];
      }
    }
  }

  void NotePlaces() {
    const std::size_t stride = packed_.groups() * kGroup;
    scratch_.places.assign(job_.clients * stride, kUnwanted);
    for (std::size_t k = 0; k < job_.clients && !job_.first.empty(); ++k) {
      std::uint32_t* places = scratch_.places.data() + k * stride;
      for (std::size_t at = job_.first[k]; at < job_.first[k + 1]; ++at) {
        places[job_.wanted[at]] = static_cast<std::uint32_t>(at);
      }
    }
  }

  /// The columns of a sample that are not 0, client after client.
  void FindColumns() {
    const Tag tag;
    const std::size_t lanes = hn::Lanes(tag);
    const std::size_t columns = packed_.dimension();
    scratch_.starts.assign(1, 0);
    scratch_.columns.resize(job_.x.size());
    scratch_.values.resize(job_.x.size());
    std::size_t found = 0;
    const float* x = job_.x.data();
    const auto note = [&](std::size_t c) {
      scratch_.columns[found] = static_cast<std::uint32_t>(c);
      scratch_.values[found++] = x[c];
    };
    for (std::size_t k = 0; k < job_.clients; ++k, x += columns) {
      std::size_t c = 0;
      for (; c + lanes <= columns; c += lanes) {
        const auto filled = NotZero(hn::LoadU(tag, x + c));
        std::uint8_t bytes[8] = {};
        hn::StoreMaskBits(tag, filled, bytes);
        for (unsigned bits = bytes[0] | bytes[1] << 8; bits != 0; bits &= bits - 1) {
          note(c + static_cast<std::size_t>(std::countr_zero(bits)));
        }
      }
      for (; c < columns; ++c) {
        if (x[c] != 0) note(c);
      }
      scratch_.starts.push_back(found);
    }
  }

  const PackedKernels& packed_;
  const FeatureJob& job_;
  FeatureScratch& scratch_;
  Overview seen_;
  float scale_;           // 1 / sqrt(D)
  std::size_t row_size_;  // floats
  float* angle_;
  float* unwanted_;
};

void Evaluate(const PackedKernels& packed, const FeatureJob& job, FeatureScratch& scratch) {
  const CleanUppers at_the_end;
  Evaluation(packed, job, scratch).Run();
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace polykern
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace polykern {

HWY_EXPORT(Evaluate);

void EvaluateKernels(const PackedKernels& packed, const FeatureJob& job, FeatureScratch& scratch) {
  assert(job.x.size() == job.clients * packed.dimension());
  assert(job.theta.size() == packed.kernels() * packed.feature_size());
  assert(job.first.empty()
             ? job.wanted.empty()
             : job.first.size() == job.clients + 1 && job.first.back() == job.wanted.size());
  assert(job.wanted.size() < std::numeric_limits<std::uint32_t>::max());
  assert(job.f.size() == job.clients * packed.kernels());
  assert(job.z.size() == job.wanted.size() * packed.feature_size());
  HWY_DYNAMIC_DISPATCH(Evaluate)(packed, job, scratch);
}

}  // namespace polykern
#endif  // HWY_ONCE
