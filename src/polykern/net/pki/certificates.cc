#include "polykern/net/pki/certificates.h"

#include <cassert>

#include <openssl/bn.h>
#include <openssl/evp.h>

#include "polykern/core/error.h"
#include "polykern/net/pki/openssl_internal.h"

namespace polykern {
namespace {

using TimePtr = OpenSslPtr<ASN1_TIME, ASN1_TIME_free>;
using ExtensionPtr = OpenSslPtr<X509_EXTENSION, X509_EXTENSION_free>;

BignumPtr RandomSerial() {
  BignumPtr serial(BN_new());
  do {
    Require(serial != nullptr && BN_rand(serial.get(), 128, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY));
  } while (BN_is_zero(serial.get()));
  return serial;
}

TimePtr Time(std::int64_t seconds) {
  TimePtr time(ASN1_TIME_set(nullptr, seconds));
  Require(time != nullptr);
  return time;
}

/// A certificate with everything but its extensions of purpose; signed by `issuer`, or self-signed.
struct Draft {
  CertificatePtr certificate{X509_new()};
  X509* issuer;

  Draft(const std::string& name, EVP_PKEY* key, const Validity& valid, X509* signer)
      : issuer(signer != nullptr ? signer : certificate.get()) {
    X509* const c = certificate.get();
    Require(c != nullptr && X509_set_version(c, X509_VERSION_3) == 1);
    Require(BN_to_ASN1_INTEGER(RandomSerial().get(), X509_get_serialNumber(c)) != nullptr);
    Require(X509_set1_notBefore(c, Time(valid.from).get()) == 1 &&
            X509_set1_notAfter(c, Time(valid.until).get()) == 1);
    X509_NAME* const subject = X509_get_subject_name(c);
    Require(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                                       reinterpret_cast<const unsigned char*>(name.data()),
                                       static_cast<int>(name.size()), -1, 0) == 1);
    Require(X509_set_issuer_name(c, X509_get_subject_name(issuer)) == 1);
    Require(X509_set_pubkey(c, key) == 1);
    Add(NID_subject_key_identifier, "hash");
    Add(NID_authority_key_identifier, "keyid:always");
  }

  void Add(int kind, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate.get(), nullptr, nullptr, 0);
    const ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
    Require(extension != nullptr && X509_add_ext(certificate.get(), extension.get(), -1) == 1);
  }

  std::string Sign(EVP_PKEY* key) {
    Require(X509_sign(certificate.get(), key, EVP_sha256()) > 0);
    return Pem([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate.get()); });
  }
};

/// A certificate for one end of a connection, whose public key this is.
std::string MakeEnd(const KeyPair& authority, const KeyPtr& key, const std::string& name,
                    const Validity& valid, const std::string& purpose, const std::string& hosts) {
  const CertificatePtr issuer = NeedCertificate(authority.certificate, "the authority");
  Draft draft(name, key.get(), valid, issuer.get());
  draft.Add(NID_basic_constraints, "critical,CA:FALSE");
  draft.Add(NID_key_usage, "critical,digitalSignature");
  draft.Add(NID_ext_key_usage, purpose);
  draft.Add(NID_subject_alt_name, hosts);
  return draft.Sign(ParseKey(authority.key, "the authority's key").get());
}

/// As the extension for alternative names has them. Throws Error.
std::string HostList(std::span<const std::string> hosts) {
  assert(!hosts.empty());
  std::string names;
  for (const std::string& host : hosts) {
    CheckHost(host);
    names += (names.empty() ? "" : ",") + std::string(IsAddress(host) ? "IP:" : "DNS:") + host;
  }
  return names;
}

void AddRevoked(X509_CRL* crl, const Revocation& revocation) {
  BIGNUM* number = nullptr;
  if (BN_hex2bn(&number, revocation.serial.c_str()) == 0) {
    throw Error("'" + revocation.serial + "' is not a serial number");
  }
  const BignumPtr owned(number);
  const IntegerPtr serial(BN_to_ASN1_INTEGER(number, nullptr));
  OpenSslPtr<X509_REVOKED, X509_REVOKED_free> entry(X509_REVOKED_new());
  Require(entry != nullptr && X509_REVOKED_set_serialNumber(entry.get(), serial.get()) == 1);
  Require(X509_REVOKED_set_revocationDate(entry.get(), Time(revocation.when).get()) == 1);
  Require(X509_CRL_add0_revoked(crl, entry.get()) == 1);
  entry.release();  // the list owns it
}

}  // namespace

std::string MakeKey() {
  const KeyPtr key(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
  Require(key != nullptr);
  return KeyText(key.get());
}

KeyPair MakeAuthority(const Validity& valid) {
  KeyPair authority{.certificate = {}, .key = MakeKey()};
  const KeyPtr key = ParseKey(authority.key, "the authority's key");
  // A name of its own for each, so that messages can tell two authorities apart.
  const IntegerPtr mark(BN_to_ASN1_INTEGER(RandomSerial().get(), nullptr));
  Require(mark != nullptr);
  Draft draft("polykern authority " + SerialText(mark.get()).substr(0, 8), key.get(), valid,
              nullptr);
  draft.Add(NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
  draft.Add(NID_key_usage, "critical,keyCertSign,cRLSign");
  authority.certificate = draft.Sign(key.get());
  return authority;
}

std::string MakeServerCertificate(const KeyPair& authority, const std::string& key,
                                  std::span<const std::string> hosts, const Validity& valid) {
  return MakeEnd(authority, ParseKey(key, "the key"), kServerName, valid, "serverAuth",
                 HostList(hosts));
}

std::string MakeClientCertificate(const KeyPair& authority, const std::string& key,
                                  const std::string& name, const Validity& valid) {
  assert(IsClientName(name));
  return MakeEnd(authority, ParseKey(key, "the key"), name, valid, "clientAuth", "DNS:" + name);
}

std::string RenewClientCertificate(const KeyPair& authority, const std::string& certificate,
                                   const Validity& valid) {
  const CertificatePtr old = NeedCertificate(certificate, "the certificate");
  const std::string name = CommonName(old.get());
  assert(IsClientName(name));
  return MakeEnd(authority, KeyPtr(X509_get_pubkey(old.get())), name, valid, "clientAuth",
                 "DNS:" + name);
}

std::string MakeHelperCertificate(const KeyPair& authority, const std::string& key,
                                  const std::string& name, std::span<const std::string> hosts,
                                  const Validity& valid) {
  assert(IsClientName(name));
  return MakeEnd(authority, ParseKey(key, "the key"), name, valid, kHelperPurpose, HostList(hosts));
}

std::string MakeRevocationList(const KeyPair& authority, const RevocationList& list,
                               std::int64_t now) {
  const CertificatePtr issuer = NeedCertificate(authority.certificate, "the authority");
  const CrlPtr crl(X509_CRL_new());
  Require(crl != nullptr && X509_CRL_set_version(crl.get(), X509_CRL_VERSION_2) == 1);
  Require(X509_CRL_set_issuer_name(crl.get(), X509_get_subject_name(issuer.get())) == 1);
  Require(X509_CRL_set1_lastUpdate(crl.get(), Time(now).get()) == 1);
  Require(X509_CRL_set1_nextUpdate(crl.get(), X509_get0_notAfter(issuer.get())) == 1);
  for (const Revocation& revocation : list.revoked) AddRevoked(crl.get(), revocation);
  const IntegerPtr number(ASN1_INTEGER_new());
  Require(number != nullptr && ASN1_INTEGER_set_int64(number.get(), list.number) == 1);
  Require(X509_CRL_add1_ext_i2d(crl.get(), NID_crl_number, number.get(), 0, 0) == 1);
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer.get(), nullptr, nullptr, crl.get(), 0);
  const ExtensionPtr key_id(
      X509V3_EXT_conf_nid(nullptr, &context, NID_authority_key_identifier, "keyid:always"));
  Require(key_id != nullptr && X509_CRL_add_ext(crl.get(), key_id.get(), -1) == 1);
  Require(X509_CRL_sort(crl.get()) == 1);
  const KeyPtr key = ParseKey(authority.key, "the authority's key");
  Require(X509_CRL_sign(crl.get(), key.get(), EVP_sha256()) > 0);
  return Pem([&](BIO* bio) { return PEM_write_bio_X509_CRL(bio, crl.get()); });
}

}  // namespace polykern
