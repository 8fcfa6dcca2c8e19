#pragma once

// What the sources of this folder share of OpenSSL.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <openssl/evp.h>
#include <openssl/params.h>

namespace polykern {

template <typename T, auto kFree>
struct CryptoFree {
  void operator()(T* pointer) const { kFree(pointer); }
};
template <typename T, auto kFree>
using CryptoPtr = std::unique_ptr<T, CryptoFree<T, kFree>>;

/// Throws Error, "OpenSSL cannot <what>", unless it could. Empties OpenSSL's list of errors, in
/// which a connection of this thread would take ours for its own.
void RequireCrypto(bool good, std::string_view what);

/// The setting of an HMAC or HKDF that makes it one of SHA-256.
OSSL_PARAM Sha256Digest();

/// HMAC-SHA256 again and again, without asking OpenSSL for memory each time. One thread.
class Hmac {
 public:
  Hmac();
  void Start(std::span<const std::uint8_t> key);
  void Add(std::span<const std::uint8_t> bytes);
  std::array<std::uint8_t, 32> End();

 private:
  CryptoPtr<EVP_MAC_CTX, EVP_MAC_CTX_free> context_;
};

/// Bytes that can be taken apart in one way only: numbers of 8 bytes, the lowest first, and texts
/// behind their length.
class Encoding {
 public:
  explicit Encoding(std::string_view purpose) { Text(purpose); }
  Encoding& Number(std::uint64_t number) {
    for (unsigned shift = 0; shift < 64; shift += 8) {
      bytes_.push_back(static_cast<std::uint8_t>(number >> shift));
    }
    return *this;
  }
  Encoding& Text(std::string_view text) {
    Number(text.size());
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    return *this;
  }
  std::span<const std::uint8_t> bytes() const { return bytes_; }

 private:
  std::vector<std::uint8_t> bytes_;
};

}  // namespace polykern
