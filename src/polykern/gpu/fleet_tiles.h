#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "polykern/gpu/device.h"
#include "polykern/gpu/fleet_buffers.h"
#include "polykern/gpu/fleet_samples.h"
#include "polykern/gpu/fleet_shape.h"
#include "polykern/gpu/turn_sums.h"

namespace polykern::gpu {

/// Takes a fleet through the kernels of a step, some clients at a time. Tiles go through two lanes
/// in turn, so that one's arithmetic hides the other's memory and ends. What is passed in must
/// outlive it. One thread at a time; throws DeviceFailure.
class FleetTiles {
 public:
  /// Clients whose samples, and what lies between the kernels, are on a device together.
  static U64 ClientsAtOnce(const Device& device);

  FleetTiles(const Device& device, const FleetSamples& samples, const FleetShape& shape,
             U64 clients);

  const Program& program() const { return *program_; }
  /// For what is done once for all tiles, before and after them.
  Queue& queue() const { return *lanes_.front().queue; }

  /// Fleet::Step; `turn`: of pof-gram. What it adds up comes after it in queue().
  void Step(const FleetArguments& arguments, std::span<const double> uniforms,
            std::span<double> predictions, std::span<const TurnEntry> turn);
  /// What the next step begins with, while the server changes the model.
  void MakeNextSamples(FleetArguments arguments);

 private:
  struct Lane {
    Lane(const Device& device, const FleetSamples& all, U64 clients, const KernelShape& shape);

    std::unique_ptr<Queue> queue;
    TileBuffers between;
    TileSamples samples;
    TurnSums sums;
    Buffer<double> uniforms;
    Buffer<double> predictions;
    std::optional<std::pair<U64, U64>> made;  // step and offset of the samples that are there
    /// Its tile waits for AdaHedge's logarithms, and then sends pof-gram's sums.
    std::optional<FleetArguments> unfinished;
  };

  void StepTile(Lane& lane, U64 offset, FleetArguments a, std::span<const double> uniforms);
  Grid PredictingGrid(U64 count) const;
  void Learn(Lane& lane, FleetArguments& a);
  void LearnFromSums(Lane& lane, FleetArguments& a);
  void MakeSamples(Lane& lane, FleetArguments& a);
  void Finish(Lane& lane, std::span<const TurnEntry> turn);
  void FinishGaps(Lane& lane, const FleetArguments& a);
  void Launch(const Lane& lane, const char* kernel, const Grid& grid, const FleetArguments& a) {
    lane.queue->Launch(*program_, kernel, grid, a);
  }

  const Device& device_;
  const FleetSamples& samples_;
  const FleetShape& shape_;
  U64 clients_;
  U64 tile_;
  std::shared_ptr<const Program> program_;
  std::vector<Lane> lanes_;
  std::vector<double> logs_;
};

}  // namespace polykern::gpu
