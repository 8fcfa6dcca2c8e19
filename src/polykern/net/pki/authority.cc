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
#include "polykern/net/pki/signer_internal.h"

namespace polykern {
namespace {

namespace fs = std::filesystem;

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
    throw Error(folder + ": an authority already exists here, and is never replaced; name " +
                "another folder with " + OptionName("dir") +
                ", or renew the server's certificate with " + OptionName("renew"));
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
  const std::int64_t from = options.now - kCertificateClockSlack;
  const std::int64_t until = options.now + static_cast<std::int64_t>(options.days) * Signer::kDay;
  const std::int64_t server_until =
      options.now + static_cast<std::int64_t>(options.server_days) * Signer::kDay;
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
  const std::string text = MakeRevocationList(signer.pair, list, now - kCertificateClockSlack);
  ReplaceFile(paths.revocations, text, FileMode::kOpen);
  WriteIndex(paths.index, all);
  std::error_code none;  // no helper was ever issued
  for (const auto& helper : fs::directory_iterator(paths.helpers, none)) {
    const std::string copy = (helper.path() / "ca.crl").string();
    if (FileExists(copy)) ReplaceFile(copy, text, FileMode::kOpen);
  }
  return fresh;
}

AuthorityContents ReadAuthority(const std::string& folder) {
  const AuthorityPaths paths(folder);
  CheckAuthority(folder);
  const std::string authority = ReadWholeFile(paths.certificate);
  const std::vector<IssuedCertificate> all = ReadIndex(paths.index);
  AuthorityContents contents{
      .authority = ReadCertificate(authority, paths.certificate),
      .server = ReadCertificate(ReadWholeFile(paths.server_certificate), paths.server_certificate),
      .clients = {},
      .helpers = {}};
  std::map<std::string, std::int64_t> revoked;
  for (const Revocation& r : ReadRevocations(paths, authority, all).revoked) {
    revoked.emplace(r.serial, r.when);
  }
  for (IssuedCertificate entry : all) {
    if (const auto found = revoked.find(entry.serial); found != revoked.end()) {
      entry.revoked = found->second;
    }
    (entry.role == Role::kHelper ? contents.helpers : contents.clients).push_back(entry);
  }
  return contents;
}

}  // namespace polykern
