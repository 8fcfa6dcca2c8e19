#include "bench/machine_limits.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/machine_limits.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "polykern/core/sincos-inl.h"

HWY_BEFORE_NAMESPACE();
namespace polykern {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::CappedTag<float, 16>;
using Vec = hn::Vec<Tag>;

// Read and written through memory that the compiler cannot see through, so that nothing is folded
// or left out.
volatile float factor = 0.999F;
volatile float term = 0.001F;
volatile float sink = 0;

template <class T>
HWY_INLINE double MultiplyAddsOf(T) {
  // Two units with a latency of four cycles need eight chains; four of two cycles as many.
  constexpr std::size_t kChains = 12;
  constexpr std::size_t kRounds = 4096;
  const T tag;
  using Lane = hn::TFromD<T>;
  const auto a = hn::Set(tag, static_cast<Lane>(factor));
  const auto b = hn::Set(tag, static_cast<Lane>(term));
  hn::Vec<T> chain[kChains];
  for (auto& c : chain) c = b;
  for (std::size_t round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < kChains; ++i) chain[i] = hn::MulAdd(chain[i], a, b);
  }
  auto sum = chain[0];
  for (std::size_t i = 1; i < kChains; ++i) sum = hn::Add(sum, chain[i]);
  sink = static_cast<float>(hn::GetLane(sum));
  return 2.0 * static_cast<double>(kRounds * kChains * hn::Lanes(tag));
}

double MultiplyAdds() {
  return MultiplyAddsOf(Tag());
}

double DoubleMultiplyAdds() {
  return MultiplyAddsOf(hn::CappedTag<double, 8>());
}

double SinesAndCosines() {
  constexpr std::size_t kAngles = 1024;  // 12 kB with both results
  constexpr std::size_t kRounds = 16;
  constexpr std::size_t kUnroll = 4;
  HWY_ALIGN float angles[kAngles];
  HWY_ALIGN float sines[kAngles];
  HWY_ALIGN float cosines[kAngles];
  const Tag tag;
  const std::size_t lanes = hn::Lanes(tag);
  const float spread = term * 30;  // up to 30, as the shortest kernels of the dictionary have
  for (std::size_t i = 0; i < kAngles; ++i) angles[i] = spread * static_cast<float>(i);
  for (std::size_t round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < kAngles; i += kUnroll * lanes) {
      Vec sine[kUnroll];
      Vec cosine[kUnroll];
      for (std::size_t u = 0; u < kUnroll; ++u) {
        SinCos(tag, hn::Load(tag, angles + i + u * lanes), sine[u], cosine[u]);
      }
      for (std::size_t u = 0; u < kUnroll; ++u) {
        hn::Store(sine[u], tag, sines + i + u * lanes);
        hn::Store(cosine[u], tag, cosines + i + u * lanes);
      }
    }
    // The next round needs the results of this one, as far as the compiler can tell.
    angles[round] += factor * (sines[round] + cosines[kAngles - 1 - round]);
  }
  sink = angles[kRounds / 2];
  return static_cast<double>(kRounds * kAngles);
}

const char* Target() {
  return hwy::TargetName(HWY_TARGET);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace polykern
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace polykern {

HWY_EXPORT(MultiplyAdds);
HWY_EXPORT(DoubleMultiplyAdds);
HWY_EXPORT(SinesAndCosines);
HWY_EXPORT(Target);

double RunMultiplyAdds() {
  return HWY_DYNAMIC_DISPATCH(MultiplyAdds)();
}

double RunDoubleMultiplyAdds() {
  return HWY_DYNAMIC_DISPATCH(DoubleMultiplyAdds)();
}

double RunSinCos() {
  return HWY_DYNAMIC_DISPATCH(SinesAndCosines)();
}

std::string VectorTarget() {
  return HWY_DYNAMIC_DISPATCH(Target)();
}

}  // namespace polykern
#endif  // HWY_ONCE
