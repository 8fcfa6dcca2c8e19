#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace polykern {

/// Integers modulo 2^bits, each a multiple of a unit: what updates hold in place of floats where
/// only sums may be seen.
struct Ring {
  unsigned bits = 0;  ///< 32 or 64; 0: there is no ring, updates hold floats
  double unit = 0;    ///< what 1 stands for

  /// A number as it is sent, and back: of all that are sent alike the one that is nearest to 0.
  std::uint64_t Wrap(std::int64_t number) const {
    const auto all = static_cast<std::uint64_t>(number);
    return bits == 32 ? all & UINT32_MAX : all;
  }
  std::int64_t Unwrap(std::uint64_t sent) const {
    return bits == 32 ? static_cast<std::int32_t>(static_cast<std::uint32_t>(sent))
                      : static_cast<std::int64_t>(sent);
  }

  bool operator==(const Ring&) const = default;
};

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
  Ring ring = {};  ///< of the numbers in an update
  /// Where an update holds sums over samples, of which there are several kinds: how many integers
  /// each kind has. The blocks of an update are then kinds of sums, not blocks of the model. Empty:
  /// an update holds blocks like the model's.
  std::vector<std::size_t> sums = {};
  std::size_t most_sum_numbers = 0;  ///< in the sums of one update together

  std::size_t model_size() const { return blocks * width; }
  /// What an update may name: the model's blocks, or the kinds of sums.
  std::size_t update_kinds() const { return sums.empty() ? blocks : sums.size(); }
  /// How many numbers an update holds of one of these.
  std::size_t NumbersOf(std::uint32_t block) const { return sums.empty() ? width : sums[block]; }
  /// Most numbers a client sends in one step: what the uplink budget limits.
  std::size_t update_size() const {
    return (sums.empty() ? blocks_per_update * width : most_sum_numbers) + losses_per_update;
  }
};

/// Server to clients, once per step.
struct Broadcast {
  std::uint64_t step = 0;    ///< steps committed so far: 0 before the first
  std::vector<float> model;  ///< blocks x width
  /// The server's own probabilities of the kernels, which sum to 1; empty if it has none.
  std::vector<double> weights = {};
  /// Where updates are sums: the kinds that every client is to send in this step, upwards.
  std::vector<std::uint32_t> turn = {};
  std::uint64_t releases = 0;  ///< sums that the server has released so far (Server::releases)
};

/// Samples that a client has learnt from, in numbers that it does not hide.
struct SampleCount {
  std::uint64_t samples = 0;
  /// The unknowns an attacker would have to solve for: for each sample its label and
  /// its inputs, of sparse ones where they are and what they are.
  std::uint64_t unknowns = 0;

  bool operator==(const SampleCount&) const = default;
};

/// Tells a client's masked messages apart: no two of them are masked alike.
using MaskNonce = std::array<std::uint8_t, 16>;

/// A client's part of a masked sum. The mask depends on all of it, so it must be known to take the
/// mask away.
struct Contribution {
  std::uint64_t client = 0;
  std::uint64_t step = 0;          ///< that its message answers
  std::uint64_t releases = 0;      ///< as the broadcast of that step says
  SampleCount count = {};          ///< in this sum
  std::uint64_t new_unknowns = 0;  ///< of samples that were in no earlier sum of this client
  MaskNonce nonce = {};            ///< of the message

  bool operator==(const Contribution&) const = default;
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
  /// In place of values and losses where the shape has a ring: each client's blocks, and then its
  /// losses.
  std::vector<std::uint64_t> integers;
  /// Where updates are sums: over how many samples each of `blocks` goes, and over how many
  /// unknowns; and per client, from how many it has learnt since its last update that counted.
  std::vector<std::uint64_t> samples;
  std::vector<std::uint64_t> unknowns;
  /// And of these, what belongs to samples that were in no earlier sum of the client; in a message
  /// with several sums it is told with the smallest.
  std::vector<std::uint64_t> new_unknowns;
  std::vector<SampleCount> fresh;
  std::uint64_t releases = 0;  ///< as the broadcast says that they answer
  /// Where integers are masked: of each client's message. Empty: they are not.
  std::vector<MaskNonce> nonces;
  /// Per client, how many labels since its last update were outside their range; empty: none.
  std::vector<std::uint64_t> clipped;
  /// With which probability a client chose its blocks. Stays on the client: not sent.
  std::vector<double> probability;

  std::size_t size() const { return clients.size(); }
  std::span<const std::uint32_t> BlocksOf(std::size_t c) const {
    return std::span(blocks).subspan(first[c], first[c + 1] - first[c]);
  }
  /// Where the integers of client c begin; those of the one after the last: where they end.
  std::size_t IntegersBefore(const ModelShape& shape, std::size_t c) const;
  /// All numbers that client c sends.
  std::size_t NumbersOf(const ModelShape& shape, std::size_t c) const;
  /// Makes them those of these clients for a step, with `each` blocks for each of them, all of them
  /// block 0. No losses; probabilities of 1. What the blocks hold comes with MakeRoom.
  void Begin(std::uint64_t answered, std::span<const std::uint64_t> senders, std::size_t each);
  /// Room for as many blocks as `first` says, of `width` numbers; they are left to be written.
  void MakeRoom(std::size_t width) {
    blocks.resize(first.back());
    values.resize(first.back() * width);
  }
  void Clear() {
    clients.clear();
    first.assign(1, 0);
    blocks.clear();
    values.clear();
    losses.clear();
    integers.clear();
    samples.clear();
    unknowns.clear();
    new_unknowns.clear();
    fresh.clear();
    releases = 0;
    nonces.clear();
    clipped.clear();
    probability.clear();
  }
};

/// Throws BrokenRule, naming the client, unless the updates fit the shape: consistent lengths, at
/// most blocks_per_update distinct valid blocks per client, every number finite and representable,
/// norms within their bounds, no loss negative. Of integers it can judge only that they are of the
/// ring, and of sums that they go over at least one sample; floats where it asks for integers do
/// not fit, nor integers where it asks for floats.
void CheckUpdates(const ModelShape& shape, const Updates& updates);
/// The same for sums of so many clients that numbers must not be above `limit` (ExactSum::LimitOf).
void CheckUpdates(const ModelShape& shape, const Updates& updates, float limit);

}  // namespace polykern
