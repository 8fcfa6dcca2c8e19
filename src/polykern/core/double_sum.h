#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace polykern {

/// A sum of doubles with the same bits in any order: every bit of every number is added to an
/// integer wide enough for all doubles. Sums made apart (by threads, by processes) are merged by
/// adding their words, one by one. For at most 2^30 numbers in all; one thread at a time.
class DoubleSum {
 public:
  /// Digits of 32 bits from 2^-1074 up, with room above them for carries; the last word counts
  /// what was not finite.
  static constexpr std::size_t kWords = 68;

  void Add(double value);
  void Clear() { words_.fill(0); }
  void Merge(const DoubleSum& other);

  /// The sum as a double, within one unit of its last digit; infinite if any number was not finite.
  double Value() const { return Value(words_); }
  static double Value(std::span<const std::int64_t, kWords> words);

  std::span<std::int64_t, kWords> words() { return words_; }

 private:
  std::array<std::int64_t, kWords> words_ = {};
};

}  // namespace polykern
