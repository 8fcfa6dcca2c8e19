#pragma once

#include <cstdint>
#include <functional>

#include "polykern/federation/sealing.h"
#include "polykern/privacy/mask_keys.h"
#include "polykern/privacy/mask_stream.h"

namespace polykern {

/// What a client masks its messages with.
struct ClientMaskKeys {
  SecretKey pair;    ///< with its helper (PairKey)
  SecretKey nonces;  ///< no one else's (NonceKeyOf)
};

/// The key of a client's nonces, from its secret mask key.
SecretKey NonceKeyOf(const SecretKey& own);

/// The stream of a client's part of a sum.
MaskedSum SumOf(const Contribution& contribution, std::uint32_t kind);

/// Masks the sums that clients send: each gets a nonce, and a stream added to each of its sums.
/// Messages without sums stay as they are. Immutable: threads may share it, if `keys` lets them.
class MaskSealing final : public Sealing {
 public:
  /// The keys of a client, by its number.
  using KeysOf = std::function<const ClientMaskKeys&(std::uint64_t client)>;

  MaskSealing(std::uint64_t epoch, KeysOf keys) : epoch_(epoch), keys_(std::move(keys)) {}

  const Updates& Seal(const ModelShape& shape, const Updates& learnt,
                      Updates& sealed) const override;

 private:
  std::uint64_t epoch_;
  KeysOf keys_;
};

/// Takes the masks off sums with the keys of all clients: for who plays every part, as a simulation
/// does. One thread.
class MaskOpener final : public Opener {
 public:
  MaskOpener(std::uint64_t epoch, const Ring& ring, MaskSealing::KeysOf keys);
  void Open(Release& release) override;

 private:
  MaskStream stream_;
  MaskSealing::KeysOf keys_;
};

/// `sums` without masks whose streams add up to `streams`: modulo 2^64.
void TakeOff(std::span<const std::uint64_t> streams, std::span<std::int64_t> sums);

}  // namespace polykern
