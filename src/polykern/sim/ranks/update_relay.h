#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "polykern/algorithms/algorithm.h"
#include "polykern/federation/coordinator.h"
#include "polykern/sim/ranks/communicator.h"

namespace polykern {

/// A step of several ranks whose server needs single updates (pof-newton). Block i belongs to rank
/// i mod ranks, so that neighbours, which clients like together, are on different ones. Updates go
/// to the ranks that own their blocks, and what changed of the model comes back. A rank holds and
/// sends no more than its share.
/// Threads: Receive, one thread per lane; everything else, the communicator's thread. All ranks
/// call Deliver and ShareModel alike.
class UpdateRelay {
 public:
  /// Everything passed in must outlive this.
  UpdateRelay(const ModelShape& shape, Coordinator& coordinator, Communicator& ranks,
              std::size_t lanes);

  /// The model of all ranks; the coordinator's is right in this rank's own blocks alone.
  const Broadcast& broadcast() const { return whole_; }

  /// Checks updates of this rank's clients as Coordinator::Receive does, and throws as it does;
  /// collects them for the ranks that own their blocks.
  void Receive(const Updates& updates, std::size_t lane);

  /// Gives every rank's coordinator the updates of the blocks that it owns.
  void Deliver();

  /// After the coordinators have committed: brings what changed to all ranks. `failure` is why this
  /// rank's did not; then all ranks throw Error, with the text of the lowest kernel.
  void ShareModel(const std::string& failure);

 private:
  std::size_t OwnerOf(std::uint32_t block) const { return block % ranks_.size(); }
  Words OwnChanges() const;

  const ModelShape& shape_;
  Coordinator& coordinator_;
  Communicator& ranks_;
  std::vector<std::vector<Words>> on_the_way_;  // lanes x ranks: updates, each after its block
  std::vector<Words> to_;
  std::vector<Words> from_;
  Updates updates_;
  Broadcast whole_;
};

}  // namespace polykern
