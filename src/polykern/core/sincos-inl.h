// Sine and cosine of a vector of floats, for the dispatch target that is being compiled.
// Included once per target, after hwy/highway.h.

#include <cmath>

#if defined(POLYKERN_CORE_SINCOS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef POLYKERN_CORE_SINCOS_INL_H
#undef POLYKERN_CORE_SINCOS_INL_H
#else
#define POLYKERN_CORE_SINCOS_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace polykern {
namespace HWY_NAMESPACE {

// pi/2 in parts, and the angle up to which they reduce well; above it, SinCosLarge.
#if HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_EMU128 || \
    HWY_TARGET == HWY_SCALAR
// Without fused multiply-add the products must be exact: the first two parts have few bits.
constexpr float kHalfPi[3] = {0x1.92p+0F, 0x1.fb4p-12F, 0x1.4442d2p-24F};
constexpr float kLargeAngle = 8192;
#else
constexpr float kHalfPi[3] = {0x1.921fb6p+0F, -0x1.777a5cp-25F, 0};  // a third would add 4e-11
constexpr float kLargeAngle = 32768;
#endif

/// For |angle| <= kLargeAngle: absolute error below 1e-7. The operations do not depend on the lane.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE void SinCos(D d, V angle, V& sine, V& cosine) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RebindToSigned<D> di;
  // quarter = round(angle / (pi/2)), left in the low bits by adding 1.5 * 2^23.
  const V magic = hn::Set(d, 0x1.8p23f);
  const V shifted = hn::MulAdd(angle, hn::Set(d, 0.636619772f), magic);
  const V quarter = hn::Sub(shifted, magic);
  const auto bits = hn::BitCast(di, shifted);
  // r = angle - quarter * pi/2; the first step is exact.
  V r = hn::NegMulAdd(quarter, hn::Set(d, kHalfPi[0]), angle);
  r = hn::NegMulAdd(quarter, hn::Set(d, kHalfPi[1]), r);
  if constexpr (kHalfPi[2] != 0) r = hn::NegMulAdd(quarter, hn::Set(d, kHalfPi[2]), r);
  // Minimax polynomials on [-pi/4, pi/4]: relative error 4e-9 (sine), absolute 1e-10 (cosine).
  const V u = hn::Mul(r, r);
  V s = hn::MulAdd(u, hn::Set(d, -1.9515295e-4f), hn::Set(d, 8.3321608e-3f));
  s = hn::MulAdd(u, s, hn::Set(d, -1.6666655e-1f));
  s = hn::MulAdd(hn::Mul(u, r), s, r);
  V c = hn::MulAdd(u, hn::Set(d, 2.4438091e-5f), hn::Set(d, -1.3887365e-3f));
  c = hn::MulAdd(u, c, hn::Set(d, 4.1666647e-2f));
  c = hn::MulAdd(u, c, hn::Set(d, -0.5f));
  c = hn::MulAdd(u, c, hn::Set(d, 1.0f));
  // sin(r + pi/2) = cos(r), cos(r + pi/2) = -sin(r); the second bit of quarter turns both signs.
  const auto odd = hn::RebindMask(d, hn::TestBit(bits, hn::Set(di, 1)));
  const V sign = hn::And(hn::BitCast(d, hn::ShiftLeft<30>(bits)), hn::SignBit(d));
  sine = hn::Xor(hn::IfThenElse(odd, c, s), sign);
  cosine = hn::Xor(hn::IfThenElse(odd, hn::Neg(s), c), sign);
}

/// Replaces the lanes whose angle is above kLargeAngle by the C library's result in double.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_NOINLINE void SinCosLarge(D d, V angle, V& sine, V& cosine) {
  namespace hn = hwy::HWY_NAMESPACE;
  HWY_ALIGN float a[HWY_MAX_BYTES / sizeof(float)];
  HWY_ALIGN float s[HWY_MAX_BYTES / sizeof(float)];
  HWY_ALIGN float c[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(angle, d, a);
  hn::Store(sine, d, s);
  hn::Store(cosine, d, c);
  for (size_t lane = 0; lane < hn::Lanes(d); ++lane) {
    if (std::abs(a[lane]) <= kLargeAngle) continue;  // NaN continues and stays NaN
    s[lane] = static_cast<float>(std::sin(static_cast<double>(a[lane])));
    c[lane] = static_cast<float>(std::cos(static_cast<double>(a[lane])));
  }
  sine = hn::Load(d, s);
  cosine = hn::Load(d, c);
}

}  // namespace HWY_NAMESPACE
}  // namespace polykern
HWY_AFTER_NAMESPACE();

#endif  // target toggle
