#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "polykern/net/pki/role.h"

namespace polykern {

/// Where a federation's certificate authority is kept: a folder that only its owner can enter. Any
/// thread may call anything.
///
///   ca.crt ca.key          the authority; ca.crt is written last: with it, the authority exists
///   ca.crl                 what is revoked, signed; servers read it
///   server.crt server.key  the server's own certificate
///   index.json             every client's or helper's certificate ever issued: name, serial, times
///   clients/NAME/          ca.crt client.crt client.key mask.key, to be copied to the device
///   helpers/NAME/          ca.crt ca.crl helper.crt helper.key mask.key, for the helper

/// Paths below the folder; `keys`: the folder of server.key, if that is another one.
struct AuthorityPaths {
  explicit AuthorityPaths(const std::string& folder, const std::string& keys = {});
  std::string certificate, key, revocations, server_certificate, server_key, index, clients,
      helpers;

  /// Of the client, or the helper, of this name.
  std::string Client(const std::string& name) const { return clients + "/" + name; }
  std::string Helper(const std::string& name) const { return helpers + "/" + name; }
};

/// Throws Error, with the command that makes one, if there is no authority in the folder.
void CheckAuthority(const std::string& folder);

/// A client's or helper's certificate, as the index has it. Times are seconds since 1970.
struct IssuedCertificate {
  std::string name;
  std::string serial;
  std::int64_t issued = 0;
  std::int64_t expires = 0;
  std::optional<std::int64_t> revoked = {};
  Role role = Role::kClient;
};

/// In a word: "good", "revoked" or, at the time `now`, "expired".
std::string StateOf(const IssuedCertificate& certificate, std::int64_t now);

}  // namespace polykern
