#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "polykern/net/sqlite/sqlite_file_internal.h"
#include "polykern/net/store/store.h"

namespace polykern {

/// The file format of a SQLite store.

constexpr std::int64_t kStoreVersion = 1;
constexpr std::int64_t kStoreApplication = 0x706b7374;  // "pkst": other databases are noticed

constexpr const char* kStoreSchema = R"(
  CREATE TABLE configuration(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE step(steps INTEGER PRIMARY KEY, participants INTEGER NOT NULL, time INTEGER NOT NULL);
  CREATE TABLE state(steps INTEGER PRIMARY KEY REFERENCES step(steps), sum BLOB NOT NULL,
                     numbers BLOB NOT NULL);
  CREATE TABLE client(number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
                      first_seen INTEGER NOT NULL, last_seen INTEGER NOT NULL,
                      accepted INTEGER NOT NULL DEFAULT 0, rejected INTEGER NOT NULL DEFAULT 0,
                      answered INTEGER NOT NULL DEFAULT 0);
  CREATE TABLE event(id INTEGER PRIMARY KEY, time INTEGER NOT NULL, client TEXT NOT NULL,
                     event TEXT NOT NULL, detail TEXT NOT NULL);
)";

/// Stores of older versions have none: it is made when one is opened to write.
constexpr const char* kClientNotes = R"(
  CREATE TABLE IF NOT EXISTS client_note(number INTEGER PRIMARY KEY, label TEXT NOT NULL,
                                         forgotten INTEGER NOT NULL, serial TEXT NOT NULL,
                                         expires INTEGER NOT NULL);
)";

constexpr SqliteFormat kStoreFormat{kStoreApplication, kStoreVersion, kStoreSchema};

StoreConfiguration ReadConfiguration(Database& database);
/// Throws Error if the newest state is damaged.
StoreContents ReadContents(Database& database);

/// See StoreKind.
StoreContents ReadSqliteStore(const std::string& path);
bool HasSqliteStore(const std::string& path);
std::uint64_t BackupSqliteStore(const std::string& path, const std::string& file);
std::uint64_t RestoreSqliteStore(const std::string& file, const std::string& path);

}  // namespace polykern
