#include <algorithm>
#include <string>

#include <openssl/core_names.h>
#include <openssl/err.h>

#include "polykern/core/error.h"
#include "polykern/privacy/crypto_internal.h"

namespace polykern {

OSSL_PARAM Sha256Digest() {
  static char name[] = "SHA256";
  return OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name, 0);
}

void RequireCrypto(bool good, std::string_view what) {
  if (good) return;
  ERR_clear_error();
  throw Error("OpenSSL cannot " + std::string(what));
}

namespace {

using MacContext = CryptoPtr<EVP_MAC_CTX, EVP_MAC_CTX_free>;

MacContext NewMacContext() {
  const CryptoPtr<EVP_MAC, EVP_MAC_free> mac(EVP_MAC_fetch(nullptr, "HMAC", nullptr));
  MacContext context(mac != nullptr ? EVP_MAC_CTX_new(mac.get()) : nullptr);
  const OSSL_PARAM settings[] = {Sha256Digest(), OSSL_PARAM_construct_end()};
  RequireCrypto(context != nullptr && EVP_MAC_CTX_set_params(context.get(), settings) == 1,
                "compute HMAC-SHA256");
  return context;
}

}  // namespace

Hmac::Hmac() {
  // To find SHA-256 takes longer than to hash a small message: it is done once, and copied.
  static const MacContext kPattern = NewMacContext();
  context_.reset(EVP_MAC_CTX_dup(kPattern.get()));
  RequireCrypto(context_ != nullptr, "compute HMAC-SHA256");
}

void Hmac::Start(std::span<const std::uint8_t> key) {
  // Without bytes OpenSSL would keep the key it has: an empty key is one 0, as HMAC fills keys up.
  static constexpr std::uint8_t kNothing = 0;
  RequireCrypto(EVP_MAC_init(context_.get(), key.empty() ? &kNothing : key.data(),
                             std::max<std::size_t>(key.size(), 1), nullptr) == 1,
                "compute HMAC-SHA256");
}

void Hmac::Add(std::span<const std::uint8_t> bytes) {
  RequireCrypto(EVP_MAC_update(context_.get(), bytes.data(), bytes.size()) == 1,
                "compute HMAC-SHA256");
}

std::array<std::uint8_t, 32> Hmac::End() {
  std::array<std::uint8_t, 32> sum{};
  std::size_t size = 0;
  RequireCrypto(EVP_MAC_final(context_.get(), sum.data(), &size, sum.size()) == 1,
                "compute HMAC-SHA256");
  return sum;
}

}  // namespace polykern
