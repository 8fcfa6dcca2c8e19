#include "polykern/net/pki/mask_key_file.h"

#include "polykern/core/error.h"
#include "polykern/net/pki/openssl_internal.h"

namespace polykern {

std::string MakeMaskKey() {
  const MaskKeys fresh = MakeMaskKeys();
  const KeyPtr key(EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, fresh.secret.bytes.data(),
                                                fresh.secret.bytes.size()));
  Require(key != nullptr);
  return KeyText(key.get());
}

SecretKey ReadMaskKey(const std::string& pem, const std::string& what) {
  const KeyPtr key = ParseKey(pem, what);
  SecretKey secret;
  std::size_t size = secret.bytes.size();
  if (EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_X25519) {
    throw Error(what + ": is not a key for masks, which are X25519; restore the latest copy, or " +
                "remove it and issue the folder again with " + OptionName("renew"));
  }
  Require(EVP_PKEY_get_raw_private_key(key.get(), secret.bytes.data(), &size) == 1);
  return secret;
}

}  // namespace polykern
