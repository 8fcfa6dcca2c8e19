#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "polykern/core/line_allocator.h"

namespace polykern {

/// Sums of float vectors with the same bits in any order: each number is rounded once to a multiple
/// of 2^-30 and added as a 64-bit integer, which is associative. Sums made apart (by threads, by
/// processes) are merged by adding. Exact up to kMaxTerms terms of size 512,
/// or as many as kMostTerms of the size that LimitOf says; the caller must refuse more.
/// One thread at a time.
class ExactSum {
 public:
  static constexpr double kUnit = 0x1p-30;
  static constexpr float kLimit = 512;  ///< the largest representable term
  static constexpr std::uint64_t kMaxTerms = (std::uint64_t{1} << 24) - 1;
  static constexpr std::uint64_t kMostTerms = (std::uint64_t{1} << 30) - 1;  ///< of any size

  /// How large a term of so many may be, so that their sum fits: kLimit, or less above kMaxTerms.
  static float LimitOf(std::uint64_t terms);

  /// unit: of integers that are added as they are; floats need kUnit.
  explicit ExactSum(std::size_t size, double unit = kUnit) : unit_(unit), sums_(size) {}

  /// True if every value is finite and at most `limit` in size: with kLimit Add's precondition.
  static bool Representable(std::span<const float> values, float limit = kLimit);

  /// Adds rows of equal length: row r to the row which[r] of the sum.
  void Add(std::span<const float> rows, std::span<const std::uint32_t> which);
  /// The same with integers in the sum's unit, modulo 2^64.
  void AddIntegers(std::span<const std::uint64_t> rows, std::span<const std::uint32_t> which);
  /// Adds values to the places offset, offset + 1, ..
  void Add(std::size_t offset, std::span<const float> values);
  void Merge(const ExactSum& other);
  void Clear();

  std::size_t size() const { return sums_.size(); }
  double unit() const { return unit_; }
  /// The sums as multiples of the unit.
  std::span<const std::int64_t> units() const { return sums_; }
  std::span<std::int64_t> units() { return sums_; }
  double operator[](std::size_t i) const { return static_cast<double>(sums_[i]) * unit_; }

 private:
  double unit_;
  std::vector<std::int64_t, LineAllocator<std::int64_t>> sums_;
};

}  // namespace polykern
