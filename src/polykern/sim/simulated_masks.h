#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "polykern/algorithms/algorithm.h"
#include "polykern/privacy/mask_sealing.h"
#include "polykern/privacy/pairwise_sealing.h"

namespace polykern {

/// Masks of a simulation, in which one process plays clients, server and helper: what is sent looks
/// as it does in a federation, and what is released has the same bits as without masks. Threads may
/// share `sealing`; `opener` is for one. With pairwise masks a sum that lacks a client is refused,
/// where a federation would wait for it; and every client has as many streams as there are others.
class SimulatedMasks {
 public:
  /// Bytes that masks add to a message with sums, at most.
  static constexpr std::uint64_t kBytes = 24;

  /// Keys of clients 0 .. clients - 1 from a seed. Throws Error for an algorithm without sums.
  SimulatedMasks(const Algorithm& algorithm, std::uint64_t seed, std::size_t clients);

  const Sealing& sealing() const { return *sealing_; }
  Opener& opener() { return *opener_; }

 private:
  void MakeHelped(const Ring& ring, std::uint64_t seed, std::size_t clients);
  void MakePairs(std::uint64_t seed, std::size_t clients);

  std::vector<ClientMaskKeys> keys_;           // with a helper
  std::vector<std::vector<PairedKey>> pairs_;  // without: per client, with each other one
  std::unique_ptr<Sealing> sealing_;
  std::unique_ptr<Opener> opener_;
};

}  // namespace polykern
