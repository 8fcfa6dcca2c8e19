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

#ifndef POLYKERN_CORE_NORMAL_EQUATIONS_COLUMNS  // once, not for each target
#define POLYKERN_CORE_NORMAL_EQUATIONS_COLUMNS
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

constexpr double kRoundingMagic = 0x1.8p30;

}  // namespace
}  // namespace polykern
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
constexpr std::size_t kChunk = 512;  // samples with |z|, |y| <= 1 whose sums fit 53 bits
constexpr double kProductUnit = 0x1p-44;

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

/// out = keep * out + sum over the samples of left right', for a strip of R rows; `sums` is that
/// too.
template <std::size_t R, std::size_t V>
HWY_INLINE void AddStrip(const double* left, const double* right, std::size_t stride,
                         std::size_t count, double keep, double* out, std::size_t out_stride,
                         Vec (&sums)[R][V]) {
  const Doubles tag;
  if (count <= kChunk) {
    Multiply<R, V>(left, stride, right, stride, count, sums);
  } else {  // the chunks' sums are exact, and so are sums of them as integers
    const hn::RebindToSigned<Doubles> integers;
    HWY_ALIGN std::int64_t units[R][V * kLanes] = {};
    for (std::size_t start = 0; start < count; start += kChunk) {
      Multiply<R, V>(left + start * stride, stride, right + start * stride, stride,
                     std::min(kChunk, count - start), sums);
      for (std::size_t r = 0; r < R; ++r) {
        for (std::size_t v = 0; v < V; ++v) {
          HWY_ALIGN double numbers[kLanes];
          hn::Store(hn::Mul(sums[r][v], hn::Set(tag, 1 / kProductUnit)), tag, numbers);
          for (std::size_t l = 0; l < kLanes; ++l) {
            units[r][v * kLanes + l] += static_cast<std::int64_t>(numbers[l]);
          }
        }
      }
    }
    for (std::size_t r = 0; r < R; ++r) {
      for (std::size_t v = 0; v < V; ++v) {
        sums[r][v] = hn::Mul(hn::ConvertTo(tag, hn::Load(integers, units[r] + v * kLanes)),
                             hn::Set(tag, kProductUnit));
      }
    }
  }
  const Vec factor = hn::Set(tag, keep);
  POLYKERN_UNROLL
  for (std::size_t r = 0; r < R; ++r) {
    double* to = out + r * out_stride;
    POLYKERN_UNROLL
    for (std::size_t v = 0; v < V; ++v) {
      sums[r][v] = hn::MulAdd(factor, hn::Load(tag, to + v * kLanes), sums[r][v]);
      hn::Store(sums[r][v], tag, to + v * kLanes);
    }
  }
}

/// row = factor z in multiples of 2^-22: adding 1.5 * 2^30 leaves no bit below.
void RoundSample(const float* z, std::size_t count, double factor, double* row) {
  const Doubles tag;
  const hn::Rebind<float, Doubles> floats;
  const Vec magic = hn::Set(tag, kRoundingMagic);
  const Vec by = hn::Set(tag, factor);
  std::size_t j = 0;
  for (; j + kLanes <= count; j += kLanes) {
    const Vec value = hn::Mul(hn::PromoteTo(tag, hn::LoadU(floats, z + j)), by);
    hn::Store(hn::Sub(hn::Add(value, magic), magic), tag, row + j);
  }
  for (; j < count; ++j) {
    row[j] = static_cast<double>(z[j]) * factor + kRoundingMagic - kRoundingMagic;
  }
}

/// Samples to be added: rows of as many numbers as the matrix has columns and eight more, of which
/// the first is the label.
struct Samples {
  const double* numbers;
  std::size_t count;
  std::size_t size;  // columns of the matrix
  double keep;       // of the matrix as it is

  /// Adds them to a strip of eight rows, which is in `strip` then.
  template <std::size_t V>
  HWY_INLINE void Add(const Panel& matrix, std::size_t row, std::size_t column,
                      Vec (&strip)[kRows][V]) const {
    const Doubles tag;
    double* at = matrix.At(row, column);
    // The next strip lies behind this one, and in far memory.
    for (std::size_t line = 0; line < kRows * V * kLanes; line += kRows) {
      __builtin_prefetch(at + kRows * matrix.stride + line);
    }
    if (count > 0) {
      AddStrip<kRows, V>(numbers + row, numbers + column, size + kRows, count, keep, at,
                         matrix.stride, strip);
      return;
    }
    POLYKERN_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      POLYKERN_UNROLL
      for (std::size_t v = 0; v < V; ++v) {
        strip[r][v] = hn::Load(tag, at + r * matrix.stride + v * kLanes);
      }
    }
  }
  /// Adds what belongs to a panel of columns to b.
  void AddTo(const Panel& panel, double* b) const {
    if (count == 0) return;
    ForEachStrip(panel.first, panel.end(),
                 [&]<std::size_t V>(std::size_t column, std::integral_constant<std::size_t, V>) {
                   Vec sums[1][V];
                   AddStrip<1, V>(numbers + size, numbers + column, size + kRows, count, keep,
                                  b + column, 0, sums);
                 });
  }
};

void AddSamples(const double* numbers, std::size_t count, std::size_t size, double keep,
                double* matrix, double* b) {
  const Samples samples = {numbers, count, size, keep};
  for (std::size_t first = 0; first < size;) {
    const Panel panel(matrix, size, first);
    for (std::size_t row = 0; row < panel.end(); row += kRows) {
      ForEachStrip(std::max(row, first), panel.end(),
                   [&]<std::size_t V>(std::size_t column, std::integral_constant<std::size_t, V>) {
                     Vec strip[kRows][V];
                     samples.Add<V>(panel, row, column, strip);
                   });
    }
    samples.AddTo(panel, b);
    first = panel.end();
  }
}

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

/// AddSamples, then Cholesky's U of matrix + ridge I = U'U, its diagonal's inverse, and
/// y = U'^-1 b. Each strip is decomposed when its samples are in: then the matrix comes from far
/// memory while there is much to compute. False if a pivot is not above 0.
bool AddAndFactorize(const double* numbers, std::size_t count, std::size_t size, double keep,
                     double ridge, double* matrix, double* b, double* factor, double* inverse,
                     double* y) {
  const Samples samples = {numbers, count, size, keep};
  for (std::size_t first = 0; first < size;) {
    const Panel from(matrix, size, first);
    const Panel to(factor, size, first);
    for (std::size_t row = 0; row < to.end(); row += kRows) {
      const Panel left(factor, size, row);
      double* block = left.At(row, row);
      const auto finish = [&]<std::size_t V>(std::size_t column,
                                             std::integral_constant<std::size_t, V>) {
        Vec rest[kRows][V];
        samples.Add<V>(from, row, column, rest);
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
            samples.Add<V>(from, row, column, rest);
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
    samples.AddTo(from, b);
    SubstituteForward(to, b, inverse, y);
    first = to.end();
  }
  return true;
}

/// U x = y, eight rows at a time from the last up.
void SubstituteBack(double* factor, std::size_t size, const double* inverse, const double* y,
                    double* x) {
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

#if HWY_ONCE
namespace polykern {

HWY_EXPORT(RoundSample);
HWY_EXPORT(AddSamples);
HWY_EXPORT(AddAndFactorize);
HWY_EXPORT(SubstituteBack);

namespace {

/// Where an entry of the upper triangle lies.
std::size_t Place(std::size_t size, std::size_t row, std::size_t column) {
  const Columns panel(size, column);
  return panel.start + panel.Place(row, column);
}

}  // namespace

NormalEquations::NormalEquations(std::size_t width)
    : width_(width), numbers_(MatrixLanes(width) + Groups(width)) {}

std::size_t NormalEquations::MatrixLanes(std::size_t width) {
  const std::size_t size = Groups(width) * 8;
  return size == 0 ? 0 : Place(size, size - 1, size - 1) / 8 + 1;
}

double NormalEquations::Bytes(std::size_t width) {
  const double size = 8 * static_cast<double>(Groups(width));
  const double panels = std::floor((size + Columns::kMost - 1) / Columns::kMost);
  const double last = size - (panels - 1) * Columns::kMost;
  return 8 * ((size - last) * (size - last + Columns::kMost) / 2 + size * last + size);
}

void NormalEquations::Round(std::span<const float> z, double factor, double y,
                            std::span<DoubleLanes> row) {
  assert(row.size() == RowLanes(z.size()) && std::abs(y) <= 1);
  double* out = row.data()->lane;
  HWY_DYNAMIC_DISPATCH(RoundSample)(z.data(), z.size(), factor, out);
  std::fill(out + z.size(), out + row.size() * 8, 0);
  out[Groups(z.size()) * 8] = y + kRoundingMagic - kRoundingMagic;
}

void NormalEquations::Add(std::span<const DoubleLanes> rows, double keep) {
  const std::size_t lanes = RowLanes(width_);
  const std::size_t count = rows.size() / lanes;
  assert(rows.size() == count * lanes && count <= kMostSamples);
  if (count == 0) return;
  HWY_DYNAMIC_DISPATCH(AddSamples)
  (rows.data()->lane, count, Groups(width_) * 8, keep, numbers_.data()->lane,
   numbers_[MatrixLanes(width_)].lane);
}

bool NormalEquations::AddAndSolve(std::span<const DoubleLanes> rows, double keep, double ridge,
                                  std::vector<DoubleLanes>& scratch, std::span<double> theta) {
  assert(theta.size() == width_ && ridge > 0);
  const std::size_t count = rows.size() / RowLanes(width_);
  assert(rows.size() == count * RowLanes(width_) && count <= kMostSamples);
  const std::size_t groups = Groups(width_);
  const std::size_t matrix = MatrixLanes(width_);
  if (scratch.size() < matrix + 3 * groups) scratch.resize(matrix + 3 * groups);
  double* factor = scratch.data()->lane;
  double* inverse = scratch[matrix].lane;
  double* y = scratch[matrix + groups].lane;
  double* x = scratch[matrix + 2 * groups].lane;
  if (!HWY_DYNAMIC_DISPATCH(AddAndFactorize)(count > 0 ? rows.data()->lane : nullptr, count,
                                             groups * 8, keep, ridge, numbers_.data()->lane,
                                             numbers_[matrix].lane, factor, inverse, y)) {
    return false;
  }
  HWY_DYNAMIC_DISPATCH(SubstituteBack)(factor, groups * 8, inverse, y, x);
  std::copy(x, x + width_, theta.begin());
  return true;
}

void NormalEquations::Save(std::span<double> saved) const {
  assert(saved.size() == SavedSize(width_));
  const std::size_t size = Groups(width_) * 8;
  const double* matrix = numbers_.data()->lane;
  const double* b = numbers_[MatrixLanes(width_)].lane;
  auto to = saved.begin();
  for (std::size_t i = 0; i < width_; ++i) {
    for (std::size_t j = i; j < width_; ++j) *to++ = matrix[Place(size, i, j)];
    *to++ = b[i];
  }
}

void NormalEquations::Load(std::span<const double> saved) {
  assert(saved.size() == SavedSize(width_));
  const std::size_t size = Groups(width_) * 8;
  double* matrix = numbers_.data()->lane;
  double* b = numbers_[MatrixLanes(width_)].lane;
  auto from = saved.begin();
  for (std::size_t i = 0; i < width_; ++i) {
    for (std::size_t j = i; j < width_; ++j) {
      if (i / 8 == j / 8) matrix[Place(size, j, i)] = *from;  // such a block has both halves
      matrix[Place(size, i, j)] = *from++;
    }
    b[i] = *from++;
  }
}

}  // namespace polykern
#endif  // HWY_ONCE
