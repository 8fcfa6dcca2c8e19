#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace polykern {

/// Two groups of clients, whose masked sums are released apart. After a sum that cannot be, no one
/// may take the masks off its messages in other company: that would be the difference of two sums.
/// So messages of later steps are divided before they come, and of the next bad sum it is known in
/// which half its culprit is. Each bad sum halves those under suspicion.
///
/// A value; pure.
class GramDivision {
 public:
  /// It ends after so many releases without a bad one.
  static constexpr std::uint64_t kReleases = 32;

  bool on() const { return left_ > 0; }
  /// 0 or 1; 0 for all while it is off, and for clients that came after it began.
  std::size_t GroupOf(std::uint64_t client) const;
  /// Who was in each bad sum since it began; no one: there was none, or no one was in all of them.
  const std::vector<std::uint64_t>& suspects() const { return suspects_; }

  /// A sum of these clients cannot be. It begins, if they are enough for two groups of the least,
  /// or divides those that are left again.
  void Spoilt(std::vector<std::uint64_t> clients, std::size_t least);
  /// A sum was good.
  void Passed();

  /// Appends it as numbers, and back, from the first ones of `saved`, which lose them. Throws Error
  /// if they cannot be one.
  void Save(std::vector<double>& saved) const;
  static GramDivision Load(std::span<const double>& saved);

 private:
  void Divide();

  std::uint64_t left_ = 0;
  std::vector<std::uint64_t> clients_;   // whom it divides, upwards
  std::vector<std::uint64_t> suspects_;  // of them, upwards
  std::vector<std::uint64_t> second_;    // the other group, upwards
};

}  // namespace polykern
