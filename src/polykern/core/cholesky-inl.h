// Cholesky's decomposition of a matrix in panels, and the substitutions.
// Included once per target, after hwy/highway.h.

#include <cmath>

#include "polykern/core/clean_uppers-inl.h"
#include "polykern/core/panels-inl.h"

#if defined(POLYKERN_CORE_CHOLESKY_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef POLYKERN_CORE_CHOLESKY_INL_H
#undef POLYKERN_CORE_CHOLESKY_INL_H
#else
#define POLYKERN_CORE_CHOLESKY_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace polykern {
namespace HWY_NAMESPACE {
namespace {

/// Takes the share of the rows of U above from a strip of A; `left` is the panel of U that has the
/// strip's rows as columns.
template <std::size_t V>
HWY_INLINE void TakeShare(const Panel& left, const Panel& factor, std::size_t row,
                          std::size_t column, Vec (&strip)[kRows][V]) {
  const double* rows = left.At(0, row);
  const double* right = factor.At(0, column);
  const Doubles tag;
  for (std::size_t k = 0; k < row; ++k, rows += left.stride, right += factor.stride) {
    Vec columns[V];
    POLYKERN_UNROLL
    for (std::size_t v = 0; v < V; ++v) columns[v] = hn::Load(tag, right + v * kLanes);
    POLYKERN_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      const Vec one = hn::Set(tag, rows[r]);
      POLYKERN_UNROLL
      for (std::size_t v = 0; v < V; ++v) strip[r][v] = hn::NegMulAdd(one, columns[v], strip[r][v]);
    }
  }
}

/// Rows of a strip, once the block on the diagonal is U's: row r is freed of the rows above it in
/// the block, which are final, and divided by its own diagonal. Each row is spread to those below
/// as soon as it is final, so that many operations are under way at once.
template <std::size_t V>
HWY_INLINE void FinishStrip(const double* block, std::size_t stride, const double* inverse,
                            Vec (&rows)[kRows][V]) {
  const Doubles tag;
  POLYKERN_UNROLL
  for (std::size_t q = 0; q < kRows; ++q) {
    for (std::size_t v = 0; v < V; ++v) rows[q][v] = hn::Mul(rows[q][v], hn::Set(tag, inverse[q]));
    POLYKERN_UNROLL
    for (std::size_t r = q + 1; r < kRows; ++r) {
      const Vec share = hn::Set(tag, block[q * stride + r]);
      for (std::size_t v = 0; v < V; ++v) rows[r][v] = hn::NegMulAdd(share, rows[q][v], rows[r][v]);
    }
  }
}

/// The block on the diagonal: as FinishStrip, but it needs its own results. False if a pivot is
/// not above 0. The roots wait till the end: eight divisions after one another take long enough.
bool FinishDiagonal(double ridge, std::size_t stride, double* block, double* inverse) {
  const Doubles tag;
  constexpr std::size_t kVectors = kRows / kLanes;
  Vec rows[kRows][kVectors];
  for (std::size_t r = 0; r < kRows; ++r) {
    block[r * stride + r] += ridge;
    for (std::size_t v = 0; v < kVectors; ++v) {
      rows[r][v] = hn::Load(tag, block + r * stride + v * kLanes);
    }
  }
  POLYKERN_UNROLL
  for (std::size_t q = 0; q < kRows; ++q) {
    double* own = block + q * stride;
    for (std::size_t v = 0; v < kVectors; ++v) hn::Store(rows[q][v], tag, own + v * kLanes);
    const double reciprocal = 1 / own[q];
    Vec scaled[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) {
      scaled[v] = hn::Mul(rows[q][v], hn::Set(tag, reciprocal));
    }
    POLYKERN_UNROLL
    for (std::size_t r = q + 1; r < kRows; ++r) {
      const Vec share = hn::Set(tag, own[r]);
      for (std::size_t v = 0; v < kVectors; ++v) {
        rows[r][v] = hn::NegMulAdd(share, scaled[v], rows[r][v]);
      }
    }
  }
  for (std::size_t q = 0; q < kRows; ++q) {
    double* own = block + q * stride;
    if (!(own[q] > 0) || !std::isfinite(own[q])) return false;
    inverse[q] = 1 / std::sqrt(own[q]);
    for (std::size_t v = 0; v < kVectors; ++v) {
      hn::Store(hn::Mul(rows[q][v], hn::Set(tag, inverse[q])), tag, own + v * kLanes);
    }
  }
  return true;
}

template <std::size_t V>
HWY_INLINE void StoreStrip(const Vec (&rows)[kRows][V], std::size_t stride, double* out) {
  const Doubles tag;
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < V; ++v) hn::Store(rows[r][v], tag, out + r * stride + v * kLanes);
  }
}

/// y = U'^-1 b for the columns of a panel whose U is known, and so are the entries of y above.
void SubstituteForward(const Panel& panel, const double* b, const double* inverse, double* y) {
  const Doubles tag;
  const std::size_t first = panel.first;
  ForEachStrip(first, panel.end(),
               [&]<std::size_t V>(std::size_t column, std::integral_constant<std::size_t, V>) {
                 Vec sums[1][V];
                 for (std::size_t v = 0; v < V; ++v) sums[0][v] = hn::Zero(tag);
                 if (first > 0)
                   Multiply<1, V>(y, 1, panel.At(0, column), panel.stride, first, sums);
                 for (std::size_t v = 0; v < V; ++v) {
                   const std::size_t at = column + v * kLanes;
                   hn::Store(hn::Sub(hn::Load(tag, b + at), sums[0][v]), tag, y + at);
                 }
               });
  for (std::size_t q = first; q < panel.end(); ++q) {
    y[q] *= inverse[q];
    const Vec share = hn::Set(tag, y[q]);
    // What lies before q in its group is final and must stay.
    const std::size_t rest = (q / kRows + 1) * kRows;
    for (std::size_t j = q + 1; j < rest; ++j) y[j] = -y[q] * *panel.At(q, j) + y[j];
    for (std::size_t j = rest; j < panel.end(); j += kLanes) {
      hn::Store(hn::NegMulAdd(share, hn::Load(tag, panel.At(q, j)), hn::Load(tag, y + j)), tag,
                y + j);
    }
  }
}

/// Cholesky's U of matrix + ridge I = U'U, its diagonal's inverse, and y = U'^-1 b. The matrix
/// comes strip by strip from source.Strip(row, column, strip), each once, and b from
/// source.Labels(panel). False if a pivot is not above 0.
template <class Source>
bool Factorize(const Source& source, std::size_t size, double ridge, double* factor,
               double* inverse, double* y) {
  for (std::size_t first = 0; first < size;) {
    const Panel to(factor, size, first);
    for (std::size_t row = 0; row < to.end(); row += kRows) {
      const Panel left(factor, size, row);
      double* block = left.At(row, row);
      const auto finish = [&]<std::size_t V>(std::size_t column,
                                             std::integral_constant<std::size_t, V>) {
        Vec rest[kRows][V];
        source.Strip(row, column, rest);
        TakeShare<V>(left, to, row, column, rest);
        FinishStrip<V>(block, left.stride, inverse + row, rest);
        StoreStrip<V>(rest, to.stride, to.At(row, column));
      };
      if (row < first) {
        ForEachStrip(first, to.end(), finish);
        continue;
      }
      // The block on the diagonal together with what is right of it: alone it fills no machine.
      bool good = false;
      ForEachStrip(
          row, to.end(),
          [&]<std::size_t V>(std::size_t column, std::integral_constant<std::size_t, V> v) {
            if (column >= row + kRows) return finish(column, v);
            Vec rest[kRows][V];
            source.Strip(row, column, rest);
            TakeShare<V>(left, to, row, column, rest);
            StoreStrip<V>(rest, to.stride, to.At(row, column));
            if (column + V * kLanes < row + kRows) return;
            good = FinishDiagonal(ridge, to.stride, block, inverse + row);
            constexpr std::size_t kRest = V * kLanes > kRows ? V - kRows / kLanes : 0;
            if constexpr (kRest > 0) {
              Vec beside[kRows][kRest];
              for (std::size_t r = 0; r < kRows; ++r) {
                for (std::size_t i = 0; i < kRest; ++i) {
                  beside[r][i] = rest[r][i + kRows / kLanes];
                }
              }
              FinishStrip<kRest>(block, to.stride, inverse + row, beside);
              StoreStrip<kRest>(beside, to.stride, to.At(row, row + kRows));
            }
          });
      if (!good) return false;
    }
    SubstituteForward(to, source.Labels(to), inverse, y);
    first = to.end();
  }
  return true;
}

/// U x = y, eight rows at a time from the last up.
void SubstituteBack(double* factor, std::size_t size, const double* inverse, const double* y,
                    double* x) {
  const CleanUppers at_the_end;
  const Doubles tag;
  for (std::size_t row = size; row > 0;) {
    row -= kRows;
    HWY_ALIGN double partial[kRows][kRows] = {};
    for (std::size_t part = 0; part < kRows; part += kLanes) {
      Vec sums[kRows];
      for (std::size_t r = 0; r < kRows; ++r) sums[r] = hn::Zero(tag);
      for (std::size_t column = row + kRows; column < size;) {
        const Panel panel(factor, size, column);
        const double* from = panel.At(row, column);
        for (; column < panel.end(); column += kRows, from += kRows) {
          const Vec known = hn::Load(tag, x + column + part);
          for (std::size_t r = 0; r < kRows; ++r) {
            sums[r] = hn::MulAdd(hn::Load(tag, from + r * panel.stride + part), known, sums[r]);
          }
        }
      }
      for (std::size_t r = 0; r < kRows; ++r) hn::Store(sums[r], tag, partial[r] + part);
    }
    const Panel panel(factor, size, row);
    for (std::size_t r = kRows; r-- > 0;) {
      double* p = partial[r];
      double rest = ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
      for (std::size_t j = kRows; --j > r;) rest = *panel.At(row + r, row + j) * x[row + j] + rest;
      x[row + r] = (y[row + r] - rest) * inverse[row + r];
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace polykern
HWY_AFTER_NAMESPACE();

#endif  // POLYKERN_CORE_CHOLESKY_INL_H
