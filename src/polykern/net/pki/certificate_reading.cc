#include <algorithm>
#include <array>
#include <ctime>

#include <arpa/inet.h>
#include <openssl/bn.h>
#include <openssl/err.h>

#include "polykern/core/error.h"
#include "polykern/net/pki/certificates.h"
#include "polykern/net/pki/openssl_internal.h"

namespace polykern {
namespace {

constexpr const char* kRestore = "; restore a copy of it, or make it again with polykern pki";

/// What a host's name and a client's may be made of.
bool IsPlainName(std::string_view name, std::size_t longest) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= longest && std::ranges::all_of(name, good) &&
         name.front() != '.' && name.front() != '-';
}

}  // namespace

std::int64_t SecondsOf(const ASN1_TIME* time) {
  std::tm parts{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) return 0;
  return timegm(&parts);
}

void Require(bool good) {
  if (good) return;
  std::array<char, 200> text{};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  throw Error(
      "OpenSSL does not do what it should; is there memory left, and is it the version that " +
      std::string("polykern was built for? (") + text.data() + ")");
}

KeyPtr ParseKey(const std::string& pem, const std::string& what) {
  // A key with a passphrase is refused, not asked for: there may be no one to type it.
  const auto no_passphrase = [](char*, int, int, void*) { return -1; };
  KeyPtr key(PEM_read_bio_PrivateKey(TextBio(pem).get(), nullptr, no_passphrase, nullptr));
  ERR_clear_error();
  if (key == nullptr) throw Error(what + ": contains no readable private key" + kRestore);
  return key;
}

std::string KeyText(EVP_PKEY* key) {
  return Pem([&](BIO* bio) {
    return PEM_write_bio_PKCS8PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  });
}

CertificatePtr NeedCertificate(const std::string& pem, const std::string& what) {
  CertificatePtr certificate = ParseCertificate(pem);
  ERR_clear_error();
  if (certificate == nullptr) throw Error(what + ": contains no readable certificate" + kRestore);
  return certificate;
}

bool IsAddress(const std::string& host) {
  std::array<unsigned char, 16> bytes{};
  return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

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
  return IsPlainName(name, 64);
}

bool HasRole(X509* certificate, Role role) {
  if (role == Role::kClient) {
    return X509_check_purpose(certificate, X509_PURPOSE_SSL_CLIENT, 0) == 1;
  }
  if (role == Role::kServer) {
    return X509_check_purpose(certificate, X509_PURPOSE_SSL_SERVER, 0) == 1;
  }
  const OpenSslPtr<EXTENDED_KEY_USAGE, EXTENDED_KEY_USAGE_free> uses(
      static_cast<EXTENDED_KEY_USAGE*>(
          X509_get_ext_d2i(certificate, NID_ext_key_usage, nullptr, nullptr)));
  const OpenSslPtr<ASN1_OBJECT, ASN1_OBJECT_free> helper(OBJ_txt2obj(kHelperPurpose, 1));
  return uses != nullptr && helper != nullptr && sk_ASN1_OBJECT_num(uses.get()) == 1 &&
         OBJ_cmp(sk_ASN1_OBJECT_value(uses.get(), 0), helper.get()) == 0;
}

void CheckHost(const std::string& host) {
  if (IsAddress(host) || IsPlainName(host, 253)) return;
  throw Error("'" + host + "' is neither a host's name nor an IP address; give names like " +
              "learn.example.org or 192.0.2.7, without a port");
}

CertificateFacts ReadCertificate(const std::string& pem, const std::string& what) {
  const CertificatePtr certificate = NeedCertificate(pem, what);
  CertificateFacts facts{.name = CommonName(certificate.get()),
                         .serial = SerialText(X509_get0_serialNumber(certificate.get())),
                         .valid = {SecondsOf(X509_get0_notBefore(certificate.get())),
                                   SecondsOf(X509_get0_notAfter(certificate.get()))},
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
  if (crl == nullptr) throw Error(what + ": contains no readable revocation list" + kRestore);
  if (!ours) throw Error(what + ": the revocation list is not signed by this authority" + kRestore);
  RevocationList list;
  const auto* const entries = X509_CRL_get_REVOKED(crl.get());
  for (int i = 0; i < sk_X509_REVOKED_num(entries); ++i) {
    const X509_REVOKED* const entry = sk_X509_REVOKED_value(entries, i);
    list.revoked.push_back({SerialText(X509_REVOKED_get0_serialNumber(entry)),
                            SecondsOf(X509_REVOKED_get0_revocationDate(entry))});
  }
  const IntegerPtr number(static_cast<ASN1_INTEGER*>(
      X509_CRL_get_ext_d2i(crl.get(), NID_crl_number, nullptr, nullptr)));
  if (number != nullptr) ASN1_INTEGER_get_int64(&list.number, number.get());
  return list;
}

void CheckKeyPair(const KeyPair& pair, const std::string& whose, const std::string& what) {
  const CertificatePtr certificate = NeedCertificate(pair.certificate, whose);
  const KeyPtr key = ParseKey(pair.key, what);
  const bool match = X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  if (match) return;
  throw Error(what + ": the key does not belong to the certificate, " + whose +
              "; copy both again from the folder that polykern pki made");
}

std::string VerdictWords(int verdict) {
  switch (verdict) {
    case X509_V_ERR_CERT_REVOKED:
      return "is revoked";
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "has expired";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "is not valid yet: is a clock wrong?";
    case X509_V_ERR_CRL_HAS_EXPIRED:
      return "cannot be checked: the revocation list has expired";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return "is not from this federation's authority";
    default:
      return "is not valid (verdict " + std::to_string(verdict) + " of OpenSSL)";
  }
}

}  // namespace polykern
