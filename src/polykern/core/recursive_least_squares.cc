#include "polykern/core/recursive_least_squares.h"

#include <algorithm>
#include <cassert>
#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "polykern/core/recursive_least_squares.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "polykern/core/clean_uppers-inl.h"
#include "polykern/core/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace polykern {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Doubles = hn::CappedTag<double, 8>;

/// out = factor * out + by * (at * in), for as many numbers as the tag's vectors have, again and
/// again; returns where it stopped. Number by number, so that every width gives the same bits.
template <class Tag>
HWY_INLINE std::size_t AddScaled(Tag tag, double by, double at, const double* in, double factor,
                                 double* out, std::size_t from, std::size_t count) {
  const std::size_t lanes = hn::Lanes(tag);
  for (; from + lanes <= count; from += lanes) {
    const auto product = hn::Mul(hn::Set(tag, at), hn::LoadU(tag, in + from));
    const auto kept = hn::LoadU(tag, out + from);
    hn::StoreU(hn::MulAdd(hn::Set(tag, factor), kept, hn::Mul(hn::Set(tag, by), product)), tag,
               out + from);
  }
  return from;
}
HWY_INLINE void AddScaled(double by, double at, const double* in, double factor, double* out,
                          std::size_t count) {
  std::size_t done = AddScaled(Doubles(), by, at, in, factor, out, 0, count);
  done = AddScaled(hn::CappedTag<double, 2>(), by, at, in, factor, out, done, count);
  AddScaled(hn::CappedTag<double, 1>(), by, at, in, factor, out, done, count);
}

/// g = P z by columns, which are rows as well: P is symmetric. Sums stay in registers; the last
/// vectors overlap.
template <class Tag>
HWY_INLINE void GainOf(Tag tag, const double* HWY_RESTRICT p, const double* HWY_RESTRICT z,
                       std::size_t width, double* HWY_RESTRICT g) {
  constexpr std::size_t kTogether = 5;  // enough for the 34 features that experts have by default
  const std::size_t lanes = hn::Lanes(tag);
  for (std::size_t from = 0; from < width; from += kTogether * lanes) {
    std::size_t at[kTogether];
    hn::Vec<Tag> sum[kTogether];
    POLYKERN_UNROLL
    for (std::size_t v = 0; v < kTogether; ++v) {
      at[v] = std::min(from + v * lanes, width - lanes);
      sum[v] = hn::Zero(tag);
    }
    for (std::size_t i = 0; i < width; ++i) {
      const auto by = hn::Set(tag, z[i]);
      POLYKERN_UNROLL
      for (std::size_t v = 0; v < kTogether; ++v) {
        sum[v] = hn::Add(sum[v], hn::Mul(by, hn::LoadU(tag, p + i * width + at[v])));
      }
    }
    POLYKERN_UNROLL
    for (std::size_t v = 0; v < kTogether; ++v) hn::StoreU(sum[v], tag, g + at[v]);
  }
}
void Gain(const double* p, const double* z, std::size_t width, double* g) {
  const CleanUppers at_the_end;
  if (width >= hn::Lanes(Doubles())) {
    GainOf(Doubles(), p, z, width, g);
  } else {
    GainOf(hn::CappedTag<double, 1>(), p, z, width, g);
  }
}

/// P = (P - g g' / divisor) / forgetting. g_i g_j comes first, so P stays symmetric to the last
/// bit: with forgetting, what is not symmetric would grow.
void Shrink(const double* g, std::size_t width, double divisor, double forgetting, double* p) {
  const CleanUppers at_the_end;
  const double by = -1 / (divisor * forgetting);
  for (std::size_t i = 0; i < width; ++i) {
    AddScaled(by, g[i], g, 1 / forgetting, p + i * width, width);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace polykern
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace polykern {

HWY_EXPORT(Gain);
HWY_EXPORT(Shrink);

RecursiveLeastSquares::RecursiveLeastSquares(std::size_t width, double ridge, double forgetting)
    : width_(width), ridge_(ridge), forgetting_(forgetting) {
  assert(ridge > 0 && forgetting > 0 && forgetting <= 1);
  if (forgetting == 1) return;
  double left = 0;  // of the ridge, after a round over all axes
  while (left < 0.5 && axes_ < width) {
    ++axes_;
    left = 1;
    for (std::size_t sample = 0; sample * axes_ < width; ++sample) left *= forgetting;
  }
  returned_ = ridge * (1 - left);
}

void RecursiveLeastSquares::Learn(std::span<const float> z, double y, double predicted,
                                  std::span<double> state, std::span<double> scratch) const {
  assert(z.size() == width_ && state.size() == StateSize() && scratch.size() >= 2 * width_);
  const auto theta = state.subspan(1, width_);
  double* p = state.data() + 1 + width_;
  if (state[0] == 0) {
    for (std::size_t i = 0; i < width_; ++i) p[i * width_ + i] = 1 / ridge_;
  }
  const auto seen = static_cast<std::uint64_t>(state[0]);
  state[0] += 1;
  const auto sample = scratch.first(width_);
  const auto gain = scratch.subspan(width_, width_);
  std::copy(z.begin(), z.end(), sample.begin());
  HWY_DYNAMIC_DISPATCH(Gain)(p, sample.data(), width_, gain.data());
  double divisor = forgetting_;
  for (std::size_t i = 0; i < width_; ++i) divisor += sample[i] * gain[i];
  const double step = (y - predicted) / divisor;
  for (std::size_t i = 0; i < width_; ++i) theta[i] += gain[i] * step;
  HWY_DYNAMIC_DISPATCH(Shrink)(gain.data(), width_, divisor, forgetting_, p);
  // An axis gets its ridge as a sample that lies on it and has the label 0.
  for (std::size_t a = 0; a < axes_; ++a) {
    const std::size_t axis = (seen * axes_ + a) % width_;
    std::copy_n(p + axis * width_, width_, gain.begin());
    const double along = 1 / returned_ + gain[axis];
    const double back = -theta[axis] / along;
    for (std::size_t i = 0; i < width_; ++i) theta[i] += gain[i] * back;
    HWY_DYNAMIC_DISPATCH(Shrink)(gain.data(), width_, along, 1, p);
  }
}

}  // namespace polykern
#endif  // HWY_ONCE
