#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "polykern/algorithms/algorithm.h"
#include "polykern/algorithms/gram/gram_division.h"
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
  /// `division`: the groups of clients, which may change too; null: all are in group 0.
  GramInbox(const GramGrid& grid, const std::vector<std::uint32_t>& turn,
            const GramDivision* division = nullptr);

  /// What is counted of an expert's messages, and where that begins in the first of Sums(), whose
  /// last two numbers are fresh samples and unknowns.
  enum Count : std::size_t { kMessages, kSamples, kUnknowns, kNewUnknowns, kSquares, kCounts };
  static std::size_t PlaceOf(std::size_t expert) { return kCounts * Slot(expert, 0); }

  void Add(const Updates& updates) override;
  void Clear() override;
  /// Counts, and the sums of the turn, of group 0; not who sent masked ones.
  std::vector<std::span<std::int64_t>> Sums() override;
  std::vector<std::int64_t> Pack() const override;
  void Unpack(std::span<const std::int64_t> packed) override;

  void Merge(GramInbox& other);
  /// What came of an expert from a group, 0 or 1; it is no longer here.
  GramSum Take(std::size_t expert, std::size_t group = 0);
  SampleCount fresh() const;

 private:
  /// Where an expert's sum of a group is.
  static std::size_t Slot(std::size_t expert, std::size_t group) { return 2 * expert + group; }
  std::int64_t& CountOf(std::size_t slot, Count which) { return counts_[kCounts * slot + which]; }
  std::span<std::int64_t> Room(std::size_t slot);

  const GramGrid& grid_;
  const std::vector<std::uint32_t>& turn_;
  const GramDivision* division_;
  std::vector<std::vector<std::int64_t>> sums_;  // per slot; empty until someone sends them
  std::vector<std::vector<Contribution>> contributions_;  // per slot
  std::vector<std::int64_t> counts_;  // of each slot, then fresh samples and unknowns
};

}  // namespace polykern
