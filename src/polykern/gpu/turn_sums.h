#pragma once

#include <span>
#include <vector>

#include "polykern/gpu/device.h"

namespace polykern::gpu {

/// An expert of pof-gram whose sums are sent in a step, and where on the device they go.
struct TurnEntry {
  U32 expert = 0;
  U32 size = 0;        ///< D
  bool tells = false;  ///< of new unknowns
  U64* counts = nullptr;
  I64* sums = nullptr;
};

/// What pof-gram's clients of a tile send. No client has a sum of its own: their samples, old ones
/// too, are read or made again, some of each client at a time, and added to the sum over all
/// clients at once. One thread at a time; throws DeviceFailure.
class TurnSums {
 public:
  /// For tiles of so many clients. Of another algorithm there is nothing.
  TurnSums(const Device& device, const KernelShape& shape, U64 clients);

  /// Before the clients learn.
  void Begin(Queue& queue, FleetArguments& a) const;
  /// And after it, once AdaHedge's gaps are there: adds the sums of the turn.
  void Add(Queue& queue, const Program& program, const FleetArguments& a,
           std::span<const TurnEntry> turn);

 private:
  void AddEntry(Queue& queue, const Program& program, FleetArguments a, const TurnEntry& entry,
                U64 pending) const;

  U64 processors_;
  KernelShape shape_;
  U64 rows_;  // samples that are here together
  Buffer<U64> most_pending_;
  Buffer<U32> step_;
  Buffer<U32> number_;
  Buffer<float> x_;
  Buffer<double> y_;
  Buffer<U32> there_;
  std::vector<U64> pending_;
};

}  // namespace polykern::gpu
