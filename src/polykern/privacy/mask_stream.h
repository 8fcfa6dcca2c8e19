#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "polykern/algorithms/messages.h"
#include "polykern/privacy/mask_keys.h"

namespace polykern {

/// The nonce of a message: an HMAC of the turn and all of its integers, under a secret of the
/// client that no one else has. So the same message has the same nonce, and any other another one,
/// without anything to be kept.
MaskNonce MessageNonce(const SecretKey& own, std::uint64_t turn,
                       std::span<const std::uint64_t> integers);

/// One sum of a message, in what is sent beside it and seen by everyone. All of it is part of the
/// stream's key: who tells the helper anything else gets another stream, and so garbage.
struct MaskedSum {
  std::uint64_t turn = 0;  ///< the step that the message answers
  std::uint32_t kind = 0;  ///< of sums
  std::uint64_t samples = 0;
  std::uint64_t unknowns = 0;      ///< of these samples
  std::uint64_t new_unknowns = 0;  ///< of those that were in no earlier sum
  std::uint64_t releases = 0;      ///< that the client knew of
  MaskNonce nonce{};               ///< of the message

  bool operator==(const MaskedSum&) const = default;
};

/// ChaCha20 (RFC 8439) with a nonce of 0, from block 0: a key is used for one stream. Read as
/// integers of `bits` bits, the lowest byte first. One thread.
class KeyStream {
 public:
  /// `bits`: 32 or 64. Throws Error if OpenSSL cannot.
  explicit KeyStream(unsigned bits);
  ~KeyStream();
  KeyStream(const KeyStream&) = delete;
  KeyStream& operator=(const KeyStream&) = delete;

  /// Numbers plus or minus the beginning of the key's stream, modulo 2^bits.
  void Add(const SecretKey& key, std::span<std::uint64_t> numbers);
  void Subtract(const SecretKey& key, std::span<std::uint64_t> numbers);

 private:
  struct Impl;

  template <typename Integer, typename Combine>
  void Each(const SecretKey& key, std::span<std::uint64_t> numbers, Combine combine);

  unsigned bits_;
  std::unique_ptr<Impl> impl_;
};

/// Masks of a federation's sums: a client adds them, a helper adds up those of all clients. One per
/// thread; nothing is allocated after it is made.
class MaskStream {
 public:
  /// `bits` and `unit`: of the ring in which sums are sent. Throws Error if OpenSSL cannot.
  MaskStream(std::uint64_t epoch, unsigned bits, double unit);
  ~MaskStream();
  MaskStream(const MaskStream&) = delete;
  MaskStream& operator=(const MaskStream&) = delete;

  /// All numbers of a sum, plus or minus the stream that two sides with this pair key have for it.
  void Add(const SecretKey& pair, const MaskedSum& sum, std::span<std::uint64_t> numbers);
  void Subtract(const SecretKey& pair, const MaskedSum& sum, std::span<std::uint64_t> numbers);

  /// The key of that stream: an HMAC under the pair key of all that must agree.
  SecretKey KeyOf(const SecretKey& pair, const MaskedSum& sum, std::size_t numbers);

 private:
  struct Impl;

  std::uint64_t epoch_;
  unsigned bits_;
  std::uint64_t unit_;  // its bits
  KeyStream stream_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace polykern
