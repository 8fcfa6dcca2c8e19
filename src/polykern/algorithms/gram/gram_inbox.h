#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "polykern/algorithms/algorithm.h"
#include "polykern/algorithms/gram/gram_grid.h"

namespace polykern {

/// A sum of one expert over messages: integers modulo 2^64, which masks may hide, and what is known
/// of the messages.
struct GramSum {
  std::uint64_t messages = 0;
  SampleCount count = {};
  std::uint64_t new_unknowns = 0;                ///< Updates::new_unknowns
  std::uint64_t squares = 0;                     ///< of the messages' numbers of samples
  std::vector<std::int64_t> sums = {};           ///< empty: of no message
  std::vector<Contribution> contributions = {};  ///< of masked messages

  void Add(const GramSum& other);

  /// Appends it as numbers, each of 32 bits; and back, from the first ones of `saved`, which lose
  /// them. Throws Error if they cannot be one of so many sums.
  void Save(std::vector<double>& saved) const;
  static GramSum Load(std::span<const double>& saved, std::size_t numbers);
};

/// What a step brings of pof-gram's sums, of all experts, and the samples it tells of. The grid
/// must outlive it.
class GramInbox final : public Inbox {
 public:
  /// `turn`: the experts of the open step, which others have sums of too; it may change.
  GramInbox(const GramGrid& grid, const std::vector<std::uint32_t>& turn);

  void Add(const Updates& updates) override;
  void Clear() override;
  /// Counts, and the sums of the turn; not who sent masked ones.
  std::vector<std::span<std::int64_t>> Sums() override;

  void Merge(GramInbox& other);
  /// What came of an expert; it is no longer here.
  GramSum Take(std::size_t expert);
  SampleCount fresh() const;

 private:
  enum Count : std::size_t { kMessages, kSamples, kUnknowns, kNewUnknowns, kSquares, kCounts };

  std::int64_t& CountOf(std::size_t expert, Count which) {
    return counts_[kCounts * expert + which];
  }
  std::span<std::int64_t> Room(std::size_t expert);

  const GramGrid& grid_;
  const std::vector<std::uint32_t>& turn_;
  std::vector<std::vector<std::int64_t>> sums_;  // per expert; empty until somebody sends them
  std::vector<std::vector<Contribution>> contributions_;  // per expert
  std::vector<std::int64_t> counts_;  // of each expert, then fresh samples and unknowns
};

}  // namespace polykern
