#include "polykern/gpu/turn_sums.h"

#include <algorithm>

namespace polykern::gpu {
namespace {

/// Few clients have several samples each at once.
constexpr U64 kRows = U64{1} << 14;

/// Pieces of 4 x 8 products that make a triangle: of row r of them those from column r / 2 on.
U64 PiecesOf(U64 across) {
  return across * across + across;
}

}  // namespace

TurnSums::TurnSums(const Device& device, const KernelShape& shape, U64 clients)
    : processors_(device.processors()),
      shape_(shape),
      rows_(shape.sizes > 0 ? std::max(clients, std::min(kRows, device.tile())) : 0),
      most_pending_(device, rows_ > 0 ? shape.kernels : 0),
      step_(device, rows_ > 0 ? clients : 0),
      number_(device, rows_ > 0 ? clients : 0),
      x_(device, rows_ * shape.stride()),
      y_(device, rows_),
      there_(device, rows_ > 0 ? 1 : 0) {}

void TurnSums::Begin(Queue& queue, FleetArguments& a) const {
  a.most_pending = most_pending_.data();
  a.past_step = step_.data();
  a.past_number = number_.data();
  a.past_x = x_.data();
  a.past_y = y_.data();
  a.past_there = there_.data();
  queue.Zero(most_pending_.data(), most_pending_.bytes());
}

void TurnSums::Add(Queue& queue, const Program& program, const FleetArguments& a,
                   std::span<const TurnEntry> turn) {
  if (turn.empty()) return;
  pending_.resize(turn.size());
  queue.Read(pending_.data(), most_pending_.data(), turn.size() * sizeof(U64));
  FleetArguments weights = a;
  weights.slice = std::clamp<U64>(a.count / (4 * processors_), shape_.threads, 4 * shape_.threads);
  queue.Launch(program, "AddWeights", {BlocksOf(a.count, weights.slice)}, weights);
  for (std::size_t at = 0; at < turn.size(); ++at) {
    AddEntry(queue, program, a, turn[at], pending_[at]);
  }
}

void TurnSums::AddEntry(Queue& queue, const Program& program, FleetArguments a,
                        const TurnEntry& entry, U64 pending) const {
  const U64 across = BlocksOf(2 * U64{entry.size} + 1, 8);
  const U64 shares = BlocksOf(PiecesOf(across), shape_.threads);
  a.expert = entry.expert;
  a.tells = entry.tells ? 1 : 0;
  a.past_counts = entry.counts;
  a.sums = entry.sums;
  a.pieces = static_cast<U32>(BlocksOf(PiecesOf(across), shares));
  a.past_rows = std::min(shape_.past_rows(), static_cast<U32>(shape_.past_room() / (8 * across)));
  for (U64 done = 0; done < pending; done += a.rounds) {
    a.first_round = done == 0 ? 1 : 0;
    a.rounds = std::clamp<U64>(rows_ / a.count, 1, pending - done);
    const U64 most = a.rounds * a.count;
    a.slice = std::clamp<U64>(most * shares / (4 * processors_), a.past_rows, 4096);
    queue.Zero(there_.data(), there_.bytes());
    queue.Launch(program, "ReadPast", {BlocksOf(a.count, shape_.threads)}, a);
    queue.Launch(program, "AddProducts", {BlocksOf(most, a.slice), shares}, a);
  }
}

}  // namespace polykern::gpu
