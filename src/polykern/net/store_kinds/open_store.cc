#include "polykern/net/store_kinds/open_store.h"

#include <array>
#include <filesystem>
#include <system_error>

#include "polykern/core/error.h"
#include "polykern/net/front/postgresql_front.h"
#include "polykern/net/sqlite/sqlite_store.h"
#include "polykern/net/store/memory_store.h"

namespace polykern {
namespace {

/// Another database is one more in the list; the first is for whatever names no other.
std::array<StoreKind, 3> AllKinds() {
  return {SqliteStoreKind(), MemoryStoreKind(), SharedPostgresqlKind()};
}

/// A URL, understood.
struct StoreUrl {
  StoreKind kind;
  std::string place;
};

StoreUrl Understand(const std::string& url) {
  if (url.empty()) throw Error(OptionName("store") + " names no file");
  const auto kinds = AllKinds();
  for (const StoreKind& kind : kinds) {
    const std::string prefix = std::string(kind.scheme) + ":";
    if (url.starts_with(prefix)) return {kind, url.substr(prefix.size())};
  }
  return {kinds.front(), url};
}

}  // namespace

std::unique_ptr<Store> OpenStore(const std::string& url, const StoreConfiguration& configuration) {
  const auto [kind, place] = Understand(url);
  return kind.open(place, &configuration);
}

std::unique_ptr<Store> OpenStore(const std::string& url) {
  const auto [kind, place] = Understand(url);
  return kind.open(place, nullptr);
}

std::unique_ptr<Store> OpenToNote(const std::string& url) {
  const auto [kind, place] = Understand(url);
  return kind.open_to_note(place);
}

StoreContents ReadStore(const std::string& url) {
  const auto [kind, place] = Understand(url);
  return kind.read(place);
}

bool HasStore(const std::string& url) {
  const auto [kind, place] = Understand(url);
  return kind.exists(place);
}

std::uint64_t BackupStore(const std::string& url, const std::string& file) {
  const auto [kind, place] = Understand(url);
  return kind.backup(place, file);
}

std::uint64_t RestoreStore(const std::string& file, const std::string& url) {
  const auto [kind, place] = Understand(url);
  return kind.restore(file, place);
}

std::optional<std::string> StoreFile(const std::string& url) {
  const auto [kind, place] = Understand(url);
  return kind.is_file ? std::optional(place) : std::nullopt;
}

std::optional<std::string> FrontPlace(const std::string& url) {
  const auto [kind, place] = Understand(url);
  return kind.has_fronts ? std::optional(place) : std::nullopt;
}

std::string StorePath(const std::string& folder_or_url) {
  const std::filesystem::path path(folder_or_url);
  std::error_code error;
  return std::filesystem::is_directory(path, error) ? (path / "store.db").string() : folder_or_url;
}

}  // namespace polykern
