// How symmetric matrices of doubles lie in memory, and the loops over them.
// Included once per target, after hwy/highway.h.

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "polykern/core/unroll.h"

#ifndef POLYKERN_CORE_PANELS_COLUMNS  // once, not for each target
#define POLYKERN_CORE_PANELS_COLUMNS

namespace polykern {
namespace {

/// A panel: columns of a matrix that lie together, row by row down to the last row that has an
/// entry on the diagonal. All panels have 24 columns but the last, which has what is left.
struct Columns {
  static constexpr std::size_t kMost = 24;

  /// Those that a column belongs to; `size` is how many the matrix has, a multiple of 8.
  Columns(std::size_t size, std::size_t column)
      : first(column / kMost * kMost),
        stride(std::min(kMost, size - first)),
        start(first * (first + kMost) / 2) {}
  std::size_t end() const { return first + stride; }
  /// An entry's place, counted from where the panel starts.
  std::size_t Place(std::size_t row, std::size_t column) const {
    return row * stride + (column - first);
  }

  std::size_t first;
  std::size_t stride;  // how many, which is also the way from one row to the next
  std::size_t start;   // the numbers of the panels before
};

}  // namespace
}  // namespace polykern
#endif  // POLYKERN_CORE_PANELS_COLUMNS

#if defined(POLYKERN_CORE_PANELS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef POLYKERN_CORE_PANELS_INL_H
#undef POLYKERN_CORE_PANELS_INL_H
#else
#define POLYKERN_CORE_PANELS_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace polykern {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Walking over blocks of eight rows, panel by panel, reads and writes memory in line, and the panel
// that is worked on stays in the first-level cache. Every number has its own chain of operations,
// whatever the width of the vectors.
constexpr std::size_t kRows = 8;
using Doubles = hn::CappedTag<double, kRows>;
using Vec = hn::Vec<Doubles>;
constexpr std::size_t kLanes = HWY_MIN(HWY_MAX_BYTES / sizeof(double), kRows);
constexpr std::size_t kWideStrip = HWY_MAX_BYTES >= 64 ? 3 : 1;  // vectors that registers can hold

/// The panel of a matrix that holds a column.
struct Panel : Columns {
  Panel(double* matrix, std::size_t size, std::size_t column)
      : Columns(size, column), numbers(matrix + start) {}
  double* At(std::size_t row, std::size_t column) const { return numbers + Place(row, column); }

  double* numbers;
};

/// sums[r][v] = sum_k left[k][r] right[k][v]; depth > 0.
template <std::size_t R, std::size_t V>
HWY_INLINE void Multiply(const double* left, std::size_t left_stride, const double* right,
                         std::size_t right_stride, std::size_t depth, Vec (&sums)[R][V]) {
  const Doubles tag;
  POLYKERN_UNROLL
  for (std::size_t r = 0; r < R; ++r) {
    POLYKERN_UNROLL
    for (std::size_t v = 0; v < V; ++v) {
      sums[r][v] = hn::Mul(hn::Set(tag, left[r]), hn::Load(tag, right + v * kLanes));
    }
  }
  for (std::size_t k = 1; k < depth; ++k) {
    left += left_stride;
    right += right_stride;
    Vec columns[V];
    POLYKERN_UNROLL
    for (std::size_t v = 0; v < V; ++v) columns[v] = hn::Load(tag, right + v * kLanes);
    POLYKERN_UNROLL
    for (std::size_t r = 0; r < R; ++r) {
      const Vec row = hn::Set(tag, left[r]);
      POLYKERN_UNROLL
      for (std::size_t v = 0; v < V; ++v) sums[r][v] = hn::MulAdd(row, columns[v], sums[r][v]);
    }
  }
}

/// Calls visit<V>(column) for strips of V vectors that cover the columns from .. to - 1.
template <class Visit>
HWY_INLINE void ForEachStrip(std::size_t from, std::size_t to, const Visit& visit) {
  constexpr std::size_t kWide = kWideStrip * kLanes;
  for (; from + kWide <= to; from += kWide) {
    visit(from, std::integral_constant<std::size_t, kWideStrip>());
  }
  if (kWideStrip > 2 && from + 2 * kLanes == to) {
    return visit(from, std::integral_constant<std::size_t, 2>());
  }
  for (; from < to; from += kLanes) visit(from, std::integral_constant<std::size_t, 1>());
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace polykern
HWY_AFTER_NAMESPACE();

#endif  // POLYKERN_CORE_PANELS_INL_H
