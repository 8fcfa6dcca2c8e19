#pragma once

#include <span>

#include "polykern/core/double_sum.h"
#include "polykern/data/stream.h"
#include "polykern/data/synthetic.h"
#include "polykern/gpu/device.h"
#include "polykern/sim/ranks/communicator.h"
#include "polykern/sim/stream_history.h"

namespace polykern::gpu {

class FleetSamples;

/// Where the samples of a tile are made, if they are not on the device already.
struct TileSamples {
  TileSamples(const Device& device, const FleetSamples& samples, U64 clients);

  Buffer<float> x;
  Buffer<double> y;
};

/// The samples of some clients of a stream on a device: the synthetic fleet is made there, step by
/// step; all steps of any other are copied to it. Threads may share it.
class FleetSamples {
 public:
  /// Both must outlive it. Throws Error if there is no room.
  FleetSamples(const Device& device, const Stream& stream, const ClientRange& own,
               const Attendance& attendance);

  bool made_there() const { return synthetic_ != nullptr; }
  U64 stride() const { return (stream_.dimension() + 3) / 4 * 4; }
  float longest() const { return longest_; }  ///< most ||x|| of a sample

  /// What the kernels are told of clients and stream, for all steps.
  void Describe(FleetArguments& a) const;
  /// And where a tile's samples are at a step. True: they must be made first.
  bool Place(const TileSamples& tile, FleetArguments& a) const;

  /// FleetData::MeasureLabels.
  bool MeasureLabels(std::span<DoubleSum, 4> sums, std::int64_t& labels) const;

 private:
  void Upload(Queue& queue);

  const Device& device_;
  const Stream& stream_;
  const SyntheticFleet* synthetic_;  // null: it is another stream
  ClientRange own_;
  Attendance attendance_;
  float longest_ = 1;  // as the synthetic fleet's are
  Buffer<double> sites_;
  Buffer<double> turns_;
  Buffer<float> x_;  // steps x clients x stride
  Buffer<double> y_;
  Buffer<U8> has_sample_;  // none: everyone always has
};

}  // namespace polykern::gpu
