#include "polykern/net/pki/authority.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <span>

#include <unistd.h>

#include "polykern/core/error.h"
#include "polykern/io/file_lock.h"
#include "polykern/io/files.h"
#include "polykern/net/pki/authority_index_internal.h"
#include "polykern/net/pki/client_folder_internal.h"

namespace polykern {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kDay = 86400;
constexpr std::int64_t kClockSlack = 3600;  // other machines' clocks may be behind

/// An authority that can sign, read from its folder while holding it.
class Signer {
 public:
  Signer(const std::string& folder, std::int64_t now)
      : paths(Checked(folder)), hold_(FileLock::Wait(folder)) {
    pair.certificate = ReadWholeFile(paths.certificate);
    const CertificateFacts facts = ReadCertificate(pair.certificate, paths.certificate);
    pair.key = ReadWholeFile(paths.key);
    CheckKeyPair(pair, paths.key);
    until = facts.valid.until;
    if (until <= now) {
      throw Error(paths.certificate + ": the authority expired on " + DateText(until) +
                  "; make a new one in another folder with: polykern pki init " +
                  ShellSpelling("dir", "FOLDER"));
    }
  }

  /// From now on, for so many days, but not longer than the authority.
  Validity Days(std::size_t days, std::int64_t now) const {
    const auto wanted = static_cast<std::int64_t>(days);
    return {now - kClockSlack, wanted < (until - now) / kDay ? now + wanted * kDay : until};
  }

  const AuthorityPaths paths;
  KeyPair pair;
  std::int64_t until = 0;

 private:
  static AuthorityPaths Checked(const std::string& folder) {
    CheckAuthority(folder);
    return AuthorityPaths(folder);
  }

  FileLock hold_;
};

std::string MakeServerKey(const AuthorityPaths& paths) {
  const std::string key = MakeKey();
  ReplaceFile(paths.server_key, key, FileMode::kSecret);
  return key;
}

CertificateFacts MakeServer(const AuthorityPaths& paths, const KeyPair& authority,
                            const std::string& key, std::span<const std::string> hosts,
                            const Validity& valid) {
  const std::string certificate = MakeServerCertificate(authority, key, hosts, valid);
  ReplaceFile(paths.server_certificate, certificate, FileMode::kOpen);
  return ReadCertificate(certificate, paths.server_certificate);
}

void RefuseExisting(const std::string& folder) {
  const AuthorityPaths paths(folder);
  if (FileExists(paths.certificate) ||
      (FileExists(paths.index) && !ReadIndex(paths.index).empty())) {
    throw Error(folder + ": there is an authority already, and it is never replaced; name " +
                "another folder with " + OptionName("dir") +
                ", or renew the server's certificate with " + OptionName("renew"));
  }
}

/// Throws Error if this name has a certificate that is neither revoked nor expired.
void RefuseSecond(const std::string& name, const std::vector<IssuedCertificate>& all,
                  const RevocationList& revocations, std::int64_t now) {
  for (const IssuedCertificate& entry : all) {
    if (entry.name != name || entry.expires <= now) continue;
    if (std::ranges::count(revocations.revoked, entry.serial, &Revocation::serial)) continue;
    throw Error("'" + name + "' has a certificate already, issued on " + DateText(entry.issued) +
                "; give this client another name, or issue a further one with " +
                OptionName("renew"));
  }
}

}  // namespace

std::vector<std::string> LocalHosts() {
  std::vector<std::string> hosts{"localhost", "127.0.0.1", "::1"};
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return hosts;
  try {
    CheckHost(name.data());
    if (name.data() != hosts.front()) hosts.emplace_back(name.data());
  } catch (const Error&) {  // a name that no certificate can carry
  }
  return hosts;
}

CertificateFacts InitAuthority(const std::string& folder, const InitOptions& options) {
  const std::vector<std::string> hosts = options.hosts.empty() ? LocalHosts() : options.hosts;
  for (const std::string& host : hosts) CheckHost(host);
  const AuthorityPaths paths(folder);
  if (options.renew) {
    const Signer signer(folder, options.now);
    const std::string key =
        FileExists(paths.server_key) ? ReadWholeFile(paths.server_key) : MakeServerKey(paths);
    return MakeServer(paths, signer.pair, key, hosts,
                      signer.Days(options.server_days, options.now));
  }
  RefuseExisting(folder);
  MakePrivateFolder(folder);
  const FileLock hold = FileLock::Wait(folder);
  RefuseExisting(folder);
  const std::int64_t from = options.now - kClockSlack;
  const std::int64_t until = options.now + static_cast<std::int64_t>(options.days) * kDay;
  const std::int64_t server_until =
      options.now + static_cast<std::int64_t>(options.server_days) * kDay;
  const KeyPair authority = MakeAuthority({from, until});
  ReplaceFile(paths.key, authority.key, FileMode::kSecret);
  const CertificateFacts server = MakeServer(paths, authority, MakeServerKey(paths), hosts,
                                             {from, std::min(until, server_until)});
  ReplaceFile(paths.revocations, MakeRevocationList(authority, {.revoked = {}, .number = 1}, from),
              FileMode::kOpen);
  WriteIndex(paths.index, {});
  MakePrivateFolder(paths.clients);
  ReplaceFile(paths.certificate, authority.certificate, FileMode::kOpen);
  return server;
}

IssuedCertificate IssueClient(const std::string& folder, const std::string& name,
                              const IssueOptions& options) {
  if (!IsClientName(name)) {
    throw Error("'" + name + "' cannot be a client's name: use 1 to 64 letters, digits, '.', '_' " +
                "and '-', with a letter, a digit or '_' in front");
  }
  const Signer signer(folder, options.now);
  const AuthorityPaths& paths = signer.paths;
  std::vector<IssuedCertificate> all = ReadIndex(paths.index);
  const RevocationList revocations = ReadRevocations(paths, signer.pair.certificate, all);
  if (!options.renew) RefuseSecond(name, all, revocations, options.now);
  const fs::path place =
      fs::path(options.out.empty() ? paths.Client(name) : options.out).lexically_normal();
  const fs::path target = place.has_filename() ? place : place.parent_path();
  CheckReplaceable(target);
  if (options.out.empty()) {
    MakePrivateFolder(paths.clients);
    for (const auto& entry : fs::directory_iterator(paths.clients)) {  // what killed ones left
      if (entry.path().filename().string().starts_with('.')) fs::remove_all(entry.path());
    }
  }
  NewClientFolder fresh(target);
  const std::string key = MakeKey();
  const Validity valid = signer.Days(options.days, options.now);
  const std::string certificate = MakeClientCertificate(signer.pair, key, name, valid);
  ReplaceFile(fresh.path() + "/client.key", key, FileMode::kSecret);
  ReplaceFile(fresh.path() + "/ca.crt", signer.pair.certificate, FileMode::kOpen);
  const IssuedCertificate issued{
      name, ReadCertificate(certificate, name).serial, options.now, valid.until, {}};
  all.push_back(issued);
  WriteIndex(paths.index, all);  // before the certificate is anywhere: it can be revoked
  ReplaceFile(fresh.path() + "/client.crt", certificate, FileMode::kOpen);
  fresh.MoveTo(target);
  return issued;
}

std::size_t RevokeClient(const std::string& folder, const std::string& name, std::int64_t now) {
  const Signer signer(folder, now);
  const AuthorityPaths& paths = signer.paths;
  std::vector<IssuedCertificate> all = ReadIndex(paths.index);
  RevocationList list = ReadRevocations(paths, signer.pair.certificate, all);
  if (!std::ranges::count(all, name, &IssuedCertificate::name)) {
    throw Error("'" + name + "' was never issued here; see: polykern pki list " +
                ShellSpelling("dir", folder));
  }
  std::size_t fresh = 0;
  for (IssuedCertificate& entry : all) {
    if (entry.name != name) continue;
    if (!std::ranges::count(list.revoked, entry.serial, &Revocation::serial)) {
      list.revoked.push_back({entry.serial, now});
      ++fresh;
    }
    if (!entry.revoked) entry.revoked = now;
  }
  ++list.number;
  ReplaceFile(paths.revocations, MakeRevocationList(signer.pair, list, now - kClockSlack),
              FileMode::kOpen);
  WriteIndex(paths.index, all);
  return fresh;
}

AuthorityContents ReadAuthority(const std::string& folder) {
  const AuthorityPaths paths(folder);
  CheckAuthority(folder);
  const std::string authority = ReadWholeFile(paths.certificate);
  AuthorityContents contents{
      .authority = ReadCertificate(authority, paths.certificate),
      .server = ReadCertificate(ReadWholeFile(paths.server_certificate), paths.server_certificate),
      .clients = ReadIndex(paths.index)};
  std::map<std::string, std::int64_t> revoked;
  for (const Revocation& r : ReadRevocations(paths, authority, contents.clients).revoked) {
    revoked.emplace(r.serial, r.when);
  }
  for (IssuedCertificate& entry : contents.clients) {
    if (const auto found = revoked.find(entry.serial); found != revoked.end()) {
      entry.revoked = found->second;
    }
  }
  return contents;
}

}  // namespace polykern
