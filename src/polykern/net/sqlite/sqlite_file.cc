#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "polykern/core/error.h"
#include "polykern/net/sqlite/sqlite_file_internal.h"

namespace polykern {
namespace {

namespace fs = std::filesystem;

/// Held by the one that writes; readers do not need it.
FileLock Hold(const std::string& file, const std::string& path, const std::string& what) {
  FileLock lock(file);
  if (lock.state() == FileLock::State::kHeld) return lock;
  throw Error(path + ": another process is using the " + what + "; stop it first");
}

/// A file of its own, beside the database that the path leads to, whatever links are on the way.
FileLock HoldForWriting(const std::string& path, const std::string& what) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(path, error);
  return Hold((error ? path : real.string()) + "-lock", path, what);
}

/// Closed to others from its first byte: SQLite's own files get the same mode.
void MakePrivate(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor >= 0) close(descriptor);
}

const std::string& Prepare(const std::string& path, const std::string& what, bool make) {
  std::error_code error;
  if (make) {
    MakePrivate(path);
  } else if (!fs::exists(path, error)) {
    throw Error(path + ": there is no " + what + " here; check the path");
  }
  return path;
}

}  // namespace

bool IsEmptyDatabase(Database& database) {
  return database.Number("PRAGMA application_id") == 0 &&
         database.Number("PRAGMA user_version") == 0 &&
         database.Number("SELECT count(*) FROM sqlite_schema") == 0;
}

void CheckFormat(Database& database, const SqliteFormat& format, bool empty_is_good) {
  if (empty_is_good && IsEmptyDatabase(database)) return;
  const std::string& path = database.path();
  const std::string& what = database.what();
  const std::int64_t application = database.Number("PRAGMA application_id");
  const std::int64_t version = database.Number("PRAGMA user_version");
  if (application != format.application || version < 1) {
    throw Error(path + ": is not a " + what + " of polykern; name another file");
  }
  if (version > format.version) {
    throw Error(path + ": the " + what + " has version " + std::to_string(version) +
                ", made by a newer polykern; this one knows " + std::to_string(format.version) +
                "; upgrade this polykern");
  }
  Statement check(database, "PRAGMA quick_check(1)");
  if (!check.Next() || check.Text(0) != "ok") {
    std::string found = check.Text(0);
    for (char& c : found) c = c == '\n' ? ' ' : c;
    throw Error(path + ": the " + what + " is damaged (" + found + "); " + database.remedy());
  }
}

OwnedDatabase::OwnedDatabase(const std::string& path, const FileWords& words,
                             const SqliteFormat& format, const std::function<void(Database&)>& fill)
    : lock_(HoldForWriting(path, words.what)),
      database_(Prepare(path, words.what, fill != nullptr), Database::Mode::kWrite, words) {
  CheckFormat(database_, format, fill != nullptr);
  database_lock_.emplace(Hold(path, path, words.what));
  // Large pages: a state of megabytes takes fewer writes. Then the log file, a wait for the disk
  // with every commit, and half a MiB of pages in memory: what is written is seldom read again.
  database_.Run(
      "PRAGMA page_size = 16384; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
      "PRAGMA cache_size = -512; PRAGMA foreign_keys = ON");
  if (database_.Number("PRAGMA user_version") != 0) return;
  Transaction transaction(database_);
  database_.Run(format.schema);
  fill(database_);
  database_.Run(("PRAGMA application_id = " + std::to_string(format.application)).c_str());
  database_.Run(("PRAGMA user_version = " + std::to_string(format.version)).c_str());
  transaction.Commit();
}

}  // namespace polykern
