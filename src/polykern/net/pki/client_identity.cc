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

/// The texts in a folder, as they are.
ClientIdentity TextsIn(const std::filesystem::path& folder, const std::string& whose) {
  const auto text = [&](const std::string& file) {
    return ReadWholeFile((folder / file).string());
  };
  const bool masks = FileExists((folder / "mask.key").string());
  return {text("ca.crt"), text(whose + ".crt"), text(whose + ".key"),
          masks ? text("mask.key") : ""};
}

/// `command`: what makes such a folder for NAME.
ClientIdentity ReadIdentity(const std::filesystem::path& folder, const std::string& whose,
                            const std::string& command, std::int64_t now) {
  const std::string path = (folder / (whose + ".crt")).string();
  if (std::error_code none; !std::filesystem::exists(path, none)) {
    throw Error(path + ": there is no such file; make it with: " + command + "NAME (its folder " +
                "is pki/" + whose + "s/NAME)");
  }
  ClientIdentity own = TextsIn(folder, whose);
  CheckKeyPair({own.certificate, own.key}, path);
  const CertificateFacts facts = ReadCertificate(own.certificate, path);
  if (facts.valid.until <= now) {
    throw Error(path + ": expired on " + DateText(facts.valid.until) + "; get a new one with `" +
                command + facts.name + " " + ShellSpelling("renew") + "`");
  }
  const std::string mask_key = (folder / "mask.key").string();
  if (FileExists(mask_key)) ReadMaskKey(own.mask_key, mask_key);
  return own;
}

}  // namespace

ClientIdentity ReadClientIdentity(const std::string& folder, std::int64_t now) {
  return ReadIdentity(folder, "client", "polykern pki issue ", now);
}

ClientIdentity ReadHelperIdentity(const std::string& folder, std::int64_t now) {
  ClientIdentity own = ReadIdentity(folder, "helper", "polykern pki helper ", now);
  if (own.mask_key.empty()) {
    throw Error(folder + "/mask.key: there is no such file; a helper needs its key for masks: " +
                "put back the last copy of the folder");
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
    identities.push_back(TextsIn(clients[k], "client"));
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
