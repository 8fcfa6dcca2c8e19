#pragma once

#include <cstdint>
#include <vector>

#include "polykern/algorithms/algorithm.h"
#include "polykern/privacy/mask_sealing.h"

namespace polykern {

/// Masks of a simulation, in which one process plays clients, server and helper: what is sent looks
/// as it does in a federation, and what is released has the same bits as without masks. Threads may
/// share `sealing`; `opener` is for one.
class SimulatedMasks {
 public:
  /// Bytes that masks add to a message with sums, at most.
  static constexpr std::uint64_t kBytes = 24;

  /// Keys of clients 0 .. clients - 1 from a seed. Throws Error for an algorithm without sums.
  SimulatedMasks(const Algorithm& algorithm, std::uint64_t seed, std::size_t clients);

  MaskSealing sealing;
  MaskOpener opener;

 private:
  std::vector<ClientMaskKeys> keys_;
};

}  // namespace polykern
