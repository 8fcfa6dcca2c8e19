#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace polykern {

/// Eight doubles, the widest vector, aligned for it.
struct alignas(64) DoubleLanes {
  double lane[8] = {};
};

/// The ridge regression of samples (z, y) seen one by one: A = sum z z' and b = sum y z, from which
/// theta = (A + ridge I)^-1 b. Samples are rounded to multiples of 2^-22, which makes every sum of
/// products exact: samples that are added together give the same bits in any order.
/// Takes about F^2 doubles. One thread at a time.
class NormalEquations {
 public:
  /// Samples that one call of Add can take: their sums stay exact.
  static constexpr std::size_t kMostSamples = std::size_t{1} << 19;

  explicit NormalEquations(std::size_t width);

  std::size_t width() const { return width_; }  ///< F, the length of z

  /// Rounded samples, ready to be added: a row of RowLanes(width) for each.
  static std::size_t RowLanes(std::size_t width) { return Groups(width) + 1; }
  /// Rounds one sample into a row. |z_j| and |y| are at most 1.
  static void Round(std::span<const double> z, double y, std::span<DoubleLanes> row);

  /// A = keep A + sum z z', b = keep b + sum y z.
  void Add(std::span<const DoubleLanes> rows, double keep);

  /// theta = (A + ridge I)^-1 b, by Cholesky. `scratch` grows to what is needed. False, and theta
  /// unchanged, if the matrix is not positive definite in double.
  bool Solve(double ridge, std::vector<DoubleLanes>& scratch, std::span<double> theta) const;

  /// A's upper triangle row by row, each row followed by its entry of b: F (F + 3) / 2 numbers.
  static std::size_t SavedSize(std::size_t width) { return width * (width + 3) / 2; }
  void Save(std::span<double> saved) const;
  void Load(std::span<const double> saved);

 private:
  static std::size_t Groups(std::size_t width) { return (width + 7) / 8; }

  std::size_t width_;
  /// Rows of A, padded to a multiple of 8 with zeros, and after them a group that starts with b's
  /// entry. Left of the diagonal's group nothing is kept.
  std::vector<DoubleLanes> rows_;
};

}  // namespace polykern
