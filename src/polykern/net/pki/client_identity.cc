#include "polykern/net/pki/client_identity.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "polykern/core/error.h"
#include "polykern/io/files.h"
#include "polykern/net/pki/authority_folder.h"
#include "polykern/net/pki/certificates.h"
#include "polykern/net/pki/dates.h"

namespace polykern {

ClientIdentity ReadClientIdentity(const std::string& folder, std::int64_t now) {
  const std::filesystem::path place(folder);
  const std::string path = (place / "client.crt").string();
  if (std::error_code none; !std::filesystem::exists(path, none)) {
    throw Error(path + ": there is no such file; make it with: polykern pki issue NAME (its " +
                "folder is pki/clients/NAME)");
  }
  const KeyPair own{ReadWholeFile(path), ReadWholeFile((place / "client.key").string())};
  CheckKeyPair(own, path);
  const CertificateFacts facts = ReadCertificate(own.certificate, path);
  if (facts.valid.until <= now) {
    throw Error(path + ": expired on " + DateText(facts.valid.until) +
                "; get a new one with `polykern pki issue " + facts.name + " " +
                ShellSpelling("renew") + "`");
  }
  return {ReadWholeFile((place / "ca.crt").string()), own.certificate, own.key};
}

std::vector<ClientIdentity> ReadClientIdentities(const std::string& folder, std::size_t count) {
  std::vector<std::string> clients;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (std::filesystem::exists(entry.path() / "client.key", error)) {
      clients.push_back(entry.path().string());
    }
  }
  std::ranges::sort(clients);
  if (clients.size() < count) {
    throw Error(folder + ": there are " + std::to_string(clients.size()) +
                " clients' folders, not " + std::to_string(count) +
                "; name the folder that holds them (pki/clients), or lower " +
                OptionName("clients"));
  }
  std::vector<ClientIdentity> identities;
  for (std::size_t k = 0; k < count; ++k) {
    identities.push_back({ReadWholeFile(clients[k] + "/ca.crt"),
                          ReadWholeFile(clients[k] + "/client.crt"),
                          ReadWholeFile(clients[k] + "/client.key")});
  }
  return identities;
}

std::vector<ClientIdentity> MakeClientIdentities(const std::string& authority_folder,
                                                 const std::string& name, std::size_t count,
                                                 std::int64_t now) {
  constexpr std::int64_t kDay = 86'400;
  CheckAuthority(authority_folder);
  const AuthorityPaths paths(authority_folder);
  const KeyPair authority{ReadWholeFile(paths.certificate), ReadWholeFile(paths.key)};
  std::vector<ClientIdentity> identities;
  for (std::size_t k = 0; k < count; ++k) {
    const std::string key = MakeKey();
    identities.push_back({authority.certificate,
                          MakeClientCertificate(authority, key, name + "-" + std::to_string(k),
                                                {now - kDay, now + kDay}),
                          key});
  }
  return identities;
}

}  // namespace polykern
