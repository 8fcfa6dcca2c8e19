#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "polykern/net/pki/role.h"

namespace polykern {

/// For calls that fail only without memory or randomness. Throws Error.
void Require(bool good);

/// OpenSSL's objects with an owner, and their PEM texts. For the sources of this folder.
template <auto kFree>
struct OpenSslDeleter {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
template <typename T, auto kFree>
using OpenSslPtr = std::unique_ptr<T, OpenSslDeleter<kFree>>;

using BignumPtr = OpenSslPtr<BIGNUM, BN_free>;
using BioPtr = OpenSslPtr<BIO, BIO_free_all>;
using CertificatePtr = OpenSslPtr<X509, X509_free>;
using CrlPtr = OpenSslPtr<X509_CRL, X509_CRL_free>;
using IntegerPtr = OpenSslPtr<ASN1_INTEGER, ASN1_INTEGER_free>;
using KeyPtr = OpenSslPtr<EVP_PKEY, EVP_PKEY_free>;

inline BioPtr TextBio(std::string_view text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

/// What `write` puts into a BIO. Throws Error if it does not return 1.
template <typename Writer>
std::string Pem(Writer write) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  Require(bio != nullptr && write(bio.get()) == 1);
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

/// Null if there is none in the text.
inline CertificatePtr ParseCertificate(std::string_view pem) {
  return CertificatePtr(PEM_read_bio_X509(TextBio(pem).get(), nullptr, nullptr, nullptr));
}
inline CrlPtr ParseCrl(std::string_view pem) {
  return CrlPtr(PEM_read_bio_X509_CRL(TextBio(pem).get(), nullptr, nullptr, nullptr));
}

/// What is in the text, which came from the file `what`. Throws Error if it is none; a key with a
/// passphrase is none, too.
KeyPtr ParseKey(const std::string& pem, const std::string& what);
CertificatePtr NeedCertificate(const std::string& pem, const std::string& what);

/// A private key in PKCS #8, without a passphrase.
std::string KeyText(EVP_PKEY* key);

/// Since 1970; 0 if it is not a time.
std::int64_t SecondsOf(const ASN1_TIME* time);

bool IsAddress(const std::string& host);
std::string SerialText(const ASN1_INTEGER* serial);
/// The only common name; empty if there is none, or more than one.
std::string CommonName(const X509* certificate);

/// A helper's extended key usage: an identifier that comes from a random UUID (ITU-T X.667), since
/// none is registered.
inline constexpr char kHelperPurpose[] = "2.25.295329148796663392608447216998512933944";
/// Is the certificate made for this role? Says nothing about who signed it. Throws
/// nothing, since OpenSSL calls it.
bool HasRole(X509* certificate, Role role);
/// What is wrong with a certificate, of OpenSSL's verdict on it, to follow a subject: "is revoked".
std::string VerdictWords(int verdict);

}  // namespace polykern
