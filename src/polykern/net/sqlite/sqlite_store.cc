#include "polykern/net/sqlite/sqlite_store.h"

#include <algorithm>
#include <cassert>
#include <ctime>
#include <functional>
#include <unordered_map>
#include <utility>

#include "polykern/core/error.h"
#include "polykern/io/checksum.h"
#include "polykern/net/configuration.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/sqlite/store_format_internal.h"

namespace polykern {
namespace {

/// What a step runs, prepared once.
struct CommitStatements {
  explicit CommitStatements(Database& d)
      : insert_step(d, "INSERT INTO step VALUES(?, ?, ?)"),
        delete_state(d, "DELETE FROM state WHERE steps < ?"),
        insert_state(d, "INSERT OR REPLACE INTO state VALUES(?, ?, ?)"),
        accept(d,
               "UPDATE client SET accepted = accepted + 1, last_seen = ?2, answered = ?3 "
               "WHERE number = ?1"),
        reject(d, "UPDATE client SET rejected = rejected + ?2 WHERE number = ?1"),
        delete_steps(d, "DELETE FROM step WHERE steps <= ?") {}

  Statement insert_step, delete_state, insert_state, accept, reject, delete_steps;
};

class SqliteStore final : public Store {
 public:
  SqliteStore(const std::string& path, const StoreConfiguration* configuration)
      : file_(path, {}, kStoreFormat, FillWith(configuration)), database_(*file_) {
    if (configuration != nullptr) CheckConfiguration(*configuration);
    database_.Run(kClientNotes);
    steps_ = Unsigned(database_.Number("SELECT max(steps) FROM state"));
    clients_ = Unsigned(database_.Number("SELECT count(*) FROM client"));
  }

  StoreContents Contents() override {
    const Snapshot snapshot(database_);
    return ReadContents(database_);
  }

  void CheckRoom(std::size_t numbers) const override {
    const auto most =
        static_cast<std::size_t>(sqlite3_limit(database_.handle(), SQLITE_LIMIT_LENGTH, -1));
    constexpr std::size_t kBeside = 1000;  // of a row: less
    if (numbers <= (most - kBeside) / sizeof(double)) return;
    throw Error("the server's state has " + std::to_string(numbers * sizeof(double) / 1'000'000) +
                " MB, a store holds " + std::to_string(most / 1'000'000) + "; lower " +
                OptionName("kernels") + " or " + OptionName("features"));
  }

  void Write(const StoreBatch& batch) override {
    const std::int64_t now = std::time(nullptr);
    Transaction transaction(database_);
    WriteClients(batch.clients, now);
    if (batch.configuration != nullptr) ReplaceConfiguration(*batch.configuration);
    if (batch.step) WriteStep(*batch.step, now);
    WriteEvents(batch.events);
    WriteNotes(batch.notes);
    transaction.Commit();
    clients_ += batch.clients.size();
    if (batch.step) steps_ = batch.step->steps;
  }

  void Fill(const StoreContents& other) override {
    assert(clients_ == 0 && steps_ == 0);
    Transaction transaction(database_);
    Statement insert(database_,
                     "INSERT INTO client(number, name, first_seen, last_seen, accepted, rejected, "
                     "answered) VALUES(?, ?, ?, ?, ?, ?, ?)");
    std::vector<NotedClient> notes;
    for (const StoredClient& client : other.clients) {
      notes.push_back({notes.size(), client.note});
      insert.Bind(1, Signed(notes.back().client))
          .Bind(2, client.name)
          .Bind(3, client.first_seen)
          .Bind(4, client.last_seen)
          .Bind(5, Signed(client.accepted))
          .Bind(6, Signed(client.rejected))
          .Bind(7, Signed(client.next_step))
          .Run();
    }
    std::erase_if(notes, [](const NotedClient& noted) { return noted.note == ClientNote{}; });
    WriteNotes(notes);
    if (const auto& newest = other.newest) {
      WriteStep({.steps = newest->steps, .state = newest->state, .counted = {}}, other.committed);
      Statement participants(database_, "UPDATE step SET participants = ?");
      participants.Bind(1, Signed(other.participants)).Run();
      steps_ = newest->steps;
    }
    transaction.Commit();
    clients_ = other.clients.size();
  }

  Pruned Prune(const PruneOptions& options) override {
    Pruned pruned;
    const auto remove = [&](const char* sql, std::int64_t bound) {
      Statement statement(database_, sql);
      statement.Bind(1, bound).Run();
      return Unsigned(sqlite3_changes64(database_.handle()));
    };
    Transaction transaction(database_);
    // A step whose state is kept keeps its record.
    constexpr const char* kBySteps =
        "DELETE FROM step WHERE steps <= ? AND steps NOT IN (SELECT steps FROM state)";
    constexpr const char* kByTime =
        "DELETE FROM step WHERE time < ? AND steps NOT IN (SELECT steps FROM state)";
    Statement drop_old(database_, "DELETE FROM state WHERE steps < ?");
    drop_old.Bind(1, Signed(steps_)).Run();
    if (options.keep_steps) {
      const std::uint64_t kept = std::min(*options.keep_steps, steps_);
      pruned.steps += remove(kBySteps, Signed(steps_ - kept));
    }
    if (options.keep_seconds) {
      const std::int64_t now = std::time(nullptr);
      const auto age = std::min(*options.keep_seconds, Unsigned(now));
      pruned.steps += remove(kByTime, now - Signed(age));
      pruned.events += remove("DELETE FROM event WHERE time < ?", now - Signed(age));
    }
    transaction.Commit();
    return pruned;
  }

  void Compact() override {
    database_.Run("VACUUM");
    database_.Run("PRAGMA wal_checkpoint(TRUNCATE)");
  }

 private:
  static std::function<void(Database&)> FillWith(const StoreConfiguration* configuration) {
    if (configuration == nullptr) return nullptr;
    return [configuration](Database& database) { WriteConfiguration(database, *configuration); };
  }

  /// Takes over another configuration if the store is unused.
  void CheckConfiguration(const StoreConfiguration& configuration) {
    const std::string text = Differences(ReadConfiguration(database_), configuration);
    if (text.empty()) return;
    const bool unused = database_.Number("SELECT count(*) FROM state") == 0 &&
                        database_.Number("SELECT count(*) FROM client") == 0;
    if (!unused) {
      throw Error(database_.path() + ": the store was made with another configuration (" + text +
                  "); leave out what differs, or start with a new store: another " +
                  OptionName("store"));
    }
    Transaction transaction(database_);
    ReplaceConfiguration(configuration);
    transaction.Commit();
  }

  // Inside a transaction:

  static void WriteConfiguration(Database& database, const StoreConfiguration& configuration) {
    Statement insert(database, "INSERT INTO configuration VALUES(?, ?)");
    for (const auto& [key, value] : configuration) insert.Bind(1, key).Bind(2, value).Run();
  }

  void ReplaceConfiguration(const StoreConfiguration& configuration) {
    database_.Run("DELETE FROM configuration");
    WriteConfiguration(database_, configuration);
  }

  void WriteClients(std::span<const std::string> names, std::int64_t now) {
    if (names.empty()) return;
    Statement insert(database_,
                     "INSERT INTO client(number, name, first_seen, last_seen) VALUES(?, ?, ?, ?)");
    std::uint64_t number = clients_;
    for (const std::string& name : names) {
      insert.Bind(1, Signed(number++)).Bind(2, name).Bind(3, now).Bind(4, now).Run();
    }
  }

  void WriteStep(const StepCommit& step, std::int64_t now) {
    assert(step.steps >= steps_);
    const std::int64_t steps = Signed(step.steps);
    const auto bytes = std::as_bytes(step.state);
    const auto sum = Sha256(bytes);
    if (step.steps > steps_) {
      sql_.insert_step.Bind(1, steps).Bind(2, Signed(step.counted.size())).Bind(3, now).Run();
      // The newest two stay: this one and the one before.
      sql_.delete_state.Bind(1, Signed(steps_)).Run();
    }
    sql_.insert_state.Bind(1, steps).Bind(2, std::span<const std::byte>(sum)).Bind(3, bytes).Run();
    for (const CountedUpdate& update : step.counted) {
      assert(update.step < step.steps);
      sql_.accept.Bind(1, Signed(update.client))
          .Bind(2, now)
          .Bind(3, Signed(update.step + 1))
          .Run();
    }
    for (const Rejections& rejected : step.rejected) {
      sql_.reject.Bind(1, Signed(rejected.client)).Bind(2, Signed(rejected.count)).Run();
    }
    sql_.delete_steps.Bind(1, steps - kKeptRecords).Run();
  }

  void WriteNotes(std::span<const NotedClient> notes) {
    if (notes.empty()) return;
    Statement insert(database_, "INSERT OR REPLACE INTO client_note VALUES(?, ?, ?, ?, ?)");
    for (const auto& [client, note] : notes) {
      insert.Bind(1, Signed(client)).Bind(2, note.label).Bind(3, std::int64_t{note.forgotten});
      insert.Bind(4, note.serial).Bind(5, note.expires).Run();
    }
  }

  void WriteEvents(std::span<const StoredEvent> events) {
    if (events.empty()) return;
    Statement insert(database_,
                     "INSERT INTO event(time, client, event, detail) VALUES(?, ?, ?, ?)");
    for (const StoredEvent& e : events) {
      insert.Bind(1, e.time).Bind(2, e.client).Bind(3, e.event).Bind(4, e.detail).Run();
    }
    Statement trim(database_, "DELETE FROM event WHERE id <= (SELECT max(id) FROM event) - ?");
    trim.Bind(1, kKeptRecords).Run();
  }

  OwnedDatabase file_;
  Database& database_;
  CommitStatements sql_{database_};
  std::uint64_t steps_ = 0;
  std::uint64_t clients_ = 0;
};

std::unique_ptr<Store> OpenSqlite(const std::string& path,
                                  const StoreConfiguration* configuration) {
  return std::make_unique<SqliteStore>(path, configuration);
}

}  // namespace

StoreKind SqliteStoreKind() {
  return {.scheme = "sqlite",
          .open = OpenSqlite,
          .read = ReadSqliteStore,
          .exists = HasSqliteStore,
          .backup = BackupSqliteStore,
          .restore = RestoreSqliteStore,
          .open_to_note = [](const std::string& path) { return OpenSqlite(path, nullptr); },
          .is_file = true};
}

}  // namespace polykern
