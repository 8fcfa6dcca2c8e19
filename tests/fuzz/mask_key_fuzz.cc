// Signed mask keys, which come through hands that nobody trusts: any certificate at all, or a good
// one with changes. What verifies is the key that its owner signed, under the owner's name.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>

#include "polykern/core/error.h"
#include "polykern/net/pki/mask_key_file.h"
#include "polykern/net/pki/openssl_internal.h"
#include "polykern/net/pki/signed_mask_key.h"

namespace {

using namespace polykern;

struct Good {
  std::string authority;
  SignedMaskKey mask_key;
  std::string der;  // of the certificate
};

Good MakeGood() {
  const Validity valid{std::time(nullptr) - 100, std::time(nullptr) + 1'000'000};
  const KeyPair authority = MakeAuthority(valid);
  const std::string key = MakeKey();
  const std::string certificate = MakeClientCertificate(authority, key, "a", valid);
  Good good{authority.certificate,
            SignMaskKey({authority.certificate, certificate, key, MakeMaskKey()}),
            {}};
  unsigned char* bytes = nullptr;
  const int size = i2d_X509(ParseCertificate(certificate).get(), &bytes);
  good.der.assign(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return good;
}

std::string CertificateText(std::string_view der) {
  return Pem([&](BIO* bio) {
    return PEM_write_bio(bio, "CERTIFICATE", "", reinterpret_cast<const unsigned char*>(der.data()),
                         static_cast<long>(der.size())) > 0
               ? 1
               : 0;
  });
}

/// Pairs of bytes: where, from one byte to the next, and what to change there.
void Change(std::string& text, std::string_view changes) {
  std::size_t at = 0;
  for (; changes.size() >= 2 && !text.empty(); changes.remove_prefix(2)) {
    at = (at + static_cast<unsigned char>(changes[0])) % text.size();
    text[at] = static_cast<char>(text[at] ^ changes[1]);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Good good = MakeGood();
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  SignedMaskKey mask_key = good.mask_key;
  std::string der = good.der;
  switch (data[0] % 5) {
    case 0:
      mask_key.certificate = bytes;
      break;
    case 1:
      mask_key.certificate = bytes.empty() ? "" : CertificateText(bytes);
      break;
    case 2:
      Change(der, bytes);
      mask_key.certificate = CertificateText(der);
      break;
    case 3:
      Change(mask_key.signature, bytes);
      break;
    default:
      std::copy_n(bytes.begin(), std::min(bytes.size(), mask_key.key.size()), mask_key.key.begin());
  }
  try {
    const VerifiedMaskKey verified = VerifyMaskKey(mask_key, Role::kClient, good.authority);
    if (verified.name != "a" || verified.key != good.mask_key.key) std::abort();
  } catch (const Error&) {
  }
  return 0;
}
