#include "polykern/net/store/open_store.h"

#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "polykern/core/error.h"
#include "polykern/net/front/postgresql_front.h"
#include "polykern/net/postgresql/postgresql_store.h"
#include "polykern/net/sqlite/sqlite_store.h"
#include "polykern/net/store/memory_store.h"

namespace polykern {
namespace {

/// What kind of store it is, and where. Another database is one more in the list; the first is for
/// whatever names no other.
std::pair<StoreKind, std::string> KindOf(const std::string& url) {
  if (url.empty()) throw Error(OptionName("store") + " names no file");
  const std::array kinds = {SqliteStoreKind(), MemoryStoreKind(), PostgresqlStoreKind()};
  for (const StoreKind& kind : kinds) {
    const std::string prefix = std::string(kind.scheme) + ":";
    if (url.starts_with(prefix)) return {kind, url.substr(prefix.size())};
  }
  return {kinds.front(), url};
}

/// Of a kind that knows no backup.
Error NoFile(const std::string& url, const StoreKind& kind) {
  return Error(kind.scheme == "memory"
                   ? url + ": there is no store here; name a file"
                   : "a database is backed up and restored with its own tools, such as pg_dump");
}

}  // namespace

std::unique_ptr<Store> OpenStore(const std::string& url, const StoreConfiguration& configuration) {
  const auto [kind, place] = KindOf(url);
  return kind.open(place, &configuration);
}

std::unique_ptr<Store> OpenStore(const std::string& url) {
  const auto [kind, place] = KindOf(url);
  return kind.open(place, nullptr);
}

std::unique_ptr<Store> OpenToNote(const std::string& url) {
  const auto [kind, place] = KindOf(url);
  if (kind.scheme != "postgresql") return kind.open(place, nullptr);
  return JoinFronts({.place = place, .number = NewFrontNumber()}, kind.read(place).configuration);
}

StoreContents ReadStore(const std::string& url) {
  const auto [kind, place] = KindOf(url);
  return kind.read(place);
}

bool HasStore(const std::string& url) {
  const auto [kind, place] = KindOf(url);
  return kind.exists(place);
}

std::uint64_t BackupStore(const std::string& url, const std::string& file) {
  const auto [kind, place] = KindOf(url);
  if (kind.backup == nullptr) throw NoFile(url, kind);
  return kind.backup(place, file);
}

std::uint64_t RestoreStore(const std::string& file, const std::string& url) {
  const auto [kind, place] = KindOf(url);
  if (kind.restore == nullptr) throw NoFile(url, kind);
  return kind.restore(file, place);
}

std::string StorePath(const std::string& folder_or_url) {
  const std::filesystem::path path(folder_or_url);
  std::error_code error;
  return std::filesystem::is_directory(path, error) ? (path / "store.db").string() : folder_or_url;
}

}  // namespace polykern
