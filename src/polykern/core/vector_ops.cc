#include "polykern/core/vector_ops.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "polykern/core/vector_ops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace polykern {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Doubles = hn::CappedTag<double, kPartialSums>;
using Halves = hn::Rebind<float, Doubles>;  // as many floats as Doubles has doubles
using Floats = hn::CappedTag<float, 16>;

/// Runs term(i), a vector of the numbers i, i + 1, .., over the whole part of an array that
/// kPartialSums divides, and rest(i) over what is left; adds all in the fixed order.
template <class Term, class Rest>
HWY_INLINE double SumInOrder(std::size_t count, const Term& term, const Rest& rest) {
  const Doubles tag;
  const std::size_t lanes = hn::Lanes(tag);
  HWY_ALIGN double partial[kPartialSums] = {};
  std::size_t i = 0;
  if (lanes == kPartialSums) {
    auto sum = hn::Zero(tag);
    for (; i + kPartialSums <= count; i += kPartialSums) sum = hn::Add(sum, term(i));
    hn::Store(sum, tag, partial);
  } else {
    for (; i + kPartialSums <= count; i += kPartialSums) {
      for (std::size_t p = 0; p < kPartialSums; p += lanes) {
        hn::Store(hn::Add(hn::Load(tag, partial + p), term(i + p)), tag, partial + p);
      }
    }
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

void ExpLoop(double* values, std::size_t count) {
  const Doubles tag;
  const std::size_t lanes = hn::Lanes(tag);
  // Below this the result is no normal number; 0 is as good, and needs no slow arithmetic.
  const auto least = hn::Set(tag, -708.0);
  const auto exp = [&](hn::Vec<Doubles> x) {
    return hn::IfThenElseZero(hn::Ge(x, least), Exp(hn::Max(x, least)));
  };
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(exp(hn::LoadU(tag, values + i)), tag, values + i);
  if (i == count) return;
  HWY_ALIGN double rest[kPartialSums] = {};
  std::copy(values + i, values + count, rest);
  hn::Store(exp(hn::Load(tag, rest)), tag, rest);
  std::copy(rest, rest + (count - i), values + i);
}

double SumLoop(const double* values, std::size_t count) {
  const Doubles tag;
  return SumInOrder(
      count, [&](std::size_t i) { return hn::LoadU(tag, values + i); },
      [&](std::size_t i) { return values[i]; });
}

double LeastLoop(const double* values, std::size_t count) {
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

double DotLoop(const double* a, const float* b, std::size_t count) {
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

void ScaledRowsLoop(const float* factors, const ScaledRows& added, std::size_t width,
                    float* values) {
  for (std::size_t r = 0; r < added.rows.size(); ++r, values += width) {
    const float* y = added.matrix.data() + added.rows[r] * width;
    std::size_t i = 0;
    const auto take = [&](auto tag) HWY_ATTR {  // as many whole vectors as fit
      const auto a = hn::Set(tag, factors[r]);
      const auto b = hn::Set(tag, added.factors[r]);
      for (; i + hn::Lanes(tag) <= width; i += hn::Lanes(tag)) {
        const auto own = hn::Mul(a, hn::LoadU(tag, values + i));
        hn::StoreU(hn::Add(own, hn::Mul(b, hn::LoadU(tag, y + i))), tag, values + i);
      }
    };
    take(Floats());
    take(hn::CappedTag<float, 4>());
    take(hn::CappedTag<float, 1>());
  }
}

bool WithinLoop(const float* values, std::size_t count, float limit) {
  const Floats tag;
  const std::size_t lanes = hn::Lanes(tag);
  const auto most = hn::Set(tag, limit);
  std::size_t i = 0;
  auto good = hn::Eq(most, most);
  for (; i + lanes <= count; i += lanes) {
    good = hn::And(good, hn::Le(hn::Abs(hn::LoadU(tag, values + i)), most));
  }
  bool all = hn::AllTrue(tag, good);
  for (; i < count; ++i) all = all && std::abs(values[i]) <= limit;
  return all;
}

void RoundLoop(const float* values, std::span<const std::uint32_t> which, std::size_t width,
               double unit, std::int64_t* all_sums) {
  const Doubles tag;
  const Halves half;
  const hn::RebindToSigned<Doubles> integers;
  const std::size_t lanes = hn::Lanes(tag);
  // Adding 1.5 * 2^52 * unit leaves round(value / unit) in the low bits.
  const double magic = 0x1.8p52 * unit;
  const auto magic_bits = std::bit_cast<std::int64_t>(magic);
  for (std::size_t r = 0; r < which.size();) {
    // Neighbouring rows that go to neighbouring rows are one long row.
    std::size_t end = r + 1;
    while (end < which.size() && which[end] == which[end - 1] + 1) ++end;
    const std::size_t count = (end - r) * width;
    std::int64_t* sums = all_sums + which[r] * width;
    std::size_t i = 0;
    for (; i + lanes <= count; i += lanes) {
      const auto value = hn::PromoteTo(tag, hn::LoadU(half, values + i));
      const auto bits = hn::BitCast(integers, hn::Add(value, hn::Set(tag, magic)));
      const auto rounded = hn::Sub(bits, hn::Set(integers, magic_bits));
      hn::StoreU(hn::Add(hn::LoadU(integers, sums + i), rounded), integers, sums + i);
    }
    for (; i < count; ++i) {
      sums[i] += std::bit_cast<std::int64_t>(static_cast<double>(values[i]) + magic) - magic_bits;
    }
    values += count;
    r = end;
  }
}

void SubtractLoop(const std::int64_t* sums, double factor, double* model, float* rounded,
                  std::size_t count) {
  const Doubles tag;
  const Halves half;
  const hn::RebindToSigned<Doubles> integers;
  const std::size_t lanes = hn::Lanes(tag);
  const auto by = hn::Set(tag, factor);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto sum = hn::ConvertTo(tag, hn::LoadU(integers, sums + i));
    const auto value = hn::Sub(hn::LoadU(tag, model + i), hn::Mul(by, sum));
    hn::StoreU(value, tag, model + i);
    hn::StoreU(hn::DemoteTo(half, value), half, rounded + i);
  }
  for (; i < count; ++i) {
    model[i] -= factor * static_cast<double>(sums[i]);
    rounded[i] = static_cast<float>(model[i]);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace polykern
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace polykern {

HWY_EXPORT(ExpLoop);
HWY_EXPORT(SumLoop);
HWY_EXPORT(LeastLoop);
HWY_EXPORT(DotLoop);
HWY_EXPORT(SquaresLoop);
HWY_EXPORT(DoubleSquaresLoop);
HWY_EXPORT(ScaleAndAddLoop);
HWY_EXPORT(ScaledRowsLoop);
HWY_EXPORT(WithinLoop);
HWY_EXPORT(RoundLoop);
HWY_EXPORT(SubtractLoop);

void ExpOfNegatives(std::span<double> values) {
  HWY_DYNAMIC_DISPATCH(ExpLoop)(values.data(), values.size());
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

bool AllWithin(std::span<const float> values, float limit) {
  return HWY_DYNAMIC_DISPATCH(WithinLoop)(values.data(), values.size(), limit);
}

void AddRoundedRows(std::span<const float> values, std::span<const std::uint32_t> which,
                    std::size_t width, double unit, std::span<std::int64_t> sums) {
  assert(values.size() == which.size() * width);
  HWY_DYNAMIC_DISPATCH(RoundLoop)(values.data(), which, width, unit, sums.data());
}

void SubtractScaled(std::span<const std::int64_t> sums, double factor, std::span<double> model,
                    std::span<float> rounded) {
  assert(model.size() == sums.size() && rounded.size() == sums.size());
  HWY_DYNAMIC_DISPATCH(SubtractLoop)
  (sums.data(), factor, model.data(), rounded.data(), sums.size());
}

}  // namespace polykern
#endif  // HWY_ONCE
