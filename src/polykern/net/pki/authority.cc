#include "polykern/net/pki/authority.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <map>
#include <system_error>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "polykern/core/error.h"
#include "polykern/io/private_files.h"

namespace polykern {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::int64_t kDay = 86400;
constexpr std::int64_t kClockSlack = 3600;  // other machines' clocks may be behind

std::vector<IssuedCertificate> ReadIndex(const std::string& path) {
  std::vector<IssuedCertificate> all;
  try {
    for (const Json& row : Json::parse(ReadWholeFile(path))) {
      IssuedCertificate& entry = all.emplace_back();
      entry.name = row.at("name");
      entry.serial = row.at("serial");
      entry.issued = row.at("issued");
      entry.expires = row.at("expires");
      if (!row.at("revoked").is_null()) entry.revoked = row.at("revoked").get<std::int64_t>();
    }
  } catch (const Json::exception&) {
    throw Error(path + ": is damaged; put back the last copy of the authority's folder");
  }
  return all;
}

void WriteIndex(const std::string& path, const std::vector<IssuedCertificate>& all) {
  std::string text = "[";
  for (const IssuedCertificate& entry : all) {
    const Json row{{"name", entry.name},
                   {"serial", entry.serial},
                   {"issued", entry.issued},
                   {"expires", entry.expires},
                   {"revoked", entry.revoked ? Json(*entry.revoked) : Json()}};
    text += (text.size() > 1 ? ",\n " : "\n ") + row.dump();
  }
  ReplaceFile(path, text + "\n]\n", FileMode::kSecret);
}

/// What is revoked by the list or by the index: a kill may have come between the two.
RevocationList ReadRevocations(const AuthorityPaths& paths, const std::string& authority,
                               const std::vector<IssuedCertificate>& clients) {
  RevocationList list;
  if (FileExists(paths.revocations)) {
    list = ReadRevocationList(ReadWholeFile(paths.revocations), authority, paths.revocations);
  }
  for (const IssuedCertificate& entry : clients) {
    if (entry.revoked && !std::ranges::count(list.revoked, entry.serial, &Revocation::serial)) {
      list.revoked.push_back({entry.serial, *entry.revoked});
    }
  }
  return list;
}

/// An authority that can sign, read from its folder while holding it.
class Signer {
 public:
  Signer(const std::string& folder, std::int64_t now) : paths(Checked(folder)), hold_(folder) {
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

  FolderHold hold_;
};

/// A folder under a name nobody looks for, removed with everything in it unless moved.
class NewFolder {
 public:
  explicit NewFolder(const fs::path& place) {
    std::error_code error;
    if (place.has_parent_path()) fs::create_directories(place.parent_path(), error);
    path_ = (place.parent_path() / ("." + place.filename().string() + ".XXXXXX")).string();
    if (error || mkdtemp(path_.data()) == nullptr || chmod(path_.c_str(), 0700) != 0) {
      const int reason = error ? error.value() : errno;
      path_.clear();
      throw Error(place.string() + ": the folder cannot be made (" +
                  std::generic_category().message(reason) + "); name another with " +
                  OptionName("out"));
    }
  }
  ~NewFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  const std::string& path() const { return path_; }

  /// Takes the place of `place`, at once; what was there goes away with this object.
  void MoveTo(const fs::path& place) {
    const bool exchange = FileExists(place.string());
    if (renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, place.c_str(),
                  exchange ? RENAME_EXCHANGE : RENAME_NOREPLACE) != 0) {
      throw Error(place.string() + ": the folder cannot be put in place (" +
                  std::generic_category().message(errno) + "); issue it again with " +
                  OptionName("renew") + " and another " + OptionName("out"));
    }
    SyncFolder(place.has_parent_path() ? place.parent_path().string() : ".");
    if (!exchange) path_.clear();
  }

 private:
  std::string path_;
};

/// Only a client's folder, or an empty one, may be replaced.
void CheckReplaceable(const fs::path& place) {
  if (!FileExists(place.string())) return;
  std::error_code error;
  const fs::directory_iterator files(place, error);
  const bool good = !error && std::ranges::all_of(files, [](const fs::directory_entry& entry) {
    const std::string name = entry.path().filename().string();
    return name == "ca.crt" || name == "client.crt" || name == "client.key";
  });
  if (good) return;
  throw Error(place.string() + ": is there already and not a client's folder; name another " +
              "with " + OptionName("out"));
}

std::string Format(std::int64_t seconds, const char* format) {
  const std::time_t time = seconds;
  std::tm parts{};
  std::array<char, 64> text{};
  if (gmtime_r(&time, &parts) == nullptr) return "?";
  return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

}  // namespace

AuthorityPaths::AuthorityPaths(const std::string& folder) {
  const fs::path top(folder);
  certificate = (top / "ca.crt").string();
  key = (top / "ca.key").string();
  revocations = (top / "ca.crl").string();
  server_certificate = (top / "server.crt").string();
  server_key = (top / "server.key").string();
  index = (top / "index.json").string();
  clients = (top / "clients").string();
}

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

void CheckAuthority(const std::string& folder) {
  if (FileExists(AuthorityPaths(folder).certificate)) return;
  throw Error(folder + ": there is no authority here; make one with: polykern pki init" +
              (folder == "pki" ? "" : " " + ShellSpelling("dir", folder)));
}

CertificateFacts InitAuthority(const std::string& folder, const InitOptions& options) {
  const std::vector<std::string> hosts = options.hosts.empty() ? LocalHosts() : options.hosts;
  for (const std::string& host : hosts) CheckHost(host);
  const AuthorityPaths paths(folder);
  const auto make_server = [&](const KeyPair& authority, const Validity& valid) {
    std::string key;
    if (options.renew && FileExists(paths.server_key)) {
      key = ReadWholeFile(paths.server_key);
    } else {
      key = MakeKey();
      ReplaceFile(paths.server_key, key, FileMode::kSecret);
    }
    const std::string certificate = MakeServerCertificate(authority, key, hosts, valid);
    ReplaceFile(paths.server_certificate, certificate, FileMode::kOpen);
    return ReadCertificate(certificate, paths.server_certificate);
  };
  if (options.renew) {
    const Signer signer(folder, options.now);
    return make_server(signer.pair, signer.Days(options.server_days, options.now));
  }
  const auto refuse_existing = [&] {
    if (FileExists(paths.certificate) ||
        (FileExists(paths.index) && !ReadIndex(paths.index).empty())) {
      throw Error(folder + ": there is an authority already, and it is never replaced; name " +
                  "another folder with " + OptionName("dir") +
                  ", or renew the server's certificate with " + OptionName("renew"));
    }
  };
  refuse_existing();
  MakePrivateFolder(folder);
  const FolderHold hold(folder);
  refuse_existing();
  const std::int64_t from = options.now - kClockSlack;
  const std::int64_t until = options.now + static_cast<std::int64_t>(options.days) * kDay;
  const std::int64_t server_until =
      options.now + static_cast<std::int64_t>(options.server_days) * kDay;
  const KeyPair authority = MakeAuthority({from, until});
  ReplaceFile(paths.key, authority.key, FileMode::kSecret);
  const CertificateFacts server = make_server(authority, {from, std::min(until, server_until)});
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
  for (const IssuedCertificate& entry : all) {
    if (options.renew || entry.name != name || entry.expires <= options.now) continue;
    if (std::ranges::count(revocations.revoked, entry.serial, &Revocation::serial)) continue;
    throw Error("'" + name + "' has a certificate already, issued on " + DateText(entry.issued) +
                "; give this client another name, or issue a further one with " +
                OptionName("renew"));
  }
  const fs::path place =
      fs::path(options.out.empty() ? paths.clients + "/" + name : options.out).lexically_normal();
  const fs::path target = place.has_filename() ? place : place.parent_path();
  CheckReplaceable(target);
  if (options.out.empty()) {
    MakePrivateFolder(paths.clients);
    for (const auto& entry : fs::directory_iterator(paths.clients)) {  // what killed ones left
      if (entry.path().filename().string().starts_with('.')) fs::remove_all(entry.path());
    }
  }
  NewFolder fresh(target);
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

std::string DateText(std::int64_t seconds) {
  return Format(seconds, "%Y-%m-%d");
}

std::string TimeText(std::int64_t seconds) {
  return Format(seconds, "%Y-%m-%d %H:%M:%S");
}

}  // namespace polykern
