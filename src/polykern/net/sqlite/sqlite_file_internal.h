#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "polykern/io/file_lock.h"
#include "polykern/net/sqlite/sqlite_internal.h"

namespace polykern {

/// What a kind of SQLite files has in it.
struct SqliteFormat {
  std::int64_t application = 0;  ///< so that other databases are noticed
  std::int64_t version = 0;      ///< the newest that we know
  const char* schema = "";
};

/// Throws Error unless it is a file of this format that this version understands and that is not
/// damaged. Empty databases, with no table yet, pass if they may.
void CheckFormat(Database& database, const SqliteFormat& format, bool empty_is_good);
bool IsEmptyDatabase(Database& database);

/// A database that this process alone writes, whatever way leads to it; others may read it. What
/// is committed is on the disk. The constructor throws Error.
class OwnedDatabase {
 public:
  /// `fill`: what a new file begins with, in the same transaction as its tables; null: a file that
  /// is missing or empty is an Error.
  OwnedDatabase(const std::string& path, const FileWords& words, const SqliteFormat& format,
                const std::function<void(Database&)>& fill);

  Database& operator*() { return database_; }
  const Database& operator*() const { return database_; }

 private:
  FileLock lock_;
  // The database itself, in case that file is removed. Closed after the database: to close any
  // descriptor of it drops SQLite's own locks.
  std::optional<FileLock> database_lock_;
  Database database_;
};

}  // namespace polykern
