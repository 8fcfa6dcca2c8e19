#include "polykern/core/normal_equations.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "polykern/core/normal_equations.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// Loops over registers must not remain loops: an index that is no constant puts them into memory.
#define POLYKERN_UNROLL _Pragma("GCC unroll 8")

HWY_BEFORE_NAMESPACE();
namespace polykern {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Everything below walks over blocks of eight rows and, in them, over strips of columns; every
// number has its own chain of operations, whatever the width of the vectors.
constexpr std::size_t kRows = 8;
using Doubles = hn::CappedTag<double, kRows>;
using Vec = hn::Vec<Doubles>;
constexpr std::size_t kLanes = HWY_MIN(HWY_MAX_BYTES / sizeof(double), kRows);
constexpr std::size_t kWideStrip = HWY_MAX_BYTES >= 64 ? 3 : 1;  // vectors that registers can hold
constexpr std::size_t kChunk = 512;  // samples with |z|, |y| <= 1 whose sums fit 53 bits
constexpr double kProductUnit = 0x1p-44;

/// sums[r][v] = sum_k left[k][r] right[k][v], both with `stride` numbers from one k to the next;
/// depth > 0.
template <std::size_t V>
HWY_INLINE void Multiply(const double* left, const double* right, std::size_t depth,
                         std::size_t stride, Vec (&sums)[kRows][V]) {
  const Doubles tag;
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < V; ++v) {
      sums[r][v] = hn::Mul(hn::Set(tag, left[r]), hn::Load(tag, right + v * kLanes));
    }
  }
  for (std::size_t k = 1; k < depth; ++k) {
    left += stride;
    right += stride;
    Vec columns[V];
    for (std::size_t v = 0; v < V; ++v) columns[v] = hn::Load(tag, right + v * kLanes);
    for (std::size_t r = 0; r < kRows; ++r) {
      const Vec row = hn::Set(tag, left[r]);
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

/// One strip of eight rows of matrix = keep * matrix + sum over the samples.
template <std::size_t V>
HWY_INLINE void AddStrip(const double* samples, std::size_t count, std::size_t stride,
                         std::size_t row, std::size_t column, double keep, double* matrix) {
  const Doubles tag;
  Vec sums[kRows][V];
  if (count <= kChunk) {
    Multiply<V>(samples + row, samples + column, count, stride, sums);
  } else {  // the chunks' sums are exact, and so are sums of them as integers
    const hn::RebindToSigned<Doubles> integers;
    HWY_ALIGN std::int64_t units[kRows][V * kLanes] = {};
    for (std::size_t start = 0; start < count; start += kChunk) {
      const double* chunk = samples + start * stride;
      Multiply<V>(chunk + row, chunk + column, std::min(kChunk, count - start), stride, sums);
      for (std::size_t r = 0; r < kRows; ++r) {
        for (std::size_t v = 0; v < V; ++v) {
          HWY_ALIGN double numbers[kLanes];
          hn::Store(hn::Mul(sums[r][v], hn::Set(tag, 1 / kProductUnit)), tag, numbers);
          for (std::size_t l = 0; l < kLanes; ++l) {
            units[r][v * kLanes + l] += static_cast<std::int64_t>(numbers[l]);
          }
        }
      }
    }
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t v = 0; v < V; ++v) {
        sums[r][v] = hn::Mul(hn::ConvertTo(tag, hn::Load(integers, units[r] + v * kLanes)),
                             hn::Set(tag, kProductUnit));
      }
    }
  }
  const Vec factor = hn::Set(tag, keep);
  for (std::size_t r = 0; r < kRows; ++r) {
    double* out = matrix + (row + r) * stride + column;
    for (std::size_t v = 0; v < V; ++v) {
      const Vec kept = hn::Mul(factor, hn::Load(tag, out + v * kLanes));
      hn::Store(hn::Add(kept, sums[r][v]), tag, out + v * kLanes);
    }
  }
}

void AddSamples(const double* samples, std::size_t count, std::size_t stride, double keep,
                double* matrix) {
  for (std::size_t row = 0; row + kRows < stride; row += kRows) {
    ForEachStrip(row, stride,
                 [&]<std::size_t V>(std::size_t column, std::integral_constant<std::size_t, V>) {
                   AddStrip<V>(samples, count, stride, row, column, keep, matrix);
                 });
  }
}

/// One strip of A - (rows of U above)' U, the part of a block that its own rows have no share in.
template <std::size_t V>
HWY_INLINE void LeftOver(const double* matrix, const double* factor, std::size_t stride,
                         std::size_t row, std::size_t column, Vec (&left)[kRows][V]) {
  const Doubles tag;
  const double* from = matrix + row * stride + column;
  if (row == 0) {
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t v = 0; v < V; ++v)
        left[r][v] = hn::Load(tag, from + r * stride + v * kLanes);
    }
    return;
  }
  Multiply<V>(factor + row, factor + column, row, stride, left);
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < V; ++v) {
      left[r][v] = hn::Sub(hn::Load(tag, from + r * stride + v * kLanes), left[r][v]);
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
/// not above 0.
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
    if (!(own[q] > 0) || !std::isfinite(own[q])) return false;
    inverse[q] = 1 / std::sqrt(own[q]);
    for (std::size_t v = 0; v < kVectors; ++v) {
      rows[q][v] = hn::Mul(rows[q][v], hn::Set(tag, inverse[q]));
      hn::Store(rows[q][v], tag, own + v * kLanes);
    }
    POLYKERN_UNROLL
    for (std::size_t r = q + 1; r < kRows; ++r) {
      const Vec share = hn::Set(tag, own[r]);
      for (std::size_t v = 0; v < kVectors; ++v) {
        rows[r][v] = hn::NegMulAdd(share, rows[q][v], rows[r][v]);
      }
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

/// The block on the diagonal and what else V vectors hold, which keeps the machine busier than the
/// block alone. False if a pivot is not above 0.
template <std::size_t V>
HWY_INLINE bool FirstStrip(const double* matrix, std::size_t stride, std::size_t row, double ridge,
                           double* factor, double* inverse) {
  constexpr std::size_t kRest = V - kRows / kLanes;
  double* block = factor + row * stride + row;
  Vec left[kRows][V];
  LeftOver<V>(matrix, factor, stride, row, row, left);
  StoreStrip<V>(left, stride, block);
  if (!FinishDiagonal(ridge, stride, block, inverse)) return false;
  Vec rest[kRows][kRest];
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < kRest; ++v) rest[r][v] = left[r][v + kRows / kLanes];
  }
  FinishStrip<kRest>(block, stride, inverse, rest);
  StoreStrip<kRest>(rest, stride, block + kRows);
  return true;
}

/// Cholesky's U of matrix + ridge I = U'U, and U'^-1 b in b's place: eight rows at a time, each
/// strip of them finished in registers once the block on the diagonal is.
bool Factorize(const double* matrix, std::size_t stride, double ridge, double* factor) {
  for (std::size_t row = 0; row + kRows < stride; row += kRows) {
    double* block = factor + row * stride + row;
    double inverse[kRows];  // of the diagonal
    std::size_t next = row + kRows;
    bool good = true;
    if constexpr (kWideStrip > 2) {
      next = std::min(stride, row + kWideStrip * kLanes);
      good = next == row + kWideStrip * kLanes
                 ? FirstStrip<3>(matrix, stride, row, ridge, factor, inverse)
                 : FirstStrip<2>(matrix, stride, row, ridge, factor, inverse);
    } else {
      for (std::size_t column = 0; column < kRows; column += kLanes) {
        Vec left[kRows][1];
        LeftOver<1>(matrix, factor, stride, row, row + column, left);
        StoreStrip<1>(left, stride, block + column);
      }
      good = FinishDiagonal(ridge, stride, block, inverse);
    }
    if (!good) return false;
    ForEachStrip(next, stride,
                 [&]<std::size_t V>(std::size_t column, std::integral_constant<std::size_t, V>) {
                   Vec left[kRows][V];
                   LeftOver<V>(matrix, factor, stride, row, column, left);
                   FinishStrip<V>(block, stride, inverse, left);
                   StoreStrip<V>(left, stride, factor + row * stride + column);
                 });
  }
  return true;
}

/// U x = the column of U'^-1 b, from the last row up.
void SubstituteBack(const double* factor, std::size_t stride, double* x) {
  const Doubles tag;
  const std::size_t size = stride - kRows;
  std::fill(x, x + size, 0);
  for (std::size_t row = size; row-- > 0;) {
    const double* own = factor + row * stride;
    HWY_ALIGN double partial[kRows];
    for (std::size_t part = 0; part < kRows; part += kLanes) {
      Vec sum = hn::Zero(tag);  // x is still 0 up to this row
      for (std::size_t column = row / kRows * kRows; column < size; column += kRows) {
        sum = hn::MulAdd(hn::Load(tag, own + column + part), hn::Load(tag, x + column + part), sum);
      }
      hn::Store(sum, tag, partial + part);
    }
    for (std::size_t half = kRows / 2; half > 0; half /= 2) {
      for (std::size_t p = 0; p < half; ++p) partial[p] += partial[p + half];
    }
    x[row] = (own[size] - partial[0]) / own[row];
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace polykern
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace polykern {

HWY_EXPORT(AddSamples);
HWY_EXPORT(Factorize);
HWY_EXPORT(SubstituteBack);

NormalEquations::NormalEquations(std::size_t width)
    : width_(width), rows_(Groups(width) * 8 * RowLanes(width)) {}

void NormalEquations::Round(std::span<const double> z, double y, std::span<DoubleLanes> row) {
  assert(row.size() == RowLanes(z.size()));
  // Adding 1.5 * 2^30 leaves no bit below 2^-22.
  const auto round = [](double value) {
    assert(std::abs(value) <= 1);
    constexpr double kMagic = 0x1.8p30;
    return value + kMagic - kMagic;
  };
  double* out = row.data()->lane;
  for (std::size_t j = 0; j < z.size(); ++j) out[j] = round(z[j]);
  std::fill(out + z.size(), out + row.size() * 8, 0);
  out[Groups(z.size()) * 8] = round(y);
}

void NormalEquations::Add(std::span<const DoubleLanes> rows, double keep) {
  const std::size_t lanes = RowLanes(width_);
  const std::size_t count = rows.size() / lanes;
  assert(rows.size() == count * lanes && count <= kMostSamples);
  if (count == 0) return;
  HWY_DYNAMIC_DISPATCH(AddSamples)
  (rows.data()->lane, count, lanes * 8, keep, rows_.data()->lane);
}

bool NormalEquations::Solve(double ridge, std::vector<DoubleLanes>& scratch,
                            std::span<double> theta) const {
  assert(theta.size() == width_ && ridge > 0);
  const std::size_t lanes = RowLanes(width_);
  if (scratch.size() < rows_.size() + lanes) scratch.resize(rows_.size() + lanes);
  double* factor = scratch.data()->lane;
  if (!HWY_DYNAMIC_DISPATCH(Factorize)(rows_.data()->lane, lanes * 8, ridge, factor)) return false;
  double* x = scratch[rows_.size()].lane;
  HWY_DYNAMIC_DISPATCH(SubstituteBack)(factor, lanes * 8, x);
  std::copy(x, x + width_, theta.begin());
  return true;
}

void NormalEquations::Save(std::span<double> saved) const {
  assert(saved.size() == SavedSize(width_));
  const std::size_t stride = RowLanes(width_) * 8;
  auto to = saved.begin();
  for (std::size_t i = 0; i < width_; ++i) {
    const double* row = rows_.data()->lane + i * stride;
    to = std::copy(row + i, row + width_, to);
    *to++ = row[stride - 8];
  }
}

void NormalEquations::Load(std::span<const double> saved) {
  assert(saved.size() == SavedSize(width_));
  const std::size_t stride = RowLanes(width_) * 8;
  double* rows = rows_.data()->lane;
  auto from = saved.begin();
  for (std::size_t i = 0; i < width_; ++i) {
    for (std::size_t j = i; j < width_; ++j) {
      rows[i * stride + j] = *from;
      rows[j * stride + i] = *from++;  // a block on the diagonal has both halves
    }
    rows[i * stride + stride - 8] = *from++;
  }
}

}  // namespace polykern
#endif  // HWY_ONCE
