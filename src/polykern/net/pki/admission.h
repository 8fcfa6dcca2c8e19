#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "polykern/net/pki/role.h"

using X509 = struct x509_st;

namespace polykern {

/// Whether a peer may come in, and as whom.
struct AdmissionResult {
  std::string name = {};    ///< the peer's identity; empty: it may not come in
  std::string serial = {};  ///< of its certificate, if that can be read
  std::string reason = {};  ///< why it may not come in: one line, for the log and the peer
  /// The end of its certificate, in seconds since 1970, if it has one and may come in.
  std::int64_t valid_until = std::numeric_limits<std::int64_t>::max();

  bool good() const { return !name.empty(); }
};

/// Judges a certificate (PEM) by the authority's alone, without a list of what is revoked: for
/// clients, who have none. A pure function but for the clock; throws Error if the authority's (PEM)
/// cannot be used.
AdmissionResult CheckCertificate(const std::string& certificate, Role role,
                                 const std::string& authority);

/// The doorkeeper of a server or a helper: knows the authority and its list of revoked
/// certificates, and notices a new list without a restart. Any thread may call anything.
///
/// The constructor throws Error if the authority or the list is missing, damaged or of another
/// authority: without a list no client is let in. Later nothing throws: if a new list cannot be
/// used, the last valid one stays in force and trouble() says so.
class Admission {
 public:
  Admission(std::string authority_path, std::string revocations_path);
  ~Admission();
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;

  /// Judges a peer's certificate (PEM): read the newest list; signed by our authority for this
  /// role, within its time, not revoked, with a proper name.
  AdmissionResult Check(const std::string& certificate, Role role = Role::kClient);
  /// The same, of a client's certificate that TLS has verified to be our authority's: its signature
  /// is not verified again. Null: there is none.
  AdmissionResult CheckVerified(const std::shared_ptr<X509>& certificate);

  /// Of a certificate that is not here, by its number as AdmissionResult has it.
  bool IsRevoked(const std::string& serial);

  /// Looks whether there is a new list; true if one came into force since the last call, so that
  /// peers which are in already should be checked again. Costs a look at the file's times.
  bool Refresh();

  /// Why the newest list is not in force; empty if it is.
  std::string trouble() const;

 private:
  struct Lists;
  std::unique_ptr<Lists> lists_;
};

}  // namespace polykern
