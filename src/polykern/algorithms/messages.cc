#include "polykern/algorithms/messages.h"

#include <algorithm>
#include <string>

#include "polykern/core/aggregate.h"
#include "polykern/core/error.h"

namespace polykern {
namespace {

bool IsLoss(float value) {
  return value >= 0;
}

[[noreturn]] void Reject(const Updates& updates, std::size_t c, const std::string& why) {
  throw Error("the update of client " + std::to_string(updates.clients[c]) + " for step " +
              std::to_string(updates.step) + " was rejected: " + why);
}

}  // namespace

void CheckUpdates(const ModelShape& shape, const Updates& updates) {
  const std::size_t sent = updates.blocks.size();
  if (updates.first.size() != updates.size() + 1 || updates.first.front() != 0 ||
      updates.first.back() != sent || updates.values.size() != sent * shape.width ||
      updates.losses.size() != updates.size() * shape.losses_per_update) {
    throw Error("an update for step " + std::to_string(updates.step) +
                " was rejected: its parts have inconsistent lengths");
  }
  const std::span values(updates.values);
  const std::span losses(updates.losses);
  // Nearly always: one quick look.
  const bool all_good = ExactSum::Representable(values) && ExactSum::Representable(losses) &&
                        std::ranges::all_of(losses, IsLoss);
  const bool loss_for_each_block =
      shape.losses_per_update > 0 && shape.losses_per_update == shape.blocks_per_update;
  std::vector<std::size_t> seen(shape.blocks, updates.size());  // the last client that named it
  for (std::size_t c = 0; c < updates.size(); ++c) {
    const std::size_t start = updates.first[c];
    const std::size_t end = updates.first[c + 1];
    if (start > end || end > sent) Reject(updates, c, "its parts have inconsistent lengths");
    if (end - start > shape.blocks_per_update) {
      Reject(updates, c,
             "it holds " + std::to_string(end - start) + " kernels, at most " +
                 std::to_string(shape.blocks_per_update) + " are allowed");
    }
    if (loss_for_each_block && end - start != shape.losses_per_update) {
      Reject(updates, c,
             "it holds " + std::to_string(end - start) + " kernels, but the losses of " +
                 std::to_string(shape.losses_per_update));
    }
    for (const std::uint32_t block : updates.BlocksOf(c)) {
      if (block >= shape.blocks) {
        Reject(updates, c, "there is no kernel " + std::to_string(block));
      }
      if (seen[block] == c)
        Reject(updates, c, "kernel " + std::to_string(block) + " is there twice");
      seen[block] = c;
    }
    if (all_good) continue;
    const auto sent_by = values.subspan(start * shape.width, (end - start) * shape.width);
    const auto losses_of = losses.subspan(c * shape.losses_per_update, shape.losses_per_update);
    if (!ExactSum::Representable(sent_by) || !ExactSum::Representable(losses_of)) {
      Reject(updates, c, "it holds numbers that are not finite or above 512 in size");
    }
    if (!std::ranges::all_of(losses_of, IsLoss)) Reject(updates, c, "it holds a negative loss");
  }
}

}  // namespace polykern
