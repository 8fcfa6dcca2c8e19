#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "polykern/algorithms/algorithm.h"
#include "polykern/federation/coordinator.h"
#include "polykern/sim/ranks/communicator.h"

namespace polykern {

/// The server of a simulation whose clients are spread over ranks. A process that runs alone has
/// one coordinator and nothing to exchange. Otherwise each rank has one, and every step is
///  - where the server needs but sums: one sum of integers, the updates' and the step's totals
///    together, whose size does not depend on the clients; then every rank changes its own copy
///    of the model alike;
///  - where it needs single updates (pof-newton): block i belongs to rank i mod ranks, so that
///    neighbours, which clients like together, are on different ones. Updates go to the ranks that
///    own their blocks, and what changed of the model comes back. A rank holds and sends no more
///    than its share.
/// Threads: Receive, one thread per lane; everything else, the communicator's thread.
class SharedStep {
 public:
  /// Everything passed in must outlive this.
  SharedStep(const Algorithm& algorithm, ClientRange own, Communicator& ranks, std::size_t lanes);

  const Broadcast& broadcast() const {
    return alone() || sums_ ? coordinator_.broadcast() : whole_;
  }

  /// As Coordinator::Receive.
  void Receive(const Updates& updates, std::size_t lane);

  /// After the last Receive of a step, on all ranks: exchanges updates, and adds `totals` up over
  /// all ranks. `failure` is not empty if the step failed here; then Error with the text of
  /// the lowest rank that failed is thrown on all ranks.
  void Exchange(std::span<std::int64_t> totals, const std::string& failure);

  /// Ends the step after Exchange. Throws, as the server does, on all ranks alike.
  void Commit(std::uint64_t participants, const RunJobs& run);

  /// Of a process that runs alone: the model and back, as Coordinator's.
  std::vector<double> Save() const { return coordinator_.Save(); }
  void Load(std::uint64_t step, std::span<const double> saved) { coordinator_.Load(step, saved); }

 private:
  bool alone() const { return ranks_.size() == 1; }
  std::size_t OwnerOf(std::uint32_t block) const { return block % ranks_.size(); }
  void SumUpdates(std::span<std::int64_t> totals, bool failed);
  void SendUpdates();
  void ShareModel(const std::string& failure);

  const ModelShape& shape_;
  Communicator& ranks_;
  Coordinator coordinator_;
  bool sums_;                          // the server needs but sums
  std::vector<std::int64_t> numbers_;  // of one sum over the ranks; the last counts failures
  std::vector<std::vector<Words>> on_the_way_;  // lanes x ranks: updates, each after its block
  std::vector<Words> to_;
  std::vector<Words> from_;
  Updates updates_;
  Broadcast whole_;  // the model of all ranks, if they own parts of it
};

}  // namespace polykern
