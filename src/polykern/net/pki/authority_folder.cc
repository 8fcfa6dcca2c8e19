#include "polykern/net/pki/authority_folder.h"

#include <filesystem>

#include "polykern/core/error.h"
#include "polykern/io/files.h"

namespace polykern {

AuthorityPaths::AuthorityPaths(const std::string& folder, const std::string& keys) {
  const std::filesystem::path top(folder);
  certificate = (top / "ca.crt").string();
  key = (top / "ca.key").string();
  revocations = (top / "ca.crl").string();
  server_certificate = (top / "server.crt").string();
  server_key = ((keys.empty() ? top : std::filesystem::path(keys)) / "server.key").string();
  index = (top / "index.json").string();
  clients = (top / "clients").string();
  helpers = (top / "helpers").string();
}

void CheckAuthority(const std::string& folder) {
  if (FileExists(AuthorityPaths(folder).certificate)) return;
  throw Error(folder + ": there is no authority here; make one with: polykern pki init" +
              (folder == "pki" ? "" : " " + ShellSpelling("dir", folder)));
}

std::string StateOf(const IssuedCertificate& certificate, std::int64_t now) {
  if (certificate.revoked) return "revoked";
  return certificate.expires <= now ? "expired" : "good";
}

}  // namespace polykern
