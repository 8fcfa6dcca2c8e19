#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include "polykern/net/pki/authority_folder.h"
#include "polykern/net/pki/certificates.h"
#include "polykern/net/pki/dates.h"

namespace polykern {

/// What can be done with a federation's certificate authority, which is kept in one folder
/// (authority_folder.h).
///
/// Keys are readable by their owner alone from their first byte. A process may be killed at any
/// moment: the folder stays usable, and every client's or helper's certificate on a disk is in the
/// index, so that it can be revoked. Any number of processes may work on one folder; they wait for
/// each other. Everything throws Error.

struct InitOptions {
  /// The server's host names and IP addresses; empty: those of this machine.
  std::vector<std::string> hosts = {};
  bool renew = false;              ///< keep the authority, make a new server's certificate
  std::size_t days = 7300;         ///< how long the authority lasts
  std::size_t server_days = 3650;  ///< how long the server's certificate lasts
  std::int64_t now = std::time(nullptr);
};

struct IssueOptions {
  std::string out = {};  ///< folder to make; empty: clients/NAME or helpers/NAME in the authority's
  std::size_t days = 730;  ///< how long the certificate lasts, at most until the authority ends
  std::int64_t valid = 0;  ///< seconds, in place of the days, unless 0
  bool renew = false;      ///< a further certificate for a name that has a good one
  /// A helper's host names and IP addresses; empty: those of this machine.
  std::vector<std::string> hosts = {};
  std::int64_t now = std::time(nullptr);
};

struct AuthorityContents {
  CertificateFacts authority;
  CertificateFacts server;
  std::vector<IssuedCertificate> clients;  ///< in the order they were issued
  std::vector<IssuedCertificate> helpers;  ///< likewise
};

/// localhost, its addresses and this machine's name.
std::vector<std::string> LocalHosts();

/// Makes an authority and its server's certificate; never replaces an authority. With `renew` it
/// must exist; server.key is kept if it is there (to change it, remove it first).
CertificateFacts InitAuthority(const std::string& folder, const InitOptions& options);

/// Makes one client's folder, with a key for masks, and touches no other's. Refuses a name that has
/// a good certificate unless told to renew, or that was ever a helper's. Renewed, the earlier
/// certificate stays good until it expires or is revoked, and the folder keeps its key for masks if
/// it has one and its certificate is not revoked.
IssuedCertificate IssueClient(const std::string& folder, const std::string& name,
                              const IssueOptions& options);

/// A further certificate, as a text, for the client and the key of this good one (PEM), which must
/// be in the index and not revoked there. Lasts `valid` seconds. It is in the index before this
/// returns; those of this client that have expired leave the index, which so stays short.
std::string RenewClient(const std::string& folder, const std::string& certificate,
                        std::int64_t valid, std::int64_t now);

/// A server's key and certificate that are never written to disk, for a service of the authority
/// itself.
struct TemporaryServer {
  KeyPair pair;
  std::string authority;  ///< its certificate
  std::int64_t expires = 0;
};
/// For a month; `hosts` as in InitOptions.
TemporaryServer MakeTemporaryServer(const std::string& folder,
                                    const std::vector<std::string>& hosts, std::int64_t now);

/// The same for a helper; its folder also has the list of what is revoked.
IssuedCertificate IssueHelper(const std::string& folder, const std::string& name,
                              const IssueOptions& options);

/// Revokes every certificate of this name, a client's or a helper's, and writes the list, also into
/// the folders of helpers that are still below the authority's. Returns how many were not revoked
/// before; refuses a name that was never issued.
std::size_t RevokeClient(const std::string& folder, const std::string& name,
                         std::int64_t now = std::time(nullptr));

AuthorityContents ReadAuthority(const std::string& folder);

}  // namespace polykern
