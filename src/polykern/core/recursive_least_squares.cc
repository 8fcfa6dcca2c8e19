#include "polykern/core/recursive_least_squares.h"

#include <algorithm>
#include <cassert>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "polykern/core/recursive_least_squares.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace polykern {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Doubles = hn::CappedTag<double, 8>;

/// out = factor * out + by * in, number by number, so that every vector width gives the same bits.
HWY_INLINE void AddScaled(double by, const double* in, double factor, double* out,
                          std::size_t count) {
  const Doubles tag;
  const std::size_t lanes = hn::Lanes(tag);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto added = hn::Mul(hn::Set(tag, by), hn::LoadU(tag, in + i));
    hn::StoreU(hn::MulAdd(hn::Set(tag, factor), hn::LoadU(tag, out + i), added), tag, out + i);
  }
  const hn::CappedTag<double, 1> one;
  for (; i < count; ++i) {
    const auto added = hn::Mul(hn::Set(one, by), hn::LoadU(one, in + i));
    hn::StoreU(hn::MulAdd(hn::Set(one, factor), hn::LoadU(one, out + i), added), one, out + i);
  }
}

/// g = P z by columns, which are rows as well: P is symmetric.
void Gain(const double* p, const double* z, std::size_t width, double* g) {
  std::fill(g, g + width, 0);
  for (std::size_t i = 0; i < width; ++i) AddScaled(z[i], p + i * width, 1, g, width);
}

/// P = (P - g g' / divisor) / forgetting.
void Shrink(const double* g, std::size_t width, double divisor, double forgetting, double* p) {
  for (std::size_t i = 0; i < width; ++i) {
    AddScaled(-g[i] / (divisor * forgetting), g, 1 / forgetting, p + i * width, width);
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
}

void RecursiveLeastSquares::Learn(std::span<const float> z, double y, double predicted,
                                  std::span<double> state, std::span<double> scratch) const {
  assert(z.size() == width_ && state.size() == StateSize() && scratch.size() >= 2 * width_);
  const auto theta = state.subspan(1, width_);
  double* p = state.data() + 1 + width_;
  if (state[0] == 0) {
    for (std::size_t i = 0; i < width_; ++i) p[i * width_ + i] = 1 / ridge_;
  }
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
}

}  // namespace polykern
#endif  // HWY_ONCE
