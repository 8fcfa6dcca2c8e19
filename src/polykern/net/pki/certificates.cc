#include "polykern/net/pki/certificates.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <ctime>

#include <arpa/inet.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>

#include "polykern/core/error.h"
#include "polykern/net/pki/openssl_internal.h"

namespace polykern {
namespace {

using BignumPtr = OpenSslPtr<BIGNUM, BN_free>;
using IntegerPtr = OpenSslPtr<ASN1_INTEGER, ASN1_INTEGER_free>;
using TimePtr = OpenSslPtr<ASN1_TIME, ASN1_TIME_free>;
using ExtensionPtr = OpenSslPtr<X509_EXTENSION, X509_EXTENSION_free>;

/// For calls that fail only without memory or randomness.
void Require(bool good) {
  if (good) return;
  std::array<char, 200> text{};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  throw Error("OpenSSL failed: " + std::string(text.data()));
}

template <typename Writer>
std::string Pem(Writer write) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  Require(bio != nullptr && write(bio.get()) == 1);
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

KeyPtr ParseKey(const std::string& pem, const std::string& what) {
  // A key with a passphrase is refused, not asked for: nobody may sit there.
  const auto no_passphrase = [](char*, int, int, void*) { return -1; };
  KeyPtr key(PEM_read_bio_PrivateKey(TextBio(pem).get(), nullptr, no_passphrase, nullptr));
  ERR_clear_error();
  if (key == nullptr) throw Error(what + ": holds no private key that can be read");
  return key;
}

CertificatePtr NeedCertificate(const std::string& pem, const std::string& what) {
  CertificatePtr certificate = ParseCertificate(pem);
  ERR_clear_error();
  if (certificate == nullptr) throw Error(what + ": holds no certificate that can be read");
  return certificate;
}

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

std::int64_t Seconds(const ASN1_TIME* time) {
  std::tm parts{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) return 0;
  return timegm(&parts);
}

bool IsAddress(const std::string& host) {
  std::array<unsigned char, 16> bytes{};
  return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

/// A certificate with everything but its extensions of purpose; signed by `issuer`, or by itself.
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

/// A certificate for one end of a connection.
std::string MakeEnd(const KeyPair& authority, const std::string& key, const std::string& name,
                    const Validity& valid, const std::string& purpose, const std::string& hosts) {
  const CertificatePtr issuer = NeedCertificate(authority.certificate, "the authority");
  Draft draft(name, ParseKey(key, "the key").get(), valid, issuer.get());
  draft.Add(NID_basic_constraints, "critical,CA:FALSE");
  draft.Add(NID_key_usage, "critical,digitalSignature");
  draft.Add(NID_ext_key_usage, purpose);
  draft.Add(NID_subject_alt_name, hosts);
  return draft.Sign(ParseKey(authority.key, "the authority's key").get());
}

}  // namespace

std::string SerialText(const ASN1_INTEGER* serial) {
  const BignumPtr number(ASN1_INTEGER_to_BN(serial, nullptr));
  Require(number != nullptr);
  char* const digits = BN_bn2hex(number.get());
  Require(digits != nullptr);
  std::string text = digits;
  OPENSSL_free(digits);
  return text;
}

std::string CommonName(const X509* certificate) {
  const X509_NAME* const subject = X509_get_subject_name(certificate);
  const int first = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (first < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, first) >= 0) return {};
  const ASN1_STRING* const value = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, first));
  unsigned char* bytes = nullptr;
  const int size = ASN1_STRING_to_UTF8(&bytes, value);
  if (size < 0) return {};
  std::string name(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return name;
}

bool IsClientName(std::string_view name) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, good) &&
         name.front() != '.' && name.front() != '-';
}

void CheckHost(const std::string& host) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  if (IsAddress(host)) return;
  if (!host.empty() && host.size() <= 253 && std::ranges::all_of(host, good) &&
      host.front() != '.' && host.front() != '-') {
    return;
  }
  throw Error("'" + host + "' is neither a host's name nor an IP address; give names like " +
              "learn.example.org or 192.0.2.7, without a port");
}

std::string MakeKey() {
  const KeyPtr key(EVP_EC_gen("P-256"));
  Require(key != nullptr);
  return Pem([&](BIO* bio) {
    return PEM_write_bio_PKCS8PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
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
  assert(!hosts.empty());
  std::string names;
  for (const std::string& host : hosts) {
    CheckHost(host);
    names += (names.empty() ? "" : ",") + std::string(IsAddress(host) ? "IP:" : "DNS:") + host;
  }
  return MakeEnd(authority, key, "polykern server", valid, "serverAuth", names);
}

std::string MakeClientCertificate(const KeyPair& authority, const std::string& key,
                                  const std::string& name, const Validity& valid) {
  assert(IsClientName(name));
  return MakeEnd(authority, key, name, valid, "clientAuth", "DNS:" + name);
}

std::string MakeRevocationList(const KeyPair& authority, const RevocationList& list,
                               std::int64_t now) {
  const CertificatePtr issuer = NeedCertificate(authority.certificate, "the authority");
  const CrlPtr crl(X509_CRL_new());
  Require(crl != nullptr && X509_CRL_set_version(crl.get(), X509_CRL_VERSION_2) == 1);
  Require(X509_CRL_set_issuer_name(crl.get(), X509_get_subject_name(issuer.get())) == 1);
  Require(X509_CRL_set1_lastUpdate(crl.get(), Time(now).get()) == 1);
  Require(X509_CRL_set1_nextUpdate(crl.get(), X509_get0_notAfter(issuer.get())) == 1);
  for (const Revocation& revocation : list.revoked) {
    BIGNUM* number = nullptr;
    if (BN_hex2bn(&number, revocation.serial.c_str()) == 0) {
      throw Error("'" + revocation.serial + "' is not a serial number");
    }
    const BignumPtr owned(number);
    const IntegerPtr serial(BN_to_ASN1_INTEGER(number, nullptr));
    OpenSslPtr<X509_REVOKED, X509_REVOKED_free> entry(X509_REVOKED_new());
    Require(entry != nullptr && X509_REVOKED_set_serialNumber(entry.get(), serial.get()) == 1);
    Require(X509_REVOKED_set_revocationDate(entry.get(), Time(revocation.when).get()) == 1);
    Require(X509_CRL_add0_revoked(crl.get(), entry.get()) == 1);
    entry.release();  // the list owns it
  }
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

CertificateFacts ReadCertificate(const std::string& pem, const std::string& what) {
  const CertificatePtr certificate = NeedCertificate(pem, what);
  CertificateFacts facts{.name = CommonName(certificate.get()),
                         .serial = SerialText(X509_get0_serialNumber(certificate.get())),
                         .valid = {Seconds(X509_get0_notBefore(certificate.get())),
                                   Seconds(X509_get0_notAfter(certificate.get()))},
                         .hosts = {}};
  const OpenSslPtr<GENERAL_NAMES, GENERAL_NAMES_free> names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate.get(), NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    int kind = 0;
    const auto* const value = static_cast<const ASN1_STRING*>(
        GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names.get(), i), &kind));
    const unsigned char* const bytes = ASN1_STRING_get0_data(value);
    const auto size = static_cast<std::size_t>(ASN1_STRING_length(value));
    if (kind == GEN_DNS) facts.hosts.emplace_back(reinterpret_cast<const char*>(bytes), size);
    if (kind == GEN_IPADD && (size == 4 || size == 16)) {
      std::array<char, INET6_ADDRSTRLEN> text{};
      inet_ntop(size == 4 ? AF_INET : AF_INET6, bytes, text.data(), text.size());
      facts.hosts.emplace_back(text.data());
    }
  }
  return facts;
}

RevocationList ReadRevocationList(const std::string& pem, const std::string& authority,
                                  const std::string& what) {
  const CertificatePtr issuer = NeedCertificate(authority, "the authority");
  const CrlPtr crl = ParseCrl(pem);
  const bool ours =
      crl != nullptr && X509_CRL_verify(crl.get(), X509_get0_pubkey(issuer.get())) == 1;
  ERR_clear_error();
  if (crl == nullptr) throw Error(what + ": holds no revocation list that can be read");
  if (!ours) throw Error(what + ": the revocation list is not signed by this authority");
  RevocationList list;
  const auto* const entries = X509_CRL_get_REVOKED(crl.get());
  for (int i = 0; i < sk_X509_REVOKED_num(entries); ++i) {
    const X509_REVOKED* const entry = sk_X509_REVOKED_value(entries, i);
    list.revoked.push_back({SerialText(X509_REVOKED_get0_serialNumber(entry)),
                            Seconds(X509_REVOKED_get0_revocationDate(entry))});
  }
  const IntegerPtr number(static_cast<ASN1_INTEGER*>(
      X509_CRL_get_ext_d2i(crl.get(), NID_crl_number, nullptr, nullptr)));
  if (number != nullptr) ASN1_INTEGER_get_int64(&list.number, number.get());
  return list;
}

void CheckKeyPair(const KeyPair& pair, const std::string& what) {
  const CertificatePtr certificate = NeedCertificate(pair.certificate, what);
  const KeyPtr key = ParseKey(pair.key, what);
  const bool match = X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  if (!match) throw Error(what + ": the key does not belong to the certificate");
}

}  // namespace polykern
