#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace polykern {

/// Where a federation's certificate authority is kept: a folder that only its owner can enter. Any
/// thread may call anything.
///
///   ca.crt ca.key          the authority; ca.crt is written last: with it, the authority exists
///   ca.crl                 what is revoked, signed; servers read it
///   server.crt server.key  the server's own certificate
///   index.json             every client certificate ever issued: name, serial, times
///   clients/NAME/          ca.crt client.crt client.key, to be copied to the device

/// Paths below the folder.
struct AuthorityPaths {
  explicit AuthorityPaths(const std::string& folder);
  std::string certificate, key, revocations, server_certificate, server_key, index, clients;

  /// Of the client of this name.
  std::string Client(const std::string& name) const { return clients + "/" + name; }
};

/// Throws Error, with the command that makes one, if there is no authority in the folder.
void CheckAuthority(const std::string& folder);

/// A client's certificate, as the index has it. Times are seconds since 1970.
struct IssuedCertificate {
  std::string name;
  std::string serial;
  std::int64_t issued = 0;
  std::int64_t expires = 0;
  std::optional<std::int64_t> revoked = {};
};

/// In a word: "good", "revoked" or, at the time `now`, "expired".
std::string StateOf(const IssuedCertificate& certificate, std::int64_t now);

}  // namespace polykern
