// Copies of SQLite stores: made beside a server that writes, and put back when none does.
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "polykern/core/error.h"
#include "polykern/io/file_lock.h"
#include "polykern/io/files.h"
#include "polykern/net/configuration.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/sqlite/sqlite_store.h"
#include "polykern/net/sqlite/store_format_internal.h"

namespace polykern {
namespace {

namespace fs = std::filesystem;

/// A file in the making, removed unless it is put in its place.
class Part {
 public:
  explicit Part(const std::string& place) : path(place + ".part") {
    unlink(path.c_str());
    const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor < 0) {
      throw Error(path + ": cannot be written (" + std::generic_category().message(errno) +
                  "); name another place");
    }
    close(descriptor);
  }
  ~Part() { unlink(path.c_str()); }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  const std::string path;
};

void Sync(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool good = descriptor >= 0 && fsync(descriptor) == 0;
  if (descriptor >= 0) close(descriptor);
  if (!good) throw Error(path + ": the disk did not write it; check the disk");
}

/// The store as it is at one moment, without disturbing its writer.
StoreContents CopyStore(const std::string& from, const std::string& to) {
  {
    Database database(from, Database::Mode::kRead);
    CheckFormat(database, kStoreFormat, false);
    Statement copy(database, "VACUUM INTO ?");
    copy.Bind(1, std::string_view(to)).Run();
  }
  Sync(to);
  return ReadSqliteStore(to);
}

void Rename(const std::string& from, const std::string& to, unsigned how) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), how) == 0) return;
  throw Error(to + ": cannot be put in place (" + std::generic_category().message(errno) +
              "); check the folder");
}

/// Throws Error unless one store can take the other's place.
void CheckSameFederation(const std::string& path, const StoreContents& store,
                         const StoreContents& backup) {
  std::string text = Differences(store.configuration, backup.configuration);
  for (std::size_t k = 0; k < std::min(store.clients.size(), backup.clients.size()); ++k) {
    if (!text.empty() || store.clients[k].name == backup.clients[k].name) continue;
    text = "client " + std::to_string(k) + ": " + store.clients[k].name + " -> " +
           backup.clients[k].name;
  }
  if (text.empty()) return;
  throw Error(path + ": the backup is of another federation (" + text +
              "); restore it to a place of its own");
}

/// A server that adds noise itself would release once more what it has forgotten.
void CheckNoise(const StoreContents& backup) {
  const AlgorithmOptions options = FromTexts(backup.configuration).options;
  if (!options.epsilon || options.masking != Masking::kNone) return;
  throw Error("this federation's server adds noise itself, and would spend its " +
              OptionName("epsilon") +
              " again on what it has forgotten; start with a new store instead");
}

}  // namespace

std::uint64_t BackupSqliteStore(const std::string& path, const std::string& file) {
  std::error_code error;
  if (!fs::exists(path, error)) throw Error(path + ": there is no store here; check the path");
  if (FileExists(file)) throw Error(file + ": already exists; name another file");
  const Part part(file);
  const StoreContents contents = CopyStore(path, part.path);
  Rename(part.path, file, RENAME_NOREPLACE);
  SyncFolder(FolderOf(file));
  return contents.newest ? contents.newest->steps : 0;
}

std::uint64_t RestoreSqliteStore(const std::string& file, const std::string& path) {
  if (!FileExists(file)) throw Error(file + ": there is no backup here; check the path");
  const Part part(path);
  const StoreContents backup = CopyStore(file, part.path);
  CheckNoise(backup);
  const bool replaces = HasSqliteStore(path);
  if (replaces) {
    // No other process uses it, and the log beside it is merged into it.
    CheckSameFederation(path, SqliteStoreKind().open(path, nullptr)->Contents(), backup);
  }
  const FileLock lock(path + "-lock");
  if (lock.state() != FileLock::State::kHeld || FileExists(path + "-wal")) {
    throw Error(path + ": another process is using the store; stop it first");
  }
  Rename(part.path, path, FileExists(path) ? RENAME_EXCHANGE : RENAME_NOREPLACE);
  if (replaces) Rename(part.path, path + "-before", 0);
  SyncFolder(FolderOf(path));
  return backup.newest ? backup.newest->steps : 0;
}

}  // namespace polykern
