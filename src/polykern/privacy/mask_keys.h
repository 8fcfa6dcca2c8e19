#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace polykern {

/// Overwrites bytes in a way that no compiler leaves out.
void Wipe(std::span<std::uint8_t> bytes);

/// 32 secret bytes; they are wiped when it goes.
struct SecretKey {
  std::array<std::uint8_t, 32> bytes{};

  ~SecretKey() { Wipe(bytes); }
};

/// What everyone may know of an X25519 key.
using PublicKey = std::array<std::uint8_t, 32>;

/// A key pair for masks (X25519, RFC 7748): raw bytes, as the RFC writes them. Certificates have
/// other keys.
struct MaskKeys {
  SecretKey secret;
  PublicKey open{};
};

/// A new pair from the system's generator. Throws Error if OpenSSL cannot.
MaskKeys MakeMaskKeys();
/// The other half of a secret.
PublicKey PublicKeyOf(const SecretKey& secret);

/// What two sides have in common: the same from either side. Throws Error if it is 0, as for the
/// few public keys that give it with every secret.
SecretKey SharedSecret(const SecretKey& own, const PublicKey& other);

/// HKDF-SHA256 (RFC 5869), extract and expand: fills `key`, of at most 255 x 32 bytes.
void Hkdf(std::span<const std::uint8_t> secret, std::span<const std::uint8_t> salt,
          std::span<const std::uint8_t> info, std::span<std::uint8_t> key);

/// HMAC-SHA256 (RFC 2104).
std::array<std::uint8_t, 32> HmacSha256(std::span<const std::uint8_t> key,
                                        std::span<const std::uint8_t> message);

/// What two sides must agree on. Their keys differ if anything of it does: then masks do not come
/// off, and no one learns anything.
struct PairTerms {
  std::string_view federation;
  std::uint64_t epoch = 0;
  std::string_view one;    ///< the client; of two clients the one whose name comes first
  std::string_view other;  ///< the helper
  /// Whatever else: how much noise, of which every client wants to be sure.
  std::string_view further = {};
};

/// The long-lived key of two sides under these terms, the same from either side: HKDF of their
/// shared secret, with both public keys and the terms bound in. Throws Error as SharedSecret does.
SecretKey PairKey(const SecretKey& own, const PublicKey& other, const PairTerms& terms);

}  // namespace polykern
