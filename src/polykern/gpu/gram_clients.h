#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "polykern/algorithms/algorithm.h"
#include "polykern/algorithms/gram/gram_grid.h"
#include "polykern/gpu/device.h"
#include "polykern/gpu/turn_sums.h"

namespace polykern::gpu {

/// What pof-gram's clients have on a device beside their mixtures, which of their samples each
/// expert lacks, and what a step asks of them. The device must outlive it; one thread at a time.
class GramClients {
 public:
  /// Bytes of a client.
  static U64 BytesOf(const KernelShape& shape) { return 4 * U64{shape.kernels} + 20; }

  GramClients(const Device& device, const Algorithm& algorithm, const KernelShape& shape,
              U64 clients);

  /// Everyone without a sample.
  void Clear(Queue& queue) const;
  void Describe(FleetArguments& a) const;

  /// Numbers that the clients of a step can add up to, at most: weights, counts and sums.
  std::size_t MostResults() const;
  /// Brings to the device who is awake, and gives places for what the clients add up to from
  /// `results` on.
  void Begin(const Broadcast& sent, Queue& queue, U64* results, FleetArguments& a);
  std::span<const TurnEntry> turn() const { return turn_; }
  /// Numbers of this step's.
  std::size_t Results() const { return results_; }
  /// Adds what so many clients added up to, `found`, to GramInbox::Sums.
  void Collect(std::span<const U64> found, std::span<const U64> totals,
               std::span<const std::span<std::int64_t>> sums) const;

 private:
  std::size_t PairsOf(std::size_t expert) const {
    return GramGrid::EquationsSize(grid_.WidthOf(expert)) + 1;
  }

  GramGrid grid_;
  U64 most_samples_;
  U64 kept_samples_;
  Buffer<int> since_;
  Buffer<U32> learnt_;
  Buffer<U32> reach_;
  Buffer<U64> unknowns_;
  Buffer<U32> last_unknowns_;
  Buffer<ExpertFacts> facts_;
  Buffer<U32> asked_;  // the turn
  std::vector<ExpertFacts> facts_here_;
  std::vector<TurnEntry> turn_;
  std::size_t results_ = 0;
};

}  // namespace polykern::gpu
