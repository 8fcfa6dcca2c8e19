#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace polykern {

/// What an algorithm's model and messages look like. For kernel algorithms a block is a kernel and
/// its width is F = 2D.
struct ModelShape {
  std::size_t blocks = 0;             ///< vectors in the model
  std::size_t width = 0;              ///< numbers in each
  std::size_t blocks_per_update = 0;  ///< most blocks a client may send in one step
  std::size_t losses_per_update = 0;  ///< losses a client sends beside its blocks
  /// What they are of. True: of the blocks that it sends, which are exactly as many. False: of the
  /// server's weights, which are as many.
  bool loss_per_block = false;
  /// A block that is sent must have a norm between these.
  double least_norm = 0;
  double most_norm = std::numeric_limits<double>::infinity();

  std::size_t model_size() const { return blocks * width; }
  /// Most numbers a client sends in one step: what the uplink budget limits.
  std::size_t update_size() const { return blocks_per_update * width + losses_per_update; }
};

/// Server to clients, once per step.
struct Broadcast {
  std::uint64_t step = 0;    ///< steps committed so far: 0 before the first
  std::vector<float> model;  ///< blocks x width
  /// The server's own probabilities of the kernels, which sum to 1; empty if it has none.
  std::vector<double> weights = {};
};

/// Clients to server: the messages of a cohort of one step, client after client. A network agent
/// makes cohorts of one. Personal weights have no place here.
struct Updates {
  std::uint64_t step = 0;              ///< the broadcast they answer
  std::vector<std::uint64_t> clients;  ///< who took part; a client may send no block at all
  std::vector<std::size_t> first;      ///< client c sent blocks first[c] .. first[c+1]-1 below
  std::vector<std::uint32_t> blocks;   ///< which block each is, distinct within a client
  std::vector<float> values;           ///< blocks.size() x width
  std::vector<float> losses;           ///< clients x losses_per_update
  /// With which probability a client chose its blocks. Stays on the client: not sent.
  std::vector<double> probability;

  std::size_t size() const { return clients.size(); }
  std::span<const std::uint32_t> BlocksOf(std::size_t c) const {
    return std::span(blocks).subspan(first[c], first[c + 1] - first[c]);
  }
  /// Makes them those of these clients for a step, with `each` blocks of `width` numbers for each
  /// of them. Which blocks (all 0) and what is in them is left to be written. No losses;
  /// probabilities of 1.
  void Begin(std::uint64_t answered, std::span<const std::uint64_t> senders, std::size_t each,
             std::size_t width);
  /// Lets go of the blocks beyond the last client's.
  void Shrink(std::size_t width) {
    blocks.resize(first.back());
    values.resize(first.back() * width);
  }
  void Clear() {
    clients.clear();
    first.assign(1, 0);
    blocks.clear();
    values.clear();
    losses.clear();
    probability.clear();
  }
};

/// Throws BrokenRule, naming the client, unless the updates fit the shape: consistent lengths, at
/// most blocks_per_update distinct valid blocks per client, every number finite and representable,
/// norms within their bounds, no loss negative.
void CheckUpdates(const ModelShape& shape, const Updates& updates);

}  // namespace polykern
