#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "polykern/privacy/discrete_gaussian.h"
#include "polykern/privacy/release_weights.h"

namespace polykern {

/// The sums of one kind, release after release, in integers modulo 2^64 (a ring of 32 bits is their
/// lower half): what came in, or what was released. A value; threads may share it to read.
class ReleaseHistory {
 public:
  explicit ReleaseHistory(std::size_t numbers) : numbers_(numbers) {}

  std::size_t numbers() const { return numbers_; }
  std::size_t size() const { return values_.size() / numbers_; }  ///< releases so far
  std::span<const std::uint64_t> operator[](std::size_t release) const {
    return std::span(values_).subspan(release * numbers_, numbers_);
  }
  /// The numbers of one more.
  void Add(std::span<const std::uint64_t> release);

  /// All of it, release after release, to be kept.
  const std::vector<std::uint64_t>& Save() const { return values_; }
  /// What was saved. Throws Error, and changes nothing, if these are not whole releases.
  void Load(std::vector<std::uint64_t> values);

 private:
  std::size_t numbers_;
  std::vector<std::uint64_t> values_;
};

/// Writes sum_j c_j x_{t-j} modulo 2^64, x_t the newest of what came in. Linear: that of sums with
/// masks, less that of the masks, is that of the sums; and what a helper gives away of its masks
/// has the noise taken off, so that it is in the difference.
void Correlate(const ReleaseWeights& weights, const ReleaseHistory& came_in,
               std::span<std::uint64_t> correlated);

/// As many draws as are written, modulo 2^64.
void DrawNoise(DiscreteGaussian& gaussian, std::span<std::uint64_t> noise);

/// Estimates x_0 + .. + x_t from all that was released, in doubles: without bias, and each with a
/// standard deviation of sigma x unit x weights.RunningDeviation(released.size()). `bits`: of the
/// ring, 32 or 64, in which every release must be less than half of it in size.
void DecodeRunningSums(const ReleaseWeights& weights, const ReleaseHistory& released, unsigned bits,
                       double unit, std::span<double> sums);

}  // namespace polykern
