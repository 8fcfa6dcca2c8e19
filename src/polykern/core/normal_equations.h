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
/// Takes about F^2 / 2 doubles, from the first sample on. One thread at a time.
class NormalEquations {
 public:
  /// Samples that one call of Add can take: their sums stay exact.
  static constexpr std::size_t kMostSamples = std::size_t{1} << 19;

  explicit NormalEquations(std::size_t width);

  std::size_t width() const { return width_; }  ///< F, the length of z

  /// Rounded samples, ready to be added: a row of RowLanes(width) for each.
  static std::size_t RowLanes(std::size_t width) { return Groups(width) + 1; }
  /// Rounds one sample (factor z, y) into a row. |factor z_j| and |y| are at most 1.
  static void Round(std::span<const float> z, double factor, double y, std::span<DoubleLanes> row);

  /// A = keep A + sum z z', b = keep b + sum y z.
  void Add(std::span<const DoubleLanes> rows, double keep);

  /// Add, and then theta = (A + ridge I)^-1 b by Cholesky, in one walk over the matrix; no rows add
  /// nothing. `scratch` grows to what is needed. False, and theta unchanged, if the matrix is not
  /// positive definite in double; the samples are in A then, or a part of them.
  bool AddAndSolve(std::span<const DoubleLanes> rows, double keep, double ridge,
                   std::vector<DoubleLanes>& scratch, std::span<double> theta);

  /// A's upper triangle row by row, each row followed by its entry of b: F (F + 3) / 2 numbers.
  static std::size_t SavedSize(std::size_t width) { return width * (width + 3) / 2; }
  void Save(std::span<double> saved) const;
  void Load(std::span<const double> saved);

  /// What the matrix and b take; a double, since it may be more than can be counted.
  static double Bytes(std::size_t width);

 private:
  static std::size_t Groups(std::size_t width) { return (width + 7) / 8; }
  static std::size_t MatrixLanes(std::size_t width);
  void TakeRoom();

  std::size_t width_;
  /// A's upper triangle in panels of columns, padded with zeros to a multiple of 8, and then b.
  /// Empty until there are samples.
  std::vector<DoubleLanes> numbers_;
};

}  // namespace polykern
