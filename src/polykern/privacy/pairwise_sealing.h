#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polykern/core/error.h"
#include "polykern/federation/sealing.h"
#include "polykern/privacy/mask_keys.h"
#include "polykern/privacy/mask_stream.h"

namespace polykern {

/// Masks of a closed federation without a helper: every two clients have a stream for each sum of a
/// turn, which one of them adds and the other takes away. So the sum over all clients has no masks,
/// and any other sum is garbage. A stream's key has no nonce: a turn must be answered once, and
/// sent again in the very same bytes.

/// A client of a closed federation, as everyone knows it.
struct RosterEntry {
  std::string name;
  PublicKey key{};
};

/// What all of them must agree on: SHA-256 of federation, epoch and roster, whose order does not
/// matter. Masks do not come off sums of clients that have different ones.
std::vector<std::uint8_t> RosterDigest(std::string_view federation, std::uint64_t epoch,
                                       std::span<const RosterEntry> roster);
/// Its beginning, which goes with every message in place of a nonce: a server can tell messages
/// that do not belong together.
MaskNonce RosterTag(std::span<const std::uint8_t> digest);

/// What a client shares with another one.
struct PairedKey {
  SecretKey key;
  bool adds = false;  ///< the stream; the other takes it away
};

/// A client's keys with all others of the roster, in which it must be. Throws Error for a name that
/// is there twice, or a key that gives no secret.
std::vector<PairedKey> PairedKeys(const SecretKey& own, std::string_view name,
                                  std::string_view federation, std::uint64_t epoch,
                                  std::span<const RosterEntry> roster);

/// A sum is too small to be sent: no one stands between it and the server. There may be more
/// samples later.
class TooFewSamples : public Error {
 public:
  using Error::Error;
};

/// What a client asks of its own part of a sum, so that if all do, the whole has enough samples,
/// also without the client that has the most, and few enough numbers for each unknown.
struct PairwiseRules {
  std::uint64_t least_samples = 32;
  double disclosure = 0.5;
};

/// Masks the sums that clients send. Messages without sums stay as they are. Immutable: threads may
/// share it, if `keys` lets them.
class PairwiseSealing final : public Sealing {
 public:
  /// The keys of a client, by its number: with all others.
  using KeysOf = std::function<std::span<const PairedKey>(std::uint64_t client)>;

  PairwiseSealing(std::uint64_t epoch, const MaskNonce& tag, const PairwiseRules& rules,
                  KeysOf keys)
      : epoch_(epoch), tag_(tag), rules_(rules), keys_(std::move(keys)) {}

  /// Throws TooFewSamples, too.
  const Updates& Seal(const ModelShape& shape, const Updates& learnt,
                      Updates& sealed) const override;

 private:
  void Check(const Updates& learnt, std::size_t at, std::size_t numbers, std::size_t clients) const;

  std::uint64_t epoch_;
  MaskNonce tag_;
  PairwiseRules rules_;
  KeysOf keys_;
};

/// Says of a sum why masks are left in it; empty: there are none. All of so many clients must be in
/// it in each step, with the same tag.
std::string PairwiseRefusal(const Release& release, std::size_t clients);

}  // namespace polykern
