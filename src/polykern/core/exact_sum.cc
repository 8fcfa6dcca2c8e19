#include "polykern/core/exact_sum.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "polykern/core/exact_sum.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "polykern/core/clean_uppers-inl.h"
#include "polykern/core/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace polykern {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// True if all |values[i]| <= limit; false if one is NaN.
bool Within(const float* values, std::size_t count, float limit) {
  const CleanUppers at_the_end;
  const hn::CappedTag<float, 16> tag;
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

/// sums[i] += round(values[i] / kUnit), and the same for the next count values: kTerms times.
template <int kTerms>
void AddTerms(const float* HWY_RESTRICT values, std::size_t count,
              std::uint64_t* HWY_RESTRICT sums) {
  const hn::CappedTag<double, 8> tag;
  const hn::Rebind<float, decltype(tag)> half;
  const hn::RebindToUnsigned<decltype(tag)> integers;
  const std::size_t lanes = hn::Lanes(tag);
  // Adding 1.5 * 2^52 * kUnit leaves round(value / kUnit) in the low bits; what it leaves in the
  // others is taken away once. Unsigned, because these overflow on the way.
  const double magic = 0x1.8p52 * ExactSum::kUnit;
  const std::uint64_t excess = kTerms * std::bit_cast<std::uint64_t>(magic);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    auto sum = hn::Sub(hn::LoadU(integers, sums + i), hn::Set(integers, excess));
    POLYKERN_UNROLL
    for (int t = 0; t < kTerms; ++t) {
      const auto value = hn::PromoteTo(tag, hn::LoadU(half, values + t * count + i));
      sum = hn::Add(sum, hn::BitCast(integers, hn::Add(value, hn::Set(tag, magic))));
    }
    hn::StoreU(sum, integers, sums + i);
  }
  for (; i < count; ++i) {
    sums[i] -= excess;
    for (int t = 0; t < kTerms; ++t) {
      sums[i] += std::bit_cast<std::uint64_t>(static_cast<double>(values[t * count + i]) + magic);
    }
  }
}

/// Row which[r] of the sums += round(row r of values / kUnit).
void AddRounded(const float* values, std::span<const std::uint32_t> which, std::size_t width,
                std::int64_t* all_sums) {
  const CleanUppers at_the_end;
  auto* sums = reinterpret_cast<std::uint64_t*>(all_sums);  // the same type but for the sign
  for (std::size_t r = 0; r < which.size();) {
    // Neighbouring rows that go to neighbouring rows are one long row.
    std::size_t end = r + 1;
    while (end < which.size() && which[end] == which[end - 1] + 1) ++end;
    // What goes to the same place right after it is added at once.
    const std::size_t rows = end - r;
    const auto again = [&](std::size_t terms) {
      const auto first = which.subspan(r, rows);
      return r + (terms + 1) * rows <= which.size() &&
             std::ranges::equal(first, which.subspan(r + terms * rows, rows));
    };
    const std::size_t count = rows * width;
    const std::size_t terms = !again(1) ? 1 : again(2) && again(3) ? 4 : 2;
    (terms == 1   ? AddTerms<1>
     : terms == 2 ? AddTerms<2>
                  : AddTerms<4>)(values, count, sums + which[r] * width);
    values += terms * count;
    r += terms * rows;
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace polykern
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace polykern {

HWY_EXPORT(Within);
HWY_EXPORT(AddRounded);

float ExactSum::LimitOf(std::uint64_t terms) {
  if (terms <= kMaxTerms) return kLimit;
  return std::nextafter(static_cast<float>(0x1p33 / static_cast<double>(terms)), 0.0F);
}

bool ExactSum::Representable(std::span<const float> values, float limit) {
  return HWY_DYNAMIC_DISPATCH(Within)(values.data(), values.size(), limit);
}

void ExactSum::Add(std::span<const float> rows, std::span<const std::uint32_t> which) {
  if (which.empty()) return;
  assert(unit_ == kUnit && Representable(rows));
  HWY_DYNAMIC_DISPATCH(AddRounded)(rows.data(), which, rows.size() / which.size(), sums_.data());
}

void ExactSum::AddIntegers(std::span<const std::uint64_t> rows,
                           std::span<const std::uint32_t> which) {
  const std::size_t width = which.empty() ? 0 : rows.size() / which.size();
  for (std::size_t r = 0; r < which.size(); ++r) {
    for (std::size_t i = 0; i < width; ++i) {
      std::int64_t& sum = sums_[which[r] * width + i];
      sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) + rows[r * width + i]);
    }
  }
}

void ExactSum::Add(std::size_t offset, std::span<const float> values) {
  assert(unit_ == kUnit && offset + values.size() <= sums_.size());
  assert(Representable(values));
  constexpr std::uint32_t kOnlyRow[] = {0};
  HWY_DYNAMIC_DISPATCH(AddRounded)
  (values.data(), std::span(kOnlyRow), values.size(), sums_.data() + offset);
}

void ExactSum::Merge(const ExactSum& other) {
  assert(other.size() == size());
  for (std::size_t i = 0; i < sums_.size(); ++i) {  // modulo 2^64
    sums_[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(sums_[i]) +
                                         static_cast<std::uint64_t>(other.sums_[i]));
  }
}

void ExactSum::Clear() {
  std::ranges::fill(sums_, 0);
}

}  // namespace polykern
#endif  // HWY_ONCE
