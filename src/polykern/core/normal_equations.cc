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

#include "polykern/core/cholesky-inl.h"
#include "polykern/core/clean_uppers-inl.h"

HWY_BEFORE_NAMESPACE();
namespace polykern {
namespace HWY_NAMESPACE {
namespace {

constexpr std::size_t kChunk = 512;  // samples with |z|, |y| <= 1 whose sums fit 53 bits
constexpr double kProductUnit = 0x1p-44;
constexpr double kRoundingMagic = 0x1.8p30;

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

/// row = factor z and, after zeros up to a multiple of eight, y, in multiples of 2^-22: adding 1.5
/// * 2^30 leaves no bit below.
void RoundSample(const float* z, std::size_t count, double factor, double y, double* row) {
  const CleanUppers at_the_end;
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
  const std::size_t size = (count + kRows - 1) / kRows * kRows;
  std::fill(row + count, row + size + kRows, 0);
  row[size] = y + kRoundingMagic - kRoundingMagic;
}

/// A matrix and b to which samples are added, each part when it is asked for. Samples are rows of
/// as many numbers as the matrix has columns and eight more, of which the first is the label.
struct Sums {
  const double* samples;
  std::size_t count;
  std::size_t size;  // columns of the matrix
  double keep;       // of the matrix and b as they are
  double* numbers;
  double* b;

  /// A strip of eight rows.
  template <std::size_t V>
  HWY_INLINE void Strip(std::size_t row, std::size_t column, Vec (&strip)[kRows][V]) const {
    const Doubles tag;
    const Panel matrix(numbers, size, column);
    double* at = matrix.At(row, column);
    // The next strip lies behind this one, and in far memory.
    for (std::size_t line = 0; line < kRows * V * kLanes; line += kRows) {
      __builtin_prefetch(at + kRows * matrix.stride + line);
    }
    if (count > 0) {
      AddStrip<kRows, V>(samples + row, samples + column, size + kRows, count, keep, at,
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
  /// b, in which a panel's columns are.
  const double* Labels(const Columns& panel) const {
    if (count == 0) return b;
    ForEachStrip(panel.first, panel.end(),
                 [&]<std::size_t V>(std::size_t column, std::integral_constant<std::size_t, V>) {
                   Vec sums[1][V];
                   AddStrip<1, V>(samples + size, samples + column, size + kRows, count, keep,
                                  b + column, 0, sums);
                 });
    return b;
  }
};

void AddSamples(const double* samples, std::size_t count, std::size_t size, double keep,
                double* matrix, double* b) {
  const CleanUppers at_the_end;
  const Sums sums = {samples, count, size, keep, matrix, b};
  for (std::size_t first = 0; first < size;) {
    const Columns panel(size, first);
    for (std::size_t row = 0; row < panel.end(); row += kRows) {
      ForEachStrip(std::max(row, first), panel.end(),
                   [&]<std::size_t V>(std::size_t column, std::integral_constant<std::size_t, V>) {
                     Vec strip[kRows][V];
                     sums.Strip(row, column, strip);
                   });
    }
    sums.Labels(panel);
    first = panel.end();
  }
}

/// AddSamples, and Factorize. Each strip is decomposed when its samples are in: then the matrix
/// comes from far memory while there is much to compute.
bool AddAndFactorize(const double* samples, std::size_t count, std::size_t size, double keep,
                     double ridge, double* matrix, double* b, double* factor, double* inverse,
                     double* y) {
  const CleanUppers at_the_end;
  const Sums sums = {samples, count, size, keep, matrix, b};
  return Factorize(sums, size, ridge, factor, inverse, y);
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

NormalEquations::NormalEquations(std::size_t width) : width_(width) {}

void NormalEquations::TakeRoom() {
  numbers_.resize(MatrixLanes(width_) + Groups(width_));
}

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
  HWY_DYNAMIC_DISPATCH(RoundSample)(z.data(), z.size(), factor, y, row.data()->lane);
}

void NormalEquations::Add(std::span<const DoubleLanes> rows, double keep) {
  const std::size_t lanes = RowLanes(width_);
  const std::size_t count = rows.size() / lanes;
  assert(rows.size() == count * lanes && count <= kMostSamples);
  if (count == 0) return;
  TakeRoom();
  HWY_DYNAMIC_DISPATCH(AddSamples)
  (rows.data()->lane, count, Groups(width_) * 8, keep, numbers_.data()->lane,
   numbers_[MatrixLanes(width_)].lane);
}

bool NormalEquations::AddAndSolve(std::span<const DoubleLanes> rows, double keep, double ridge,
                                  std::vector<DoubleLanes>& scratch, std::span<double> theta) {
  assert(theta.size() == width_ && ridge > 0);
  const std::size_t count = rows.size() / RowLanes(width_);
  assert(rows.size() == count * RowLanes(width_) && count <= kMostSamples);
  TakeRoom();
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
  if (numbers_.empty()) {
    std::ranges::fill(saved, 0);
    return;
  }
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
  TakeRoom();
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
