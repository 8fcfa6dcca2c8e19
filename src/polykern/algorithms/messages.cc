#include "polykern/algorithms/messages.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "polykern/algorithms/broken_rule.h"
#include "polykern/core/exact_sum.h"
#include "polykern/core/vector_ops.h"

namespace polykern {
namespace {

bool IsLoss(float value) {
  return value >= 0;
}

/// True if every block is above the one before it, as mostly: then all are distinct.
bool GoUpwards(std::span<const std::uint32_t> blocks) {
  bool upwards = true;  // no way out of the loop, so that it becomes vector code
  for (std::size_t i = 1; i < blocks.size(); ++i) upwards &= blocks[i - 1] < blocks[i];
  return upwards;
}

/// The first block that stood before already, or null. They are ticked off, without an allocation
/// unless there are very many.
const std::uint32_t* Repeated(std::span<const std::uint32_t> blocks, std::size_t all) {
  std::array<bool, 1024> few{};
  std::vector<std::uint8_t> many(all > few.size() ? all : 0);
  for (const std::uint32_t& block : blocks) {
    const bool seen = many.empty() ? few[block] : many[block] != 0;
    if (seen) return &block;
    if (many.empty()) {
      few[block] = true;
    } else {
      many[block] = 1;
    }
  }
  return nullptr;
}

[[noreturn]] void Reject(const Updates& updates, std::size_t c, Rule rule, const std::string& why) {
  throw BrokenRule(rule, "the update of client " + std::to_string(updates.clients[c]) +
                             " for step " + std::to_string(updates.step) + " was rejected: " + why);
}

void CheckNorms(const ModelShape& shape, const Updates& updates, std::size_t c) {
  for (std::size_t at = updates.first[c]; at < updates.first[c + 1]; ++at) {
    const auto block = std::span(updates.values).subspan(at * shape.width, shape.width);
    const double norm = std::sqrt(SumOfSquares(block));
    if (norm >= shape.least_norm && norm <= shape.most_norm) continue;
    Reject(updates, c, Rule::kNorm,
           "kernel " + std::to_string(updates.blocks[at]) + " has the norm " +
               std::to_string(norm) + ", it must lie between " + std::to_string(shape.least_norm) +
               " and " + std::to_string(shape.most_norm));
  }
}

/// Throws unless the parts of all updates together have the lengths that they should have.
void CheckLengths(const ModelShape& shape, const Updates& updates) {
  std::size_t values = updates.blocks.size() * shape.width;
  if (!shape.sums.empty()) {  // a kind that does not exist is CheckBlocks' matter
    values = 0;
    for (const std::uint32_t kind : updates.blocks) {
      if (kind < shape.sums.size()) values += shape.sums[kind];
    }
  }
  const std::size_t losses = updates.size() * shape.losses_per_update;
  const bool ring = shape.ring.bits > 0;
  if (updates.first.size() == updates.size() + 1 && updates.first.front() == 0 &&
      updates.first.back() == updates.blocks.size() &&
      updates.values.size() == (ring ? 0 : values) &&
      updates.losses.size() == (ring ? 0 : losses) &&
      updates.integers.size() == (ring ? values + losses : 0) &&
      updates.samples.size() == (shape.sums.empty() ? 0 : updates.blocks.size()) &&
      updates.unknowns.size() == updates.samples.size() &&
      updates.new_unknowns.size() == updates.samples.size() &&
      updates.fresh.size() == (shape.sums.empty() ? 0 : updates.size())) {
    return;
  }
  throw BrokenRule(Rule::kLengths, "an update for step " + std::to_string(updates.step) +
                                       " was rejected: its parts have inconsistent lengths");
}

/// Which kernels client c sent.
void CheckBlocks(const ModelShape& shape, const Updates& updates, std::size_t c) {
  const auto blocks = updates.BlocksOf(c);
  if (blocks.size() > shape.blocks_per_update) {
    Reject(updates, c, Rule::kKernels,
           "it holds " + std::to_string(blocks.size()) + " kernels, at most " +
               std::to_string(shape.blocks_per_update) + " are allowed");
  }
  if (shape.loss_per_block && blocks.size() != shape.losses_per_update) {
    Reject(updates, c, Rule::kLosses,
           "it holds " + std::to_string(blocks.size()) + " kernels, but the losses of " +
               std::to_string(shape.losses_per_update));
  }
  const std::size_t kinds = shape.update_kinds();
  if (GoUpwards(blocks) && (blocks.empty() || blocks.back() < kinds)) return;
  for (const std::uint32_t block : blocks) {
    if (block >= kinds) {
      Reject(updates, c, Rule::kKernels, "there is no kernel " + std::to_string(block));
    }
  }
  if (const std::uint32_t* twice = Repeated(blocks, kinds)) {
    Reject(updates, c, Rule::kKernels, "kernel " + std::to_string(*twice) + " is there twice");
  }
}

/// `at`: where the integers of client c begin, and afterwards those of the next one.
void CheckIntegers(const ModelShape& shape, const Updates& updates, std::size_t c,
                   std::size_t& at) {
  for (const std::size_t end = at + updates.NumbersOf(shape, c); at < end; ++at) {
    const std::uint64_t sent = updates.integers[at];
    if (sent == shape.ring.Wrap(static_cast<std::int64_t>(sent))) continue;
    Reject(updates, c, Rule::kNumbers,
           "it holds integers of more than " + std::to_string(shape.ring.bits) + " bits");
  }
}

void CheckCounts(const ModelShape& shape, const Updates& updates, std::size_t c) {
  std::size_t numbers = 0;
  for (std::size_t at = updates.first[c]; at < updates.first[c + 1]; ++at) {
    numbers += shape.sums[updates.blocks[at]];
    if (updates.samples[at] == 0) {
      Reject(updates, c, Rule::kCounts,
             "sum " + std::to_string(updates.blocks[at]) + " has no samples");
    }
  }
  if (numbers <= shape.most_sum_numbers) return;
  Reject(updates, c, Rule::kKernels,
         "its sums have " + std::to_string(numbers) + " numbers, at most " +
             std::to_string(shape.most_sum_numbers) + " are allowed");
}

}  // namespace

std::size_t Updates::NumbersOf(const ModelShape& shape, std::size_t c) const {
  std::size_t numbers = shape.losses_per_update;
  if (shape.sums.empty()) return numbers + BlocksOf(c).size() * shape.width;
  for (const std::uint32_t block : BlocksOf(c)) numbers += shape.NumbersOf(block);
  return numbers;
}

std::size_t Updates::IntegersBefore(const ModelShape& shape, std::size_t c) const {
  if (shape.sums.empty()) return first[c] * shape.width + c * shape.losses_per_update;
  std::size_t numbers = 0;
  for (std::size_t before = 0; before < c; ++before) numbers += NumbersOf(shape, before);
  return numbers;
}

void Updates::Begin(std::uint64_t answered, std::span<const std::uint64_t> senders,
                    std::size_t each) {
  step = answered;
  clients.assign(senders.begin(), senders.end());
  first.resize(clients.size() + 1);
  for (std::size_t c = 0; c < first.size(); ++c) first[c] = c * each;
  blocks.assign(first.back(), 0);
  losses.clear();
  integers.clear();
  samples.clear();
  unknowns.clear();
  fresh.clear();
  new_unknowns.clear();
  releases = 0;
  nonces.clear();
  clipped.clear();
  probability.assign(clients.size(), 1);
}

void CheckUpdates(const ModelShape& shape, const Updates& updates) {
  CheckUpdates(shape, updates, ExactSum::kLimit);
}

void CheckUpdates(const ModelShape& shape, const Updates& updates, float limit) {
  CheckLengths(shape, updates);
  const std::span values(updates.values);
  const std::span losses(updates.losses);
  // Nearly always: one quick look.
  const bool all_good = ExactSum::Representable(values, limit) &&
                        ExactSum::Representable(losses, limit) &&
                        std::ranges::all_of(losses, IsLoss);
  const bool ring = shape.ring.bits > 0;
  const bool norms_matter = !ring && (shape.least_norm > 0 || std::isfinite(shape.most_norm));
  std::size_t integers = 0;  // of the clients before
  for (std::size_t c = 0; c < updates.size(); ++c) {
    const std::size_t start = updates.first[c];
    const std::size_t end = updates.first[c + 1];
    if (start > end || end > updates.blocks.size()) {
      Reject(updates, c, Rule::kLengths, "its parts have inconsistent lengths");
    }
    CheckBlocks(shape, updates, c);
    if (!shape.sums.empty()) CheckCounts(shape, updates, c);
    if (ring) CheckIntegers(shape, updates, c, integers);
    if (all_good) {
      if (norms_matter) CheckNorms(shape, updates, c);
      continue;
    }
    const auto sent_by = values.subspan(start * shape.width, (end - start) * shape.width);
    const auto losses_of = losses.subspan(c * shape.losses_per_update, shape.losses_per_update);
    if (!ExactSum::Representable(sent_by, limit) || !ExactSum::Representable(losses_of, limit)) {
      Reject(updates, c, Rule::kNumbers,
             "it holds numbers that are not finite or above " +
                 std::to_string(static_cast<int>(limit)) + " in size");
    }
    if (!std::ranges::all_of(losses_of, IsLoss)) {
      Reject(updates, c, Rule::kLosses, "it holds a negative loss");
    }
    if (norms_matter) CheckNorms(shape, updates, c);
  }
}

}  // namespace polykern
