#include <algorithm>
#include <cstdint>

#include <nlohmann/json.hpp>

#include "polykern/core/error.h"
#include "polykern/io/files.h"
#include "polykern/net/pki/authority_index_internal.h"

namespace polykern {
namespace {

using IndexJson = nlohmann::ordered_json;

Error Damaged(const std::string& path) {
  return Error(path + ": is damaged; restore the latest copy of the authority's folder");
}

}  // namespace

std::vector<IssuedCertificate> ReadIndex(const std::string& path) {
  std::vector<IssuedCertificate> all;
  try {
    for (const IndexJson& row : IndexJson::parse(ReadWholeFile(path))) {
      IssuedCertificate& entry = all.emplace_back();
      entry.name = row.at("name");
      entry.serial = row.at("serial");
      entry.issued = row.at("issued");
      entry.expires = row.at("expires");
      if (const auto role = row.find("role"); role != row.end()) {  // a client has none
        if (*role != "helper") throw Damaged(path);
        entry.role = Role::kHelper;
      }
      if (!row.at("revoked").is_null()) entry.revoked = row.at("revoked").get<std::int64_t>();
    }
  } catch (const IndexJson::exception&) {
    throw Damaged(path);
  }
  return all;
}

void WriteIndex(const std::string& path, const std::vector<IssuedCertificate>& all) {
  std::string text = "[";
  for (const IssuedCertificate& entry : all) {
    IndexJson row{{"name", entry.name},
                  {"serial", entry.serial},
                  {"issued", entry.issued},
                  {"expires", entry.expires},
                  {"revoked", entry.revoked ? IndexJson(*entry.revoked) : IndexJson()}};
    if (entry.role == Role::kHelper) row["role"] = "helper";
    text += (text.size() > 1 ? ",\n " : "\n ") + row.dump();
  }
  ReplaceFile(path, text + "\n]\n", FileMode::kSecret);
}

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

}  // namespace polykern
