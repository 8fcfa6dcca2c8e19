#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "polykern/io/checksum.h"
#include "polykern/net/sqlite/store_format_internal.h"

namespace polykern {

StoreConfiguration ReadConfiguration(Database& database) {
  StoreConfiguration configuration;
  Statement query(database, "SELECT key, value FROM configuration");
  while (query.Next()) configuration.emplace(query.Text(0), query.Text(1));
  return configuration;
}

namespace {

/// A store has a log. What has a journal was being made when its process was killed or its power
/// was lost: that is undone first, which takes who may write.
Database::Mode ModeToRead(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path + "-journal", error) ? Database::Mode::kWrite
                                                           : Database::Mode::kRead;
}

std::optional<ResumePoint> ReadNewest(Database& database) {
  Statement query(database, "SELECT steps, sum, numbers FROM state ORDER BY steps DESC LIMIT 1");
  if (!query.Next()) return std::nullopt;
  ResumePoint point{.steps = Unsigned(query.Integer(0)), .state = {}};
  const std::span<const std::byte> sum = query.Blob(1);
  const std::span<const std::byte> bytes = query.Blob(2);
  const auto wanted = Sha256(bytes);
  if (bytes.size() % sizeof(double) != 0 || sum.size() != wanted.size() ||
      std::memcmp(sum.data(), wanted.data(), wanted.size()) != 0) {
    throw Error(database.path() + ": the state after step " + std::to_string(point.steps) +
                " is damaged; restore the latest copy of the store");
  }
  point.state.resize(bytes.size() / sizeof(double));
  if (!bytes.empty()) std::memcpy(point.state.data(), bytes.data(), bytes.size());
  return point;
}

void ReadNotes(Database& database, std::vector<StoredClient>& clients) {
  if (database.Number("SELECT count(*) FROM sqlite_schema WHERE name = 'client_note'") == 0) return;
  Statement query(database, "SELECT number, label, forgotten, serial, expires FROM client_note");
  while (query.Next()) {
    const std::uint64_t number = Unsigned(query.Integer(0));
    if (number >= clients.size()) continue;  // it was not written by a store
    clients[number].note = {query.Text(1), query.Integer(2) != 0, query.Text(3), query.Integer(4)};
  }
}

std::vector<StoredClient> ReadClients(Database& database) {
  std::vector<StoredClient> clients;
  Statement query(database,
                  "SELECT name, first_seen, last_seen, accepted, rejected, answered FROM client "
                  "ORDER BY number");
  while (query.Next()) {
    clients.push_back({query.Text(0), query.Integer(1), query.Integer(2),
                       Unsigned(query.Integer(3)), Unsigned(query.Integer(4)),
                       Unsigned(query.Integer(5))});
  }
  ReadNotes(database, clients);
  return clients;
}

}  // namespace

StoreContents ReadContents(Database& database) {
  StoreContents contents{.version = database.Number("PRAGMA user_version"),
                         .configuration = ReadConfiguration(database),
                         .newest = ReadNewest(database),
                         .clients = ReadClients(database)};
  Statement step(database, "SELECT participants, time FROM step ORDER BY steps DESC LIMIT 1");
  if (step.Next()) {
    contents.participants = Unsigned(step.Integer(0));
    contents.committed = step.Integer(1);
  }
  contents.step_records = Unsigned(database.Number("SELECT count(*) FROM step"));
  contents.events = Unsigned(database.Number("SELECT count(*) FROM event"));
  std::error_code error;
  for (const char* part : {"", "-wal"}) {
    const std::uintmax_t size = std::filesystem::file_size(database.path() + part, error);
    if (!error) contents.file_bytes += size;
  }
  return contents;
}

StoreContents ReadSqliteStore(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    throw Error(path + ": there is no store here; check the path");
  }
  Database database(path, ModeToRead(path));
  const Snapshot snapshot(database);
  CheckFormat(database, kStoreFormat, false);
  return ReadContents(database);
}

bool HasSqliteStore(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error || size == 0) return false;
  Database database(path, ModeToRead(path));
  return !IsEmptyDatabase(database);
}

}  // namespace polykern
