#include "polykern/net/pki/admission.h"

#include <mutex>
#include <tuple>
#include <utility>

#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <sys/stat.h>

#include "polykern/core/error.h"
#include "polykern/io/files.h"
#include "polykern/net/pki/certificates.h"
#include "polykern/net/pki/openssl_internal.h"

namespace polykern {
namespace {

using StorePtr = OpenSslPtr<X509_STORE, X509_STORE_free>;
using ContextPtr = OpenSslPtr<X509_STORE_CTX, X509_STORE_CTX_free>;

/// Changes with every replacement of a file: another inode, time or size.
using FileMark = std::tuple<ino_t, std::int64_t, std::int64_t, off_t>;

FileMark MarkOf(const std::string& path) {
  struct stat s {};
  if (stat(path.c_str(), &s) != 0) return {};
  return {s.st_ino, s.st_mtim.tv_sec, s.st_mtim.tv_nsec, s.st_size};
}

/// What certificates are verified against.
StorePtr MakeTrust(const std::string& authority) {
  StorePtr trust(X509_STORE_new());
  const CertificatePtr root = NeedCertificate(authority, "the authority's certificate");
  Require(trust != nullptr && X509_STORE_add_cert(trust.get(), root.get()) == 1 &&
          X509_STORE_set_flags(trust.get(), X509_V_FLAG_X509_STRICT) == 1);
  return trust;
}

// X509_V_OK, or what is wrong.

/// Not OpenSSL's own look at a list, which verifies the list's signature each time.
int JudgeByList(X509_CRL* revocations, X509* peer) {
  X509_REVOKED* entry = nullptr;
  if (X509_CRL_get0_by_cert(revocations, &entry, peer) != 0) return X509_V_ERR_CERT_REVOKED;
  const ASN1_TIME* const next = X509_CRL_get0_nextUpdate(revocations);
  return next != nullptr && X509_cmp_current_time(next) < 0 ? X509_V_ERR_CRL_HAS_EXPIRED
                                                            : X509_V_OK;
}

/// TLS looked when the connection began, which may be long ago.
int JudgeByTime(const X509* peer) {
  if (X509_cmp_current_time(X509_get0_notAfter(peer)) < 0) return X509_V_ERR_CERT_HAS_EXPIRED;
  return X509_cmp_current_time(X509_get0_notBefore(peer)) > 0 ? X509_V_ERR_CERT_NOT_YET_VALID
                                                              : X509_V_OK;
}

int Verify(X509_STORE* trust, X509* peer) {
  const ContextPtr context(X509_STORE_CTX_new());
  if (context == nullptr || X509_STORE_CTX_init(context.get(), trust, peer, nullptr) != 1) {
    return X509_V_ERR_UNSPECIFIED;
  }
  X509_verify_cert(context.get());
  return X509_STORE_CTX_get_error(context.get());
}

const char* Owner(Role role) {
  return role == Role::kClient   ? "a client's"
         : role == Role::kServer ? "the server's"
                                 : "a helper's";
}

/// `trust` may be null, if TLS has verified it, and so may `revocations`.
AdmissionResult Judge(X509* peer, X509_STORE* trust, X509_CRL* revocations, Role role) {
  AdmissionResult result;
  if (peer == nullptr) {
    result.reason = "the peer shows no readable certificate";
    return result;
  }
  result.serial = SerialText(X509_get0_serialNumber(peer));
  int code = trust == nullptr ? JudgeByTime(peer) : Verify(trust, peer);
  if (code == X509_V_OK && revocations != nullptr) code = JudgeByList(revocations, peer);
  ERR_clear_error();
  const std::string name = CommonName(peer);
  if (code != X509_V_OK) {
    result.reason = "the certificate " + VerdictWords(code);
  } else if (!HasRole(peer, role)) {
    result.reason = std::string("the certificate is not ") + Owner(role);
  } else if (role == Role::kServer ? name != kServerName : !IsClientName(name)) {
    result.reason = std::string("the certificate's common name is not ") + Owner(role) + " name";
  } else {
    result.name = name;
    result.valid_until = SecondsOf(X509_get0_notAfter(peer));
  }
  return result;
}

}  // namespace

AdmissionResult CheckCertificate(const std::string& certificate, Role role,
                                 const std::string& authority) {
  return Judge(ParseCertificate(certificate).get(), MakeTrust(authority).get(), nullptr, role);
}

struct Admission::Lists {
  std::string authority_path;
  std::string revocations_path;
  std::string authority;

  std::mutex mutex;  // for all that follows
  StorePtr trust;
  CrlPtr revocations;
  FileMark mark;
  std::string trouble;
  bool fresh = false;

  void Load() {
    mark = MarkOf(revocations_path);  // before reading: a list that comes meanwhile is seen later
    const std::string text = ReadWholeFile(revocations_path);
    ReadRevocationList(text, authority, revocations_path);  // is it ours?
    revocations = ParseCrl(text);
  }

  void LoadIfNew() {
    if (MarkOf(revocations_path) == mark) return;
    try {
      Load();
      trouble.clear();
      fresh = true;
    } catch (const Error& error) {
      trouble = std::string(error.what()) + "; the last valid revocation list stays in force";
    }
  }
};

Admission::Admission(std::string authority_path, std::string revocations_path)
    : lists_(std::make_unique<Lists>()) {
  lists_->authority_path = std::move(authority_path);
  lists_->revocations_path = std::move(revocations_path);
  lists_->authority = ReadWholeFile(lists_->authority_path);
  ReadCertificate(lists_->authority, lists_->authority_path);
  lists_->trust = MakeTrust(lists_->authority);
  lists_->Load();
}

Admission::~Admission() = default;

AdmissionResult Admission::Check(const std::string& certificate, Role role) {
  const std::lock_guard lock(lists_->mutex);
  lists_->LoadIfNew();
  return Judge(ParseCertificate(certificate).get(), lists_->trust.get(), lists_->revocations.get(),
               role);
}

AdmissionResult Admission::CheckVerified(const std::shared_ptr<X509>& certificate) {
  const std::lock_guard lock(lists_->mutex);
  lists_->LoadIfNew();
  return Judge(certificate.get(), nullptr, lists_->revocations.get(), Role::kClient);
}

bool Admission::IsRevoked(const std::string& serial) {
  BIGNUM* number = nullptr;
  BN_hex2bn(&number, serial.c_str());
  const BignumPtr owned(number);
  const IntegerPtr wanted(number == nullptr ? nullptr : BN_to_ASN1_INTEGER(number, nullptr));
  const std::lock_guard lock(lists_->mutex);
  lists_->LoadIfNew();
  X509_REVOKED* entry = nullptr;
  return wanted != nullptr &&
         X509_CRL_get0_by_serial(lists_->revocations.get(), &entry, wanted.get()) != 0;
}

bool Admission::Refresh() {
  const std::lock_guard lock(lists_->mutex);
  lists_->LoadIfNew();
  return std::exchange(lists_->fresh, false);
}

std::string Admission::trouble() const {
  const std::lock_guard lock(lists_->mutex);
  return lists_->trouble;
}

}  // namespace polykern
