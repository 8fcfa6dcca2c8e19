#include "polykern/gpu/fleet_tiles.h"

#include <algorithm>
#include <cmath>

namespace polykern::gpu {
namespace {

constexpr U64 kLanes = 2;
constexpr U64 kSlice = 2048;  // clients whose updates a block adds up

}  // namespace

U64 FleetTiles::ClientsAtOnce(const Device& device) {
  return kLanes * device.tile();
}

FleetTiles::Lane::Lane(const Device& device, const FleetSamples& all, U64 clients,
                       const KernelShape& shape)
    : queue(device.NewQueue()),
      between(device, clients, shape),
      samples(device, all, clients),
      sums(device, shape, clients),
      uniforms(device, clients),
      predictions(device, clients) {}

FleetTiles::FleetTiles(const Device& device, const FleetSamples& samples, const FleetShape& shape,
                       U64 clients)
    : device_(device),
      samples_(samples),
      shape_(shape),
      clients_(clients),
      tile_(std::min(device.tile(), std::max<U64>(1, clients_))),
      program_(device.Compile(shape.kernels)) {
  const U64 lanes = std::clamp<U64>(BlocksOf(clients_, tile_), 1, kLanes);
  for (U64 i = 0; i < lanes; ++i) lanes_.emplace_back(device, samples, tile_, shape.kernels);
}

void FleetTiles::Step(const FleetArguments& arguments, std::span<const double> uniforms,
                      std::span<double> predictions, std::span<const TurnEntry> turn) {
  for (const Lane& lane : lanes_) lane.queue->After(queue());
  for (U64 offset = 0; offset < clients_; offset += tile_) {
    Lane& lane = lanes_[offset / tile_ % lanes_.size()];
    Finish(lane, turn);
    FleetArguments a = arguments;
    if (!predictions.empty()) a.predictions = lane.predictions.data();
    StepTile(lane, offset, a, uniforms);
    if (predictions.empty()) continue;
    const std::span here = predictions.subspan(offset).first(std::min(tile_, clients_ - offset));
    lane.queue->Read(here.data(), lane.predictions.data(), here.size_bytes());
  }
  for (Lane& lane : lanes_) Finish(lane, turn);
  for (const Lane& lane : lanes_) queue().After(*lane.queue);
}

void FleetTiles::StepTile(Lane& lane, U64 offset, FleetArguments a,
                          std::span<const double> uniforms) {
  const KernelShape& kernels = shape_.kernels;
  a.offset = offset;
  MakeSamples(lane, a);
  lane.between.Describe(a);
  if (!uniforms.empty()) {
    lane.queue->Write(lane.uniforms.data(), uniforms.data() + offset, a.count * sizeof(double));
    a.uniforms = lane.uniforms.data();
  }
  if (a.has_sample != nullptr || a.participation < 1) {
    lane.between.DescribePresent(a);
    lane.queue->Zero(a.how_many, sizeof(U32));
    Launch(lane, "FindPresent", {BlocksOf(a.count, kernels.threads)}, a);
  }
  if (kernels.sizes > 0) {
    LearnFromSums(lane, a);
  } else {
    Learn(lane, a);
  }
}

/// Blocks of clients that predict, and, if they are few, among how many processors the kernels are
/// shared out.
Grid FleetTiles::PredictingGrid(U64 count) const {
  const KernelShape& kernels = shape_.kernels;
  const U64 across = BlocksOf(count, U64{kernels.threads} * kernels.clients_per_thread());
  return {across, std::clamp<U64>(BlocksOf(4 * device_.processors(), across), 1, kernels.kernels)};
}

void FleetTiles::Learn(Lane& lane, FleetArguments& a) {
  const KernelShape& kernels = shape_.kernels;
  Launch(lane, "PredictKernels", PredictingGrid(a.count), a);
  Launch(lane, "LearnLabels", {BlocksOf(a.count, kernels.threads)}, a);
  a.slice = std::clamp<U64>(a.count * kernels.kernels / (8 * device_.processors()), kernels.threads,
                            kSlice);
  const U64 slices = BlocksOf(a.count, a.slice);
  Launch(lane, "AddUpdates",
         {slices, kernels.kernels, BlocksOf(kernels.features, kernels.features_per_block())}, a);
  if (shape_.sends_losses) Launch(lane, "AddLosses", {slices, kernels.kernels}, a);
  if (kernels.adahedge) lane.unfinished = a;
}

void FleetTiles::LearnFromSums(Lane& lane, FleetArguments& a) {
  lane.sums.Begin(*lane.queue, a);
  Launch(lane, "PredictExperts", PredictingGrid(a.count), a);
  Launch(lane, "LearnExperts", {BlocksOf(a.count, shape_.kernels.threads)}, a);
  lane.unfinished = a;
}

void FleetTiles::Finish(Lane& lane, std::span<const TurnEntry> turn) {
  if (!lane.unfinished) return;
  const FleetArguments& a = *lane.unfinished;
  if (shape_.kernels.adahedge) FinishGaps(lane, a);
  lane.sums.Add(*lane.queue, *program_, a, turn);
  lane.unfinished.reset();
}

/// Logarithms are the C library's, so taken here, while another lane is at work.
void FleetTiles::FinishGaps(Lane& lane, const FleetArguments& a) {
  logs_.resize(a.count);
  lane.queue->Read(logs_.data(), a.mix_logs, a.count * sizeof(double));
  for (double& value : logs_) value = std::log(value);
  lane.queue->Write(a.mix_logs, logs_.data(), a.count * sizeof(double));
  Launch(lane, "FinishGaps", {BlocksOf(a.count, shape_.kernels.threads)}, a);
}

/// Unless they are there.
void FleetTiles::MakeSamples(Lane& lane, FleetArguments& a) {
  const std::pair wanted(a.step, a.offset);
  a.count = std::min(tile_, clients_ - a.offset);
  if (!samples_.Place(lane.samples, a) || lane.made == wanted) return;
  Launch(lane, "MakeSamples", {BlocksOf(a.count, shape_.kernels.threads)}, a);
  lane.made = wanted;
}

void FleetTiles::MakeNextSamples(FleetArguments a) {
  if (!samples_.made_there() || ++a.step >= a.steps) return;
  for (Lane& lane : lanes_) {
    MakeSamples(lane, a);
    a.offset += tile_;
  }
}

}  // namespace polykern::gpu
