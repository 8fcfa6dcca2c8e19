#include <algorithm>
#include <filesystem>

#include "polykern/core/error.h"
#include "polykern/io/files.h"
#include "polykern/net/pki/authority.h"
#include "polykern/net/pki/authority_index_internal.h"
#include "polykern/net/pki/client_folder_internal.h"
#include "polykern/net/pki/mask_key_file.h"
#include "polykern/net/pki/signer_internal.h"

namespace polykern {
namespace {

namespace fs = std::filesystem;

bool IsRevoked(const std::string& serial, const RevocationList& revocations) {
  return std::ranges::count(revocations.revoked, serial, &Revocation::serial) > 0;
}

/// Throws Error unless a certificate of this name and role may be issued.
void CheckName(const std::string& name, Role role, const std::vector<IssuedCertificate>& all) {
  const std::string whose = role == Role::kHelper ? "helper" : "client";
  if (!IsClientName(name)) {
    throw Error("'" + name + "' cannot be a " + whose + "'s name: use 1 to 64 letters, digits, " +
                "'.', '_' and '-', with a letter, a digit or '_' in front");
  }
  const auto other = std::ranges::find_if(all, [&](const IssuedCertificate& entry) {
    return entry.name == name && entry.role != role;
  });
  if (other == all.end()) return;
  throw Error("'" + name + "' is the name of a " +
              (role == Role::kHelper ? "client; give the helper" : "helper; give the client") +
              " another");
}

/// Throws Error if this name has a certificate that is neither revoked nor expired.
void RefuseSecond(const std::string& name, const std::vector<IssuedCertificate>& all,
                  const RevocationList& revocations, std::int64_t now) {
  for (const IssuedCertificate& entry : all) {
    if (entry.name != name || entry.expires <= now) continue;
    if (IsRevoked(entry.serial, revocations)) continue;
    throw Error("'" + name + "' has a certificate already, issued on " + DateText(entry.issued) +
                "; take another name, or issue a further one with " + OptionName("renew"));
  }
}

/// The mask key in a folder of this name. None: it has none, it is another's, or its certificate is
/// revoked, so that others may have the key.
std::string KeptMaskKey(const fs::path& folder, const std::string& stem, const std::string& name,
                        const RevocationList& revocations) {
  const std::string path = (folder / "mask.key").string();
  const std::string beside = (folder / (stem + ".crt")).string();
  if (!FileExists(path) || !FileExists(beside)) return {};
  const CertificateFacts facts = ReadCertificate(ReadWholeFile(beside), beside);
  if (facts.name != name || IsRevoked(facts.serial, revocations)) return {};
  const std::string key = ReadWholeFile(path);
  ReadMaskKey(key, path);
  return key;
}

/// Without what killed processes left in it.
void MakeHome(const std::string& home) {
  MakePrivateFolder(home);
  for (const auto& entry : fs::directory_iterator(home)) {
    if (entry.path().filename().string().starts_with('.')) fs::remove_all(entry.path());
  }
}

/// `make`: the certificate, from a key and its validity.
template <typename Maker>
IssuedCertificate Issue(const std::string& folder, const std::string& name, Role role,
                        const IssueOptions& options, Maker make) {
  const Signer signer(folder, options.now);
  const AuthorityPaths& paths = signer.paths;
  std::vector<IssuedCertificate> all = ReadIndex(paths.index);
  const RevocationList revocations = ReadRevocations(paths, signer.pair.certificate, all);
  CheckName(name, role, all);
  if (!options.renew) RefuseSecond(name, all, revocations, options.now);
  const std::string stem = role == Role::kHelper ? "helper" : "client";
  const fs::path usual = role == Role::kHelper ? paths.Helper(name) : paths.Client(name);
  const fs::path place = options.out.empty() ? usual : fs::path(options.out).lexically_normal();
  const fs::path target = place.has_filename() ? place : place.parent_path();
  CheckReplaceable(target, stem);
  std::string mask_key;
  if (options.renew) mask_key = KeptMaskKey(target, stem, name, revocations);
  if (options.renew && mask_key.empty()) mask_key = KeptMaskKey(usual, stem, name, revocations);
  if (options.out.empty()) MakeHome(usual.parent_path().string());
  NewClientFolder fresh(target);
  const std::string key = MakeKey();
  const Validity valid = options.valid > 0 ? signer.Seconds(options.valid, options.now)
                                           : signer.Days(options.days, options.now);
  const std::string certificate = make(signer.pair, key, valid);
  ReplaceFile(fresh.path() + "/" + stem + ".key", key, FileMode::kSecret);
  ReplaceFile(fresh.path() + "/mask.key", mask_key.empty() ? MakeMaskKey() : mask_key,
              FileMode::kSecret);
  ReplaceFile(fresh.path() + "/ca.crt", signer.pair.certificate, FileMode::kOpen);
  if (role == Role::kHelper) {
    ReplaceFile(fresh.path() + "/ca.crl", ReadWholeFile(paths.revocations), FileMode::kOpen);
  }
  const IssuedCertificate issued{
      name, ReadCertificate(certificate, name).serial, options.now, valid.until, {}, role};
  all.push_back(issued);
  WriteIndex(paths.index, all);  // before the certificate is anywhere: it can be revoked
  ReplaceFile(fresh.path() + "/" + stem + ".crt", certificate, FileMode::kOpen);
  fresh.MoveTo(target);
  return issued;
}

}  // namespace

IssuedCertificate IssueClient(const std::string& folder, const std::string& name,
                              const IssueOptions& options) {
  return Issue(folder, name, Role::kClient, options,
               [&](const KeyPair& authority, const std::string& key, const Validity& valid) {
                 return MakeClientCertificate(authority, key, name, valid);
               });
}

std::string RenewClient(const std::string& folder, const std::string& certificate,
                        std::int64_t valid, std::int64_t now) {
  const Signer signer(folder, now);
  const CertificateFacts old = ReadCertificate(certificate, "the certificate");
  std::vector<IssuedCertificate> all = ReadIndex(signer.paths.index);
  const auto known = std::ranges::find(all, old.serial, &IssuedCertificate::serial);
  if (known == all.end() || known->name != old.name || known->role != Role::kClient) {
    throw Error("the certificate is not in the authority's index");
  }
  if (StateOf(*known, now) != "good") {
    throw Error("the certificate of '" + old.name + "' is " + StateOf(*known, now));
  }
  const Validity span = signer.Seconds(valid, now);
  const std::string fresh = RenewClientCertificate(signer.pair, certificate, span);
  std::erase_if(all, [&](const IssuedCertificate& entry) {
    return entry.name == old.name && entry.expires <= now && !entry.revoked;
  });
  all.push_back(
      {old.name, ReadCertificate(fresh, old.name).serial, now, span.until, {}, Role::kClient});
  WriteIndex(signer.paths.index, all);
  return fresh;
}

TemporaryServer MakeTemporaryServer(const std::string& folder,
                                    const std::vector<std::string>& hosts, std::int64_t now) {
  constexpr std::int64_t kMonth = 30 * Signer::kDay;
  const Signer signer(folder, now);
  const Validity valid = signer.Seconds(kMonth, now);
  const std::string key = MakeKey();
  return {
      {MakeServerCertificate(signer.pair, key, hosts.empty() ? LocalHosts() : hosts, valid), key},
      signer.pair.certificate,
      valid.until};
}

IssuedCertificate IssueHelper(const std::string& folder, const std::string& name,
                              const IssueOptions& options) {
  const std::vector<std::string> hosts = options.hosts.empty() ? LocalHosts() : options.hosts;
  for (const std::string& host : hosts) CheckHost(host);
  return Issue(folder, name, Role::kHelper, options,
               [&](const KeyPair& authority, const std::string& key, const Validity& valid) {
                 return MakeHelperCertificate(authority, key, name, hosts, valid);
               });
}

}  // namespace polykern
