#include "polykern/net/pki/client_identity.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "polykern/core/error.h"
#include "polykern/io/files.h"
#include "polykern/net/pki/authority_folder.h"
#include "polykern/net/pki/certificates.h"
#include "polykern/net/pki/dates.h"
#include "polykern/net/pki/mask_key_file.h"

namespace polykern {

namespace {

/// The texts in a folder, and in that of its keys, as they are.
ClientIdentity TextsIn(const std::filesystem::path& folder, const std::filesystem::path& keys,
                       const std::string& whose) {
  const auto text = [](const std::filesystem::path& path) { return ReadWholeFile(path.string()); };
  const std::string mask_key = (keys / "mask.key").string();
  // A service's unit puts an empty line in the place of a key that is not there.
  return {text(folder / "ca.crt"), text(folder / (whose + ".crt")), text(keys / (whose + ".key")),
          HasText(mask_key) ? text(mask_key) : ""};
}

/// `command`: what makes such a folder for NAME.
ClientIdentity ReadIdentity(const std::filesystem::path& folder, const std::filesystem::path& keys,
                            const std::string& whose, const std::string& command,
                            std::int64_t now) {
  const std::string path = (folder / (whose + ".crt")).string();
  if (std::error_code barred; !std::filesystem::exists(path, barred) && !barred) {
    throw Error(path + ": there is no such file; make it with: " + command + "NAME (its folder " +
                "is pki/" + whose + "s/NAME)");
  }
  ClientIdentity own = TextsIn(folder, keys, whose);
  CheckKeyPair({own.certificate, own.key}, path);
  const CertificateFacts facts = ReadCertificate(own.certificate, path);
  if (facts.valid.until <= now) {
    throw Error(path + ": expired on " + DateText(facts.valid.until) + "; get a new one with `" +
                command + facts.name + " " + ShellSpelling("renew") + "`");
  }
  const std::string mask_key = (keys / "mask.key").string();
  const bool cut_off = FileExists(mask_key) && ReadWholeFile(mask_key).empty();
  if (!own.mask_key.empty() || cut_off) ReadMaskKey(own.mask_key, mask_key);
  return own;
}

}  // namespace

ClientIdentity ReadClientIdentity(const std::string& folder, std::int64_t now) {
  return ReadIdentity(folder, folder, "client", "polykern pki issue ", now);
}

ClientIdentity ReadHelperIdentity(const std::string& folder, std::int64_t now,
                                  const std::string& keys) {
  const std::string& secret = keys.empty() ? folder : keys;
  ClientIdentity own = ReadIdentity(folder, secret, "helper", "polykern pki helper ", now);
  if (own.mask_key.empty()) {
    throw Error(secret + "/mask.key: there is no such file; a helper needs its key for masks: " +
                "restore the latest copy of the folder");
  }
  return own;
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
    identities.push_back(TextsIn(clients[k], clients[k], "client"));
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
                          key, MakeMaskKey()});
  }
  return identities;
}

}  // namespace polykern
