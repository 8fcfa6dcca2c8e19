#include "polykern/net/pki/signed_mask_key.h"

#include <cassert>
#include <string_view>

#include <openssl/err.h>
#include <openssl/evp.h>

#include "polykern/core/error.h"
#include "polykern/net/pki/mask_key_file.h"
#include "polykern/net/pki/openssl_internal.h"

namespace polykern {
namespace {

using DigestPtr = OpenSslPtr<EVP_MD_CTX, EVP_MD_CTX_free>;

const unsigned char* Octets(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

/// What is signed. Its beginning tells it from all else that this key signs, which is TLS.
std::string SignedText(const std::string& name, const PublicKey& key) {
  std::string text = "polykern mask key 1";
  for (const int shift : {24, 16, 8, 0}) text += static_cast<char>(name.size() >> shift);
  text += name;
  return text.append(key.begin(), key.end());
}

bool IsSigned(const SignedMaskKey& mask_key, const std::string& name) {
  const CertificatePtr certificate = NeedCertificate(mask_key.certificate, "the mask key");
  EVP_PKEY* const key = X509_get0_pubkey(certificate.get());
  const DigestPtr digest(EVP_MD_CTX_new());
  const std::string text = SignedText(name, mask_key.key);
  const bool good = key != nullptr && digest != nullptr &&
                    EVP_DigestVerifyInit(digest.get(), nullptr, EVP_sha256(), nullptr, key) == 1 &&
                    EVP_DigestVerify(digest.get(), Octets(mask_key.signature),
                                     mask_key.signature.size(), Octets(text), text.size()) == 1;
  ERR_clear_error();
  return good;
}

VerifiedMaskKey Verified(const SignedMaskKey& mask_key, const AdmissionResult& owner) {
  if (!owner.good()) throw Error("the mask key is not valid: " + owner.reason);
  if (!IsSigned(mask_key, owner.name)) {
    throw Error("the mask key is not valid: '" + owner.name + "' has not signed it");
  }
  return {owner.name, mask_key.key, owner.serial, owner.valid_until};
}

}  // namespace

SignedMaskKey SignMaskKey(const ClientIdentity& own) {
  const std::string name = ReadCertificate(own.certificate, "the certificate").name;
  if (own.mask_key.empty()) {
    throw Error("'" + name +
                "' has no mask.key, which masked sums need; make it with: polykern pki issue " +
                name + " " + ShellSpelling("renew"));
  }
  SignedMaskKey signed_key{.certificate = own.certificate,
                           .key = PublicKeyOf(ReadMaskKey(own.mask_key, "mask.key")),
                           .signature = {}};
  const std::string text = SignedText(name, signed_key.key);
  const KeyPtr key = ParseKey(own.key, "the certificate's key");
  const DigestPtr digest(EVP_MD_CTX_new());
  std::size_t size = 0;
  Require(digest != nullptr &&
          EVP_DigestSignInit(digest.get(), nullptr, EVP_sha256(), nullptr, key.get()) == 1 &&
          EVP_DigestSign(digest.get(), nullptr, &size, Octets(text), text.size()) == 1);
  signed_key.signature.resize(size);
  Require(EVP_DigestSign(digest.get(),
                         reinterpret_cast<unsigned char*>(signed_key.signature.data()), &size,
                         Octets(text), text.size()) == 1);
  signed_key.signature.resize(size);
  return signed_key;
}

VerifiedMaskKey VerifyMaskKey(const SignedMaskKey& mask_key, Role role, Admission& door) {
  assert(role != Role::kServer);  // servers mask nothing
  return Verified(mask_key, door.Check(mask_key.certificate, role));
}

VerifiedMaskKey VerifyMaskKey(const SignedMaskKey& mask_key, Role role,
                              const std::string& authority) {
  assert(role != Role::kServer);
  return Verified(mask_key, CheckCertificate(mask_key.certificate, role, authority));
}

}  // namespace polykern
