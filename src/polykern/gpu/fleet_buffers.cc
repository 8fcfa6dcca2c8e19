#include "polykern/gpu/fleet_buffers.h"

#include <algorithm>
#include <string>
#include <vector>

#include "polykern/core/error.h"
#include "polykern/gpu/gram_clients.h"
#include "polykern/results/text_table.h"

namespace polykern::gpu {
namespace {

U64 KernelNumbers(const KernelShape& shape) {
  return U64{shape.kernels} * (shape.private_weights && !shape.scores_are_losses ? 2 : 1);
}

/// Bytes of a client, and of all that does not grow with them.
struct Need {
  U64 each;
  U64 aside;
};

Need NeedOf(U64 clients, const KernelShape& shape, U64 in_tiles) {
  const U64 each = 8 * KernelNumbers(shape) + (shape.adahedge ? 4 : 3) * 8 + 4 + 1 +
                   (shape.sizes > 0 ? GramClients::BytesOf(shape) : 0);
  const U64 tiles = std::min(in_tiles, clients) *
                    (U64{shape.kernels} * 9 + (shape.sizes > 0 ? 8 : 4) * shape.stride() + 96);
  const U64 features = U64{shape.kernels} * shape.padded_features();
  const U64 width = 2 * U64{shape.features} + 2;
  const U64 sums =
      shape.sizes > 0 ? shape.kernels / shape.sizes * width * width * 4 : 16 * features;
  const U64 model = features * 4 * (shape.stride() + 2) + sums;
  return {each, tiles + model + (U64{64} << 20)};  // and for what the driver needs
}

}  // namespace

Error TooManyClients(const Device& device, U64 clients, const KernelShape& shape, U64 in_tiles) {
  const Need need = NeedOf(clients, shape, in_tiles);
  const U64 room = device.free_memory();
  const U64 left = room > need.aside ? room - need.aside : 0;
  return Error(Count(clients, "client") + " need " +
               std::to_string((clients * need.each + need.aside) >> 20) +
               " MiB on the GPU, which has " + std::to_string(room >> 20) + " left: at most " +
               Count(std::min(left / need.each, clients - 1), "client") + " fit; lower " +
               OptionName("clients"));
}

void CheckRoom(const Device& device, U64 clients, const KernelShape& shape, U64 in_tiles) {
  const Need need = NeedOf(clients, shape, in_tiles);
  if (clients == 0 || need.aside + clients * need.each <= device.free_memory()) return;
  throw TooManyClients(device, clients, shape, in_tiles);
}

TileBuffers::TileBuffers(const Device& device, U64 clients, const KernelShape& shape)
    : f_(device, clients * shape.kernels),
      along_z_(device, shape.sizes > 0 ? 0 : clients * shape.kernels),
      sent_(device, shape.sends_all() ? 0 : clients * ((shape.kernels + 31) / 32)),
      along_theta_(device, clients),
      mix_(device, shape.adahedge ? 3 * clients : 0),
      present_(device, clients),
      who_(device, clients),
      how_many_(device, 1) {}

void TileBuffers::Describe(FleetArguments& a) const {
  a.f = f_.data();
  a.along_z = along_z_.data();
  a.sent = sent_.data();
  a.along_theta = along_theta_.data();
  if (mix_.size() == 0) return;
  a.mix_means = mix_.data();
  a.mix_from = a.mix_means + mix_.size() / 3;
  a.mix_logs = a.mix_from + mix_.size() / 3;
}

void TileBuffers::DescribePresent(FleetArguments& a) const {
  a.present = present_.data();
  a.who = who_.data();
  a.how_many = how_many_.data();
}

ClientBuffers::ClientBuffers(const Device& device, U64 clients, const KernelShape& shape,
                             U64 in_tiles)
    : count((CheckRoom(device, clients, shape, in_tiles), clients)),
      losses(device, shape.private_weights ? count * shape.kernels : 0),
      gaps(device, shape.adahedge ? count : 0),
      kernel_scores(device, shape.scores_are_losses ? 0 : count * shape.kernels),
      squared_error(device, count),
      loss(device, count),
      best(device, count),
      taken(device, count),
      unit_range(device, count) {}

void ClientBuffers::Clear(Queue& queue) const {
  for (const auto* buffer : {&losses, &gaps, &kernel_scores, &squared_error, &loss, &best}) {
    queue.Zero(buffer->data(), buffer->bytes());
  }
  queue.Zero(taken.data(), taken.bytes());
  const std::vector<U8> all_in_range(unit_range.size(), 1);
  queue.Write(unit_range.data(), all_in_range.data(), all_in_range.size());
}

void ClientBuffers::Describe(FleetArguments& a) const {
  a.losses = losses.data();
  a.gaps = gaps.data();
  a.kernel_scores = kernel_scores.data();
  a.squared_error = squared_error.data();
  a.loss = loss.data();
  a.best = best.data();
  a.taken = taken.data();
  a.unit_range = unit_range.data();
}

}  // namespace polykern::gpu
