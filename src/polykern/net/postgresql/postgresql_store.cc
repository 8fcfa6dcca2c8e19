#include "polykern/net/postgresql/postgresql_store.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <memory>
#include <optional>
#include <string>

#include "polykern/core/error.h"
#include "polykern/io/checksum.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/postgresql/postgresql_internal.h"

namespace polykern {
namespace {

constexpr std::int64_t kPostgresqlVersion = 1;

constexpr const char* kPostgresqlSchema = R"(
  CREATE TABLE polykern_format(version bigint NOT NULL);
  CREATE TABLE polykern_configuration(key text PRIMARY KEY, value text NOT NULL);
  CREATE TABLE polykern_step(steps bigint PRIMARY KEY, participants bigint NOT NULL,
                             time bigint NOT NULL);
  CREATE TABLE polykern_state(steps bigint PRIMARY KEY, sum bytea NOT NULL, numbers bytea NOT NULL);
  CREATE TABLE polykern_client(number bigint PRIMARY KEY, name text NOT NULL UNIQUE,
                               first_seen bigint NOT NULL, last_seen bigint NOT NULL,
                               accepted bigint NOT NULL DEFAULT 0,
                               rejected bigint NOT NULL DEFAULT 0,
                               next_step bigint NOT NULL DEFAULT 0);
  CREATE TABLE polykern_event(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                              time bigint NOT NULL, client text NOT NULL, event text NOT NULL,
                              detail text NOT NULL);
  -- Random numbers do not compress.
  ALTER TABLE polykern_state ALTER numbers SET STORAGE EXTERNAL;
)";

/// Stores of older versions have none: it is made when one is opened to write.
constexpr const char* kPostgresqlNotes = R"(
  CREATE TABLE IF NOT EXISTS polykern_client_note(
    number bigint PRIMARY KEY, label text NOT NULL, forgotten bigint NOT NULL,
    serial text NOT NULL, expires bigint NOT NULL);
)";

/// {1,2,3}: what unnest($1::bigint[]) makes rows of.
template <typename Items, typename Number>
std::string ArrayOf(const Items& items, const Number& number) {
  std::string text = "{";
  for (const auto& item : items) {
    if (text.size() > 1) text += ',';
    text += std::to_string(number(item));
  }
  return text + '}';
}

/// False: there is no store, or one that was being made.
bool IsThere(Connection& connection) {
  return connection.Number("SELECT (to_regclass('polykern_format') IS NOT NULL)::int::bigint") != 0;
}

void CheckVersion(Connection& connection) {
  const std::int64_t version = connection.Number("SELECT version FROM polykern_format");
  if (version == kPostgresqlVersion) return;
  throw Error(connection.name() + ": the store has version " + std::to_string(version) +
              ", this polykern knows " + std::to_string(kPostgresqlVersion) +
              "; upgrade this polykern");
}

StoreConfiguration ConfigurationIn(Connection& connection) {
  StoreConfiguration configuration;
  const Rows rows = connection.Run("SELECT key, value FROM polykern_configuration", {});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    configuration.emplace(rows.Text(i, 0), rows.Text(i, 1));
  }
  return configuration;
}

std::optional<ResumePoint> NewestIn(Connection& connection) {
  const Rows rows = connection.Run(
      "SELECT steps, sum, numbers FROM polykern_state ORDER BY steps DESC LIMIT 1", {});
  if (rows.empty()) return std::nullopt;
  ResumePoint point{.steps = rows.Count(0, 0), .state = {}};
  const auto sum = rows.Bytes(0, 1);
  const auto bytes = rows.Bytes(0, 2);
  if (bytes.size() % sizeof(double) != 0 || !std::ranges::equal(sum, Sha256(bytes))) {
    throw Error(connection.name() + ": the state after step " + std::to_string(point.steps) +
                " is damaged; put back the last copy of the store");
  }
  point.state.resize(bytes.size() / sizeof(double));
  if (!bytes.empty()) std::memcpy(point.state.data(), bytes.data(), bytes.size());
  return point;
}

void ReadNotes(Connection& connection, std::vector<StoredClient>& clients) {
  if (connection.Number("SELECT (to_regclass('polykern_client_note') IS NOT NULL)::int::bigint") ==
      0) {
    return;
  }
  const Rows rows = connection.Run(
      "SELECT number, label, forgotten, serial, expires FROM polykern_client_note", {});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows.Count(i, 0) >= clients.size()) continue;  // nobody wrote that
    clients[rows.Count(i, 0)].note = {rows.Text(i, 1), rows.Integer(i, 2) != 0, rows.Text(i, 3),
                                      rows.Integer(i, 4)};
  }
}

StoreContents ContentsOf(Connection& connection) {
  StoreContents contents{.version = kPostgresqlVersion,
                         .configuration = ConfigurationIn(connection),
                         .newest = NewestIn(connection)};
  const Rows step = connection.Run(
      "SELECT participants, time FROM polykern_step ORDER BY steps DESC LIMIT 1", {});
  if (!step.empty()) {
    contents.participants = step.Count(0, 0);
    contents.committed = step.Integer(0, 1);
  }
  const Rows clients = connection.Run(
      "SELECT name, first_seen, last_seen, accepted, rejected, next_step FROM polykern_client "
      "ORDER BY number",
      {});
  for (std::size_t i = 0; i < clients.size(); ++i) {
    contents.clients.push_back({clients.Text(i, 0), clients.Integer(i, 1), clients.Integer(i, 2),
                                clients.Count(i, 3), clients.Count(i, 4), clients.Count(i, 5)});
  }
  ReadNotes(connection, contents.clients);
  const auto count = [&](const char* sql) {
    return static_cast<std::uint64_t>(connection.Number(sql));
  };
  contents.step_records = count("SELECT count(*) FROM polykern_step");
  contents.events = count("SELECT count(*) FROM polykern_event");
  contents.file_bytes = count(
      "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class "
      "WHERE relname ~ '^polykern_' AND relkind = 'r' AND pg_table_is_visible(oid)");
  return contents;
}

class PostgresqlStore final : public Store {
 public:
  PostgresqlStore(const std::string& place, const StoreConfiguration* configuration)
      : connection_(place) {
    Lock();
    if (!IsThere(connection_)) {
      if (configuration == nullptr) {
        throw Error(connection_.name() + ": there is no store here; check the URL");
      }
      Make(*configuration);
    }
    CheckVersion(connection_);
    if (configuration != nullptr) CheckConfiguration(*configuration);
    if (Number("SELECT (to_regclass('polykern_client_note') IS NULL)::int::bigint") != 0) {
      connection_.Run(kPostgresqlNotes);
    }
    steps_ = Number("SELECT max(steps) FROM polykern_state");
    clients_ = Number("SELECT count(*) FROM polykern_client");
  }

  StoreContents Contents() override {
    const PostgresqlTransaction snapshot(connection_, PostgresqlTransaction::Kind::kRead);
    return ContentsOf(connection_);
  }

  void CheckRoom(std::size_t numbers) const override {
    constexpr std::size_t kMost = (std::size_t{1} << 30) - 1'000'000;  // of a field, less a margin
    if (numbers <= kMost / sizeof(double)) return;
    throw Error("the server's state has " + std::to_string(numbers * sizeof(double) / 1'000'000) +
                " MB, a store holds " + std::to_string(kMost / 1'000'000) + "; lower " +
                OptionName("kernels") + " or " + OptionName("features"));
  }

  void Write(const StoreBatch& batch) override {
    const std::int64_t now = std::time(nullptr);
    PostgresqlTransaction transaction(connection_);
    std::uint64_t number = clients_;
    for (const std::string& name : batch.clients) {
      connection_.Run("INSERT INTO polykern_client VALUES($1, $2, $3, $3)", {number++, name, now});
    }
    if (batch.configuration != nullptr) ReplaceConfiguration(*batch.configuration);
    if (batch.step) WriteStep(*batch.step, now);
    WriteEvents(batch.events);
    for (const auto& [client, note] : batch.notes) {
      connection_.Run(
          "INSERT INTO polykern_client_note VALUES($1, $2, $3, $4, $5) ON CONFLICT (number) DO "
          "UPDATE SET label = excluded.label, forgotten = excluded.forgotten, "
          "serial = excluded.serial, expires = excluded.expires",
          {client, note.label, std::int64_t{note.forgotten}, note.serial, note.expires});
    }
    transaction.Commit();
    clients_ += batch.clients.size();
    if (batch.step) steps_ = batch.step->steps;
  }

  Pruned Prune(const PruneOptions& options) override {
    Pruned pruned;
    PostgresqlTransaction transaction(connection_);
    connection_.Run("DELETE FROM polykern_state WHERE steps < $1", {steps_});
    // The step whose state is kept keeps its record.
    if (options.keep_steps) {
      pruned.steps += connection_
                          .Run("DELETE FROM polykern_step WHERE steps <= $1 AND steps <> $2",
                               {steps_ - std::min(*options.keep_steps, steps_), steps_})
                          .changed();
    }
    if (options.keep_seconds) {
      const auto now = static_cast<std::uint64_t>(std::time(nullptr));
      const std::uint64_t oldest = now - std::min(*options.keep_seconds, now);
      pruned.steps +=
          connection_
              .Run("DELETE FROM polykern_step WHERE time < $1 AND steps <> $2", {oldest, steps_})
              .changed();
      pruned.events +=
          connection_.Run("DELETE FROM polykern_event WHERE time < $1", {oldest}).changed();
    }
    transaction.Commit();
    return pruned;
  }

  void Compact() override {
    for (const char* const sql : {"VACUUM FULL polykern_state", "VACUUM FULL polykern_step",
                                  "VACUUM FULL polykern_event", "VACUUM FULL polykern_client"}) {
      connection_.Run(sql);
    }
  }

 private:
  std::uint64_t Number(const char* sql) {
    return static_cast<std::uint64_t>(connection_.Number(sql));
  }

  /// Held until the connection ends, also when this process is killed: one writer of a schema. The
  /// database may notice a moment later that the one before has ended, so this waits a little.
  void Lock() {
    connection_.Run("SET lock_timeout = '3s'");
    connection_.Run(
        "SELECT pg_advisory_lock(hashtext('polykern store'), hashtext(current_schema()))");
    connection_.Run("SET lock_timeout = 0");
  }

  void Make(const StoreConfiguration& configuration) {
    PostgresqlTransaction transaction(connection_);
    connection_.Run(kPostgresqlSchema);
    connection_.Run("INSERT INTO polykern_format VALUES($1)", {kPostgresqlVersion});
    ReplaceConfiguration(configuration);
    transaction.Commit();
  }

  /// Takes over another configuration if nobody has used the store yet.
  void CheckConfiguration(const StoreConfiguration& configuration) {
    const std::string text = Differences(ConfigurationIn(connection_), configuration);
    if (text.empty()) return;
    if (Number("SELECT (SELECT count(*) FROM polykern_state) + "
               "(SELECT count(*) FROM polykern_client)") != 0) {
      throw Error(connection_.name() + ": the store was made with another configuration (" + text +
                  "); leave out what differs, or start with a new store");
    }
    PostgresqlTransaction transaction(connection_);
    ReplaceConfiguration(configuration);
    transaction.Commit();
  }

  // Inside a transaction:

  void ReplaceConfiguration(const StoreConfiguration& configuration) {
    connection_.Run("DELETE FROM polykern_configuration");
    for (const auto& [key, value] : configuration) {
      connection_.Run("INSERT INTO polykern_configuration VALUES($1, $2)", {key, value});
    }
  }

  /// A statement each for all clients, however many: what a step costs is their rows.
  void WriteStep(const StepCommit& step, std::int64_t now) {
    assert(step.steps >= steps_);
    const auto bytes = std::as_bytes(step.state);
    const auto sum = Sha256(bytes);
    if (step.steps > steps_) {
      connection_.Run("INSERT INTO polykern_step VALUES($1, $2, $3)",
                      {step.steps, std::uint64_t{step.counted.size()}, now});
      // The newest two stay: this one and the one before.
      connection_.Run("DELETE FROM polykern_state WHERE steps < $1", {steps_});
    }
    connection_.Run(
        "INSERT INTO polykern_state VALUES($1, $2, $3) ON CONFLICT (steps) "
        "DO UPDATE SET sum = excluded.sum, numbers = excluded.numbers",
        {step.steps, std::span<const std::byte>(sum), bytes});
    // A client may be counted for several steps: of these the last is its newest.
    connection_.Run(
        "UPDATE polykern_client SET accepted = accepted + u.count, last_seen = $3, "
        "next_step = u.step + 1 FROM (SELECT client, count(*) AS count, max(step) AS step "
        "FROM unnest($1::bigint[], $2::bigint[]) AS t(client, step) GROUP BY client) AS u "
        "WHERE number = u.client",
        {ArrayOf(step.counted, [](const CountedUpdate& u) { return u.client; }),
         ArrayOf(step.counted, [](const CountedUpdate& u) { return u.step; }), now});
    connection_.Run(
        "UPDATE polykern_client SET rejected = rejected + u.count "
        "FROM unnest($1::bigint[], $2::bigint[]) AS u(client, count) WHERE number = u.client",
        {ArrayOf(step.rejected, [](const Rejections& r) { return r.client; }),
         ArrayOf(step.rejected, [](const Rejections& r) { return r.count; })});
    connection_.Run("DELETE FROM polykern_step WHERE steps <= $1",
                    {static_cast<std::int64_t>(step.steps) - kKeptRecords});
  }

  void WriteEvents(std::span<const StoredEvent> events) {
    if (events.empty()) return;
    for (const StoredEvent& e : events) {
      connection_.Run(
          "INSERT INTO polykern_event(time, client, event, detail) VALUES($1, $2, $3, $4)",
          {e.time, e.client, e.event, e.detail});
    }
    connection_.Run(
        "DELETE FROM polykern_event WHERE id <= (SELECT max(id) FROM polykern_event) - $1",
        {kKeptRecords});
  }

  Connection connection_;
  std::uint64_t steps_ = 0;
  std::uint64_t clients_ = 0;
};

}  // namespace

StoreKind PostgresqlStoreKind() {
  return {.scheme = "postgresql",
          .open = [](const std::string& place,
                     const StoreConfiguration* configuration) -> std::unique_ptr<Store> {
            return std::make_unique<PostgresqlStore>(place, configuration);
          },
          .read =
              [](const std::string& place) {
                Connection connection(place);
                if (!IsThere(connection)) {
                  throw Error(connection.name() + ": there is no store here; check the URL");
                }
                const PostgresqlTransaction snapshot(connection,
                                                     PostgresqlTransaction::Kind::kRead);
                CheckVersion(connection);
                return ContentsOf(connection);
              },
          .exists =
              [](const std::string& place) {
                Connection connection(place);
                return IsThere(connection);
              }};
}

}  // namespace polykern
