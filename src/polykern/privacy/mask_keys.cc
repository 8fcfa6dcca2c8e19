#include "polykern/privacy/mask_keys.h"

#include <algorithm>
#include <cassert>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include "polykern/core/error.h"
#include "polykern/privacy/crypto_internal.h"

namespace polykern {
namespace {

using EvpKeyPtr = CryptoPtr<EVP_PKEY, EVP_PKEY_free>;

EvpKeyPtr SecretHalf(const SecretKey& secret) {
  EvpKeyPtr key(EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, secret.bytes.data(),
                                             secret.bytes.size()));
  RequireCrypto(key != nullptr, "read an X25519 key");
  return key;
}

PublicKey PublicHalf(const EVP_PKEY* key) {
  PublicKey open{};
  std::size_t size = open.size();
  RequireCrypto(EVP_PKEY_get_raw_public_key(key, open.data(), &size) == 1 && size == open.size(),
                "make an X25519 key");
  return open;
}

/// OpenSSL only reads what it is given here, but its type cannot say so. It wants an address for
/// nothing as well.
OSSL_PARAM Octets(const char* name, std::span<const std::uint8_t> bytes) {
  static std::uint8_t nothing = 0;
  auto* const address = bytes.empty() ? &nothing : const_cast<std::uint8_t*>(bytes.data());
  return OSSL_PARAM_construct_octet_string(name, address, bytes.size());
}

}  // namespace

void Wipe(std::span<std::uint8_t> bytes) {
  OPENSSL_cleanse(bytes.data(), bytes.size());
}

MaskKeys MakeMaskKeys() {
  const EvpKeyPtr key(EVP_PKEY_Q_keygen(nullptr, nullptr, "X25519"));
  MaskKeys keys;
  std::size_t size = keys.secret.bytes.size();
  RequireCrypto(key != nullptr &&
                    EVP_PKEY_get_raw_private_key(key.get(), keys.secret.bytes.data(), &size) == 1,
                "make an X25519 key");
  keys.open = PublicHalf(key.get());
  return keys;
}

PublicKey PublicKeyOf(const SecretKey& secret) {
  return PublicHalf(SecretHalf(secret).get());
}

SecretKey SharedSecret(const SecretKey& own, const PublicKey& other) {
  const EvpKeyPtr secret = SecretHalf(own);
  const EvpKeyPtr open(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, other.data(), other.size()));
  const CryptoPtr<EVP_PKEY_CTX, EVP_PKEY_CTX_free> context(EVP_PKEY_CTX_new(secret.get(), nullptr));
  RequireCrypto(open != nullptr && context != nullptr && EVP_PKEY_derive_init(context.get()) == 1 &&
                    EVP_PKEY_derive_set_peer(context.get(), open.get()) == 1,
                "read an X25519 key");
  SecretKey shared;
  std::size_t size = shared.bytes.size();
  const bool good = EVP_PKEY_derive(context.get(), shared.bytes.data(), &size) == 1;
  // OpenSSL refuses a secret of 0 itself; RFC 7748 leaves that open, so it is not relied upon.
  if (!good || std::ranges::all_of(shared.bytes, [](std::uint8_t byte) { return byte == 0; })) {
    ERR_clear_error();
    throw Error(
        "a public key for masks is unusable, damaged or forged; make it again with polykern pki "
        "issue");
  }
  return shared;
}

void Hkdf(std::span<const std::uint8_t> secret, std::span<const std::uint8_t> salt,
          std::span<const std::uint8_t> info, std::span<std::uint8_t> key) {
  assert(key.size() <= std::size_t{255} * 32);
  const CryptoPtr<EVP_KDF, EVP_KDF_free> kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr));
  CryptoPtr<EVP_KDF_CTX, EVP_KDF_CTX_free> context;
  if (kdf != nullptr) context.reset(EVP_KDF_CTX_new(kdf.get()));
  const OSSL_PARAM settings[] = {Sha256Digest(), Octets(OSSL_KDF_PARAM_KEY, secret),
                                 Octets(OSSL_KDF_PARAM_SALT, salt),
                                 Octets(OSSL_KDF_PARAM_INFO, info), OSSL_PARAM_construct_end()};
  RequireCrypto(
      context != nullptr && EVP_KDF_derive(context.get(), key.data(), key.size(), settings) == 1,
      "compute HKDF-SHA256");
}

std::array<std::uint8_t, 32> HmacSha256(std::span<const std::uint8_t> key,
                                        std::span<const std::uint8_t> message) {
  Hmac hmac;
  hmac.Start(key);
  hmac.Add(message);
  return hmac.End();
}

SecretKey PairKey(const SecretKey& own, const PublicKey& other, const PairTerms& terms) {
  const SecretKey shared = SharedSecret(own, other);
  // Both public keys in an order that both sides know: different keys may have one shared secret.
  const PublicKey mine = PublicKeyOf(own);
  std::array<std::uint8_t, 64> salt{};
  std::ranges::copy(std::min(mine, other), salt.begin());
  std::ranges::copy(std::max(mine, other), salt.begin() + 32);
  Encoding info("polykern pair key 1");
  info.Text(terms.federation).Number(terms.epoch).Text(terms.one).Text(terms.other);
  info.Text(terms.further);
  SecretKey key;
  Hkdf(shared.bytes, salt, info.bytes(), key.bytes);
  return key;
}

}  // namespace polykern
