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

/// Where an identity's texts are.
struct IdentityPaths {
  IdentityPaths(const std::filesystem::path& folder, const std::filesystem::path& keys,
                const std::string& whose)
      : authority((folder / "ca.crt").string()),
        certificate((folder / (whose + ".crt")).string()),
        key((keys / (whose + ".key")).string()),
        mask_key((keys / "mask.key").string()) {}

  std::string authority, certificate, key, mask_key;
};

/// A service's unit puts an empty line in the place of a file that is not there.
std::string TextOf(const std::string& path) {
  return HasText(path) ? ReadWholeFile(path) : "";
}

ClientIdentity TextsIn(const IdentityPaths& paths) {
  return {ReadWholeFile(paths.authority), ReadWholeFile(paths.certificate),
          ReadWholeFile(paths.key), TextOf(paths.mask_key)};
}

/// Throws Error that names the file which is missing or damaged; `made_by`: the command that makes
/// all of them, and where.
ClientIdentity CheckedTexts(const IdentityPaths& paths, const std::string& made_by) {
  for (const std::string& path : {paths.certificate, paths.authority, paths.key}) {
    if (HasText(path)) continue;
    throw Error(path + ": there is no such file; make it with: " + made_by);
  }
  ClientIdentity own = TextsIn(paths);
  CheckKeyPair({own.certificate, own.key}, paths.certificate, paths.key);
  ReadCertificate(own.authority, paths.authority);
  return own;
}

/// `command`: what makes such a folder for NAME.
ClientIdentity ReadIdentity(const IdentityPaths& paths, const std::string& whose,
                            const std::string& command, std::int64_t now) {
  ClientIdentity own =
      CheckedTexts(paths, command + "NAME (its folder is pki/" + whose + "s/NAME)");
  const CertificateFacts facts = ReadCertificate(own.certificate, paths.certificate);
  if (facts.valid.until <= now) {
    throw Error(paths.certificate + ": expired on " + DateText(facts.valid.until) +
                "; get a new one with `" + command + facts.name + " " + ShellSpelling("renew") +
                "`");
  }
  const bool cut_off = FileExists(paths.mask_key) && ReadWholeFile(paths.mask_key).empty();
  if (!own.mask_key.empty() || cut_off) ReadMaskKey(own.mask_key, paths.mask_key);
  return own;
}

}  // namespace

ClientIdentity ReadClientIdentity(const std::string& folder, std::int64_t now) {
  return ReadIdentity({folder, folder, "client"}, "client", "polykern pki issue ", now);
}

ClientIdentity ReadHelperIdentity(const std::string& folder, std::int64_t now,
                                  const std::string& keys) {
  const IdentityPaths paths(folder, keys.empty() ? folder : keys, "helper");
  ClientIdentity own = ReadIdentity(paths, "helper", "polykern pki helper ", now);
  if (own.mask_key.empty()) {
    throw Error(paths.mask_key + ": there is no such file; a helper needs its key for masks: " +
                "restore the latest copy of the folder");
  }
  return own;
}

ClientIdentity ReadServerIdentity(const std::string& folder, const std::string& keys) {
  return CheckedTexts({folder, keys.empty() ? folder : keys, "server"},
                      "polykern pki init (its folder is pki)");
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
    identities.push_back(TextsIn({clients[k], clients[k], "client"}));
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
