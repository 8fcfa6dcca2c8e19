#pragma once

#include "polykern/core/error.h"
#include "polykern/gpu/device.h"

namespace polykern::gpu {

/// What the kernels leave between each other, for the clients of a tile.
class TileBuffers {
 public:
  TileBuffers(const Device& device, U64 clients, const KernelShape& shape);

  void Describe(FleetArguments& a) const;
  /// Where those who are there are listed, if not all are.
  void DescribePresent(FleetArguments& a) const;

 private:
  Buffer<float> f_;
  Buffer<float> along_z_;
  Buffer<U32> sent_;
  Buffer<float> along_theta_;
  Buffer<double> mix_;  // AdaHedge: means, where the mix loss is counted from, logarithms
  Buffer<U8> present_;
  Buffer<U32> who_;
  Buffer<U32> how_many_;
};

/// Throws TooManyClients unless so many fit beside tiles of so many.
void CheckRoom(const Device& device, U64 clients, const KernelShape& shape, U64 in_tiles);
/// Says how many clients would fit: fewer than these.
Error TooManyClients(const Device& device, U64 clients, const KernelShape& shape, U64 in_tiles);

/// States and scores of all clients.
struct ClientBuffers {
  /// Throws as CheckRoom does.
  ClientBuffers(const Device& device, U64 clients, const KernelShape& shape, U64 in_tiles);

  /// Everyone at the start.
  void Clear(Queue& queue) const;
  void Describe(FleetArguments& a) const;

  U64 count;
  Buffer<double> losses;         ///< state; none: clients have no weights
  Buffer<double> gaps;           ///< AdaHedge's state beside them
  Buffer<double> kernel_scores;  ///< none: they are the losses
  Buffer<double> squared_error;
  Buffer<double> loss;
  Buffer<double> best;
  Buffer<U32> taken;
  Buffer<U8> unit_range;
};

}  // namespace polykern::gpu
