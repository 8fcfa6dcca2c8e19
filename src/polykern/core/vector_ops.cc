#include "polykern/core/vector_ops.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "polykern/core/vector_ops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "polykern/core/clean_uppers-inl.h"

HWY_BEFORE_NAMESPACE();
namespace polykern {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Doubles = hn::CappedTag<double, kPartialSums>;
using Halves = hn::Rebind<float, Doubles>;  // as many floats as Doubles has doubles
using Floats = hn::CappedTag<float, 16>;
using FewFloats = hn::CappedTag<float, 8>;

/// Runs term(i), a vector of the numbers i, i + 1, .., over the whole part of an array that
/// kPartialSums divides, and rest(i) over what is left; adds all in the fixed order.
template <class Term, class Rest>
HWY_INLINE double SumInOrder(std::size_t count, const Term& term, const Rest& rest) {
  const Doubles tag;
  constexpr std::size_t kLanes = hn::MaxLanes(Doubles());
  HWY_ALIGN double partial[kPartialSums];
  hn::Vec<Doubles> sum[kPartialSums / kLanes];
  for (auto& part : sum) part = hn::Zero(tag);
  std::size_t i = 0;
  for (; i + kPartialSums <= count; i += kPartialSums) {
    for (std::size_t p = 0; p < kPartialSums; p += kLanes) {
      sum[p / kLanes] = hn::Add(sum[p / kLanes], term(i + p));
    }
  }
  for (std::size_t p = 0; p < kPartialSums; p += kLanes) {
    hn::Store(sum[p / kLanes], tag, partial + p);
  }
  for (std::size_t p = 0; i < count; ++i, ++p) partial[p] += rest(i);
  for (std::size_t half = kPartialSums / 2; half > 0; half /= 2) {
    for (std::size_t p = 0; p < half; ++p) partial[p] += partial[p + half];
  }
  return partial[0];
}

/// exp(x) for -708 <= x <= 0, within 2 units in the last place: 2^n times the series of the rest.
HWY_INLINE hn::Vec<Doubles> Exp(hn::Vec<Doubles> x) {
  const Doubles tag;
  const hn::RebindToSigned<Doubles> integers;
  constexpr int kTerms = 13;
  const auto magic = hn::Set(tag, 0x1.8p52);  // leaves n, a whole number, in the low bits
  const auto shifted = hn::MulAdd(x, hn::Set(tag, 1.4426950408889634), magic);
  const auto n = hn::Sub(shifted, magic);
  auto rest = hn::NegMulAdd(n, hn::Set(tag, 0x1.62e42feep-1), x);  // ln 2 in two parts: exact
  rest = hn::NegMulAdd(n, hn::Set(tag, 0x1.a39ef35793c76p-33), rest);
  double factorial = 6227020800;  // 13!
  auto series = hn::Set(tag, 1 / factorial);
  for (int k = kTerms; k > 0; --k) {
    factorial /= k;
    series = hn::MulAdd(series, rest, hn::Set(tag, 1 / factorial));
  }
  const auto power = hn::ShiftLeft<52>(hn::BitCast(integers, shifted));
  return hn::BitCast(tag, hn::Add(hn::BitCast(integers, series), power));
}

/// out[i] = change(in[i]), vector by vector; in may be out.
template <class Change>
HWY_INLINE void Map(const double* in, double* out, std::size_t count, const Change& change) {
  const Doubles tag;
  const std::size_t lanes = hn::Lanes(tag);
  if (count >= lanes) {
    // The last vector overlaps the one before it, so it is read before anything is written.
    const auto last = change(hn::LoadU(tag, in + count - lanes));
    for (std::size_t i = 0; i + lanes < count; i += lanes) {
      hn::StoreU(change(hn::LoadU(tag, in + i)), tag, out + i);
    }
    hn::StoreU(last, tag, out + count - lanes);
  } else {
    HWY_ALIGN double few[kPartialSums] = {};
    std::copy(in, in + count, few);
    hn::Store(change(hn::Load(tag, few)), tag, few);
    std::copy(few, few + count, out);
  }
}

/// exp(x) for x <= 0. Below -708 it is not a normal number; 0 is as good, and needs no slow
/// arithmetic.
HWY_INLINE hn::Vec<Doubles> ExpOrZero(hn::Vec<Doubles> x) {
  const auto least = hn::Set(Doubles(), -708.0);
  return hn::IfThenElseZero(hn::Ge(x, least), Exp(hn::Max(x, least)));
}

void ExpLoop(double* values, std::size_t count) {
  const CleanUppers at_the_end;
  Map(values, values, count, [](hn::Vec<Doubles> x) { return ExpOrZero(x); });
}

double SumLoop(const double* values, std::size_t count) {
  const CleanUppers at_the_end;
  const Doubles tag;
  return SumInOrder(
      count, [&](std::size_t i) { return hn::LoadU(tag, values + i); },
      [&](std::size_t i) { return values[i]; });
}

double LeastLoop(const double* values, std::size_t count) {
  const CleanUppers at_the_end;
  const Doubles tag;
  const std::size_t lanes = hn::Lanes(tag);
  double least = values[0];
  std::size_t i = 0;
  if (count >= lanes) {
    auto all = hn::LoadU(tag, values);
    for (i = lanes; i + lanes <= count; i += lanes) all = hn::Min(all, hn::LoadU(tag, values + i));
    least = hn::GetLane(hn::MinOfLanes(tag, all));
  }
  for (; i < count; ++i) least = std::min(least, values[i]);
  return least;
}

void SoftMinLoop(const double* losses, double rate, double* weights, std::size_t count) {
  const CleanUppers at_the_end;
  const Doubles tag;
  const auto best = hn::Set(tag, LeastLoop(losses, count));
  const auto by = hn::Set(tag, -rate);
  Map(losses, weights, count, [&](hn::Vec<Doubles> loss) {
    const auto behind = hn::Sub(loss, best);
    const auto none = hn::Eq(behind, hn::Zero(tag));  // no 0 * infinity
    return ExpOrZero(hn::IfThenZeroElse(none, hn::Mul(by, behind)));
  });
  const auto share = hn::Set(tag, 1 / SumLoop(weights, count));
  Map(weights, weights, count, [&](hn::Vec<Doubles> weight) { return hn::Mul(weight, share); });
}

double AddLoop(const double* added, double* sums, std::size_t count, bool& unit) {
  const CleanUppers at_the_end;
  const Doubles tag;
  const std::size_t lanes = hn::Lanes(tag);
  const auto one = hn::Set(tag, 1.0);
  auto good = hn::Eq(one, one);
  auto all = hn::Set(tag, std::numeric_limits<double>::infinity());
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto value = hn::LoadU(tag, added + i);
    const auto sum = hn::Add(hn::LoadU(tag, sums + i), value);
    good = hn::And(good, hn::And(hn::Ge(value, hn::Zero(tag)), hn::Le(value, one)));
    all = hn::Min(all, sum);
    hn::StoreU(sum, tag, sums + i);
  }
  double least = hn::GetLane(hn::MinOfLanes(tag, all));
  bool unit_here = hn::AllTrue(tag, good);
  for (; i < count; ++i) {
    sums[i] += added[i];
    unit_here = unit_here && added[i] >= 0 && added[i] <= 1;
    least = std::min(least, sums[i]);
  }
  unit = unit && unit_here;
  return least;
}

void AddScaledLoop(const double* added, double factor, double* values, double* sums,
                   std::size_t count) {
  const CleanUppers at_the_end;
  const Doubles tag;
  const std::size_t lanes = hn::Lanes(tag);
  const auto by = hn::Set(tag, factor);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto part = hn::Mul(by, hn::LoadU(tag, added + i));
    const auto value = hn::Add(hn::LoadU(tag, values + i), part);
    hn::StoreU(value, tag, values + i);
    hn::StoreU(hn::Add(hn::LoadU(tag, sums + i), value), tag, sums + i);
  }
  for (; i < count; ++i) {
    values[i] += factor * added[i];
    sums[i] += values[i];
  }
}

double DotLoop(const double* a, const float* b, std::size_t count) {
  const CleanUppers at_the_end;
  const Doubles tag;
  const Halves half;
  return SumInOrder(
      count,
      [&](std::size_t i) {
        return hn::Mul(hn::LoadU(tag, a + i), hn::PromoteTo(tag, hn::LoadU(half, b + i)));
      },
      [&](std::size_t i) { return a[i] * static_cast<double>(b[i]); });
}

double SquaresLoop(const float* a, std::size_t count) {
  const CleanUppers at_the_end;
  const Doubles tag;
  const Halves half;
  return SumInOrder(
      count,
      [&](std::size_t i) {
        const auto value = hn::PromoteTo(tag, hn::LoadU(half, a + i));
        return hn::Mul(value, value);
      },
      [&](std::size_t i) { return static_cast<double>(a[i]) * static_cast<double>(a[i]); });
}

double DoubleSquaresLoop(const double* a, std::size_t count) {
  const CleanUppers at_the_end;
  const Doubles tag;
  return SumInOrder(
      count,
      [&](std::size_t i) {
        const auto value = hn::LoadU(tag, a + i);
        return hn::Mul(value, value);
      },
      [&](std::size_t i) { return a[i] * a[i]; });
}

void ScaleAndAddLoop(double* a, double keep, double factor, const float* b, std::size_t count) {
  const CleanUppers at_the_end;
  const Doubles tag;
  const Halves half;
  const std::size_t lanes = hn::Lanes(tag);
  const auto vkeep = hn::Set(tag, keep);
  const auto vfactor = hn::Set(tag, factor);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto added = hn::Mul(vfactor, hn::PromoteTo(tag, hn::LoadU(half, b + i)));
    hn::StoreU(hn::Add(hn::Mul(vkeep, hn::LoadU(tag, a + i)), added), tag, a + i);
  }
  for (; i < count; ++i) a[i] = keep * a[i] + factor * static_cast<double>(b[i]);
}

/// values = own * values + other * added, for a row of at least FewFloats numbers.
HWY_INLINE void ScaleAndAddRow(float own, float other, const float* HWY_RESTRICT added,
                               std::size_t width, float* HWY_RESTRICT values) {
  const Floats tag;
  const FewFloats few;
  const std::size_t lanes = hn::Lanes(tag);
  const std::size_t few_lanes = hn::Lanes(few);
  const auto at = [&](auto d, std::size_t i) {
    const auto scaled = hn::Mul(hn::Set(d, own), hn::LoadU(d, values + i));
    return hn::Add(scaled, hn::Mul(hn::Set(d, other), hn::LoadU(d, added + i)));
  };
  // The last vector overlaps those before it, so it is read before anything is written. It is a
  // narrow one: most wide ones would lie across two lines of the cache.
  const auto last = at(few, width - few_lanes);
  std::size_t i = 0;
  for (; i + lanes <= width; i += lanes) hn::StoreU(at(tag, i), tag, values + i);
  for (; i + few_lanes < width; i += few_lanes) hn::StoreU(at(few, i), few, values + i);
  hn::StoreU(last, few, values + width - few_lanes);
}

void ScaledRowsLoop(const float* HWY_RESTRICT factors, const ScaledRows& added, std::size_t width,
                    float* HWY_RESTRICT values) {
  const CleanUppers at_the_end;
  const float* HWY_RESTRICT others = added.factors.data();
  const std::uint32_t* HWY_RESTRICT rows = added.rows.data();
  const float* HWY_RESTRICT matrix = added.matrix.data();
  const std::size_t count = added.rows.size();
  if (width >= hn::Lanes(FewFloats())) {
    for (std::size_t r = 0; r < count; ++r, values += width) {
      ScaleAndAddRow(factors[r], others[r], matrix + rows[r] * width, width, values);
    }
  } else {
    for (std::size_t r = 0; r < count; ++r, values += width) {
      for (std::size_t i = 0; i < width; ++i) {
        values[i] = factors[r] * values[i] + others[r] * matrix[rows[r] * width + i];
      }
    }
  }
}

void SubtractLoop(const std::int64_t* sums, double factor, double* values, std::size_t count) {
  const CleanUppers at_the_end;
  const Doubles tag;
  const hn::RebindToSigned<Doubles> integers;
  const std::size_t lanes = hn::Lanes(tag);
  const auto by = hn::Set(tag, factor);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto sum = hn::ConvertTo(tag, hn::LoadU(integers, sums + i));
    hn::StoreU(hn::Sub(hn::LoadU(tag, values + i), hn::Mul(by, sum)), tag, values + i);
  }
  for (; i < count; ++i) values[i] -= factor * static_cast<double>(sums[i]);
}

void FloatLoop(const double* values, float* rounded, std::size_t count) {
  const CleanUppers at_the_end;
  const Doubles tag;
  const Halves half;
  const std::size_t lanes = hn::Lanes(tag);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::DemoteTo(half, hn::LoadU(tag, values + i)), half, rounded + i);
  }
  for (; i < count; ++i) rounded[i] = static_cast<float>(values[i]);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace polykern
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace polykern {

HWY_EXPORT(ExpLoop);
HWY_EXPORT(SumLoop);
HWY_EXPORT(SoftMinLoop);
HWY_EXPORT(AddLoop);
HWY_EXPORT(AddScaledLoop);
HWY_EXPORT(LeastLoop);
HWY_EXPORT(DotLoop);
HWY_EXPORT(SquaresLoop);
HWY_EXPORT(DoubleSquaresLoop);
HWY_EXPORT(ScaleAndAddLoop);
HWY_EXPORT(ScaledRowsLoop);
HWY_EXPORT(SubtractLoop);
HWY_EXPORT(FloatLoop);

void ExpOfNegatives(std::span<double> values) {
  HWY_DYNAMIC_DISPATCH(ExpLoop)(values.data(), values.size());
}

void SoftMin(std::span<const double> losses, double rate, std::span<double> weights) {
  assert(!losses.empty() && losses.size() == weights.size());
  HWY_DYNAMIC_DISPATCH(SoftMinLoop)(losses.data(), rate, weights.data(), losses.size());
}

double AddAndFindLeast(std::span<const double> added, std::span<double> sums, bool& unit) {
  assert(!added.empty() && added.size() == sums.size());
  return HWY_DYNAMIC_DISPATCH(AddLoop)(added.data(), sums.data(), added.size(), unit);
}

void AddScaledAndSum(std::span<const double> added, double factor, std::span<double> values,
                     std::span<double> sums) {
  assert(added.size() == values.size() && added.size() == sums.size());
  HWY_DYNAMIC_DISPATCH(AddScaledLoop)
  (added.data(), factor, values.data(), sums.data(), added.size());
}

double Sum(std::span<const double> values) {
  return HWY_DYNAMIC_DISPATCH(SumLoop)(values.data(), values.size());
}

double Least(std::span<const double> values) {
  assert(!values.empty());
  return HWY_DYNAMIC_DISPATCH(LeastLoop)(values.data(), values.size());
}

double Dot(std::span<const double> a, std::span<const float> b) {
  assert(a.size() == b.size());
  return HWY_DYNAMIC_DISPATCH(DotLoop)(a.data(), b.data(), a.size());
}

double SumOfSquares(std::span<const float> a) {
  return HWY_DYNAMIC_DISPATCH(SquaresLoop)(a.data(), a.size());
}

double SumOfSquares(std::span<const double> a) {
  return HWY_DYNAMIC_DISPATCH(DoubleSquaresLoop)(a.data(), a.size());
}

void ScaleAndAdd(std::span<double> a, double keep, double factor, std::span<const float> b) {
  assert(a.size() == b.size());
  HWY_DYNAMIC_DISPATCH(ScaleAndAddLoop)(a.data(), keep, factor, b.data(), a.size());
}

void ScaleAndAddRows(std::span<const float> factors, const ScaledRows& added, std::size_t width,
                     std::span<float> values) {
  assert(factors.size() == added.rows.size() && values.size() == factors.size() * width);
  assert(added.factors.size() == added.rows.size());
  HWY_DYNAMIC_DISPATCH(ScaledRowsLoop)(factors.data(), added, width, values.data());
}

void SubtractScaled(std::span<const std::int64_t> sums, double factor, std::span<double> values) {
  assert(values.size() == sums.size());
  HWY_DYNAMIC_DISPATCH(SubtractLoop)(sums.data(), factor, values.data(), sums.size());
}

void RoundToFloat(std::span<const double> values, std::span<float> rounded) {
  assert(values.size() == rounded.size());
  HWY_DYNAMIC_DISPATCH(FloatLoop)(values.data(), rounded.data(), values.size());
}

}  // namespace polykern
#endif  // HWY_ONCE
