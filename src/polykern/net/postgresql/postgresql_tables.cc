#include <algorithm>
#include <cassert>
#include <cstring>
#include <ctime>

#include "polykern/io/checksum.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/postgresql/postgresql_tables_internal.h"

namespace polykern {
namespace {

constexpr std::int64_t kPostgresqlVersion = 2;

constexpr const char* kPostgresqlSchema = R"(
  CREATE TABLE polykern_format(version bigint NOT NULL);
  INSERT INTO polykern_format VALUES(1);
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

/// What front ends need: from version 1 to 2. A client's row says to which front end it is
/// connected (0: none), counts what is in parts of the open step already, and says whether none
/// waits for it any more: it was forgotten, or no certificate lets it in.
constexpr const char* kFrontSchema = R"(
  UPDATE polykern_format SET version = 2;
  -- Stores of version 1 may have it.
  CREATE TABLE IF NOT EXISTS polykern_client_note(
    number bigint PRIMARY KEY, label text NOT NULL, forgotten bigint NOT NULL,
    serial text NOT NULL, expires bigint NOT NULL);
  ALTER TABLE polykern_client ADD front bigint NOT NULL DEFAULT 0,
                              ADD gone boolean NOT NULL DEFAULT false;
  UPDATE polykern_client c SET gone = true FROM polykern_client_note n
    WHERE n.number = c.number AND n.forgotten <> 0;
  CREATE INDEX polykern_client_gone ON polykern_client(number) WHERE gone;
  -- Rows change with every step: room for the next one beside each spares the indexes.
  ALTER TABLE polykern_client SET (fillfactor = 45);
  -- The step that collects; one row. Not ready: its model is still being made. Asked: its deadline
  -- has passed, and front ends hand in what they have. Known: clients that had answered before it.
  -- Leader: the front end that ends steps.
  CREATE TABLE polykern_open(step bigint NOT NULL, ready boolean NOT NULL, asked boolean NOT NULL,
                             known bigint NOT NULL, leader bigint NOT NULL);
  INSERT INTO polykern_open SELECT coalesce(max(steps), 0), true, false, 0, 0 FROM polykern_state;
  CREATE TABLE polykern_front(id bigint PRIMARY KEY, address text NOT NULL, step bigint NOT NULL,
                              connected bigint NOT NULL, waiting bigint NOT NULL,
                              held bigint NOT NULL, newcomers bigint NOT NULL,
                              asked boolean NOT NULL, accepted bigint NOT NULL);
  -- What a front end has added up for the open step.
  CREATE TABLE polykern_partial(front bigint NOT NULL, serial bigint NOT NULL, step bigint NOT NULL,
                                updates bigint NOT NULL, clients bigint NOT NULL,
                                newcomers bigint NOT NULL, began timestamptz NOT NULL,
                                sums bytea NOT NULL, PRIMARY KEY (front, serial));
  ALTER TABLE polykern_partial ALTER sums SET STORAGE EXTERNAL;
  -- What clients have said of their keys for masks.
  CREATE TABLE polykern_key(name text PRIMARY KEY, key bytea NOT NULL);
  -- Clients that have come to another front end than the one that has them.
  CREATE TABLE polykern_move(client bigint PRIMARY KEY, holder bigint NOT NULL, taker bigint NOT NULL);
)";

StoreConfiguration ConfigurationIn(Connection& connection) {
  StoreConfiguration configuration;
  const Rows rows = connection.Run("SELECT key, value FROM polykern_configuration", {});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    configuration.emplace(rows.Text(i, 0), rows.Text(i, 1));
  }
  return configuration;
}

bool HasTable(Connection& connection, const char* name) {
  return !connection.Run("SELECT 1::bigint WHERE to_regclass($1) IS NOT NULL", {std::string(name)})
              .empty();
}

/// In tables of version 1 there may be no notes, and no client is connected.
void ReadNotes(Connection& connection, std::vector<StoredClient>& clients) {
  const auto each = [&](const char* sql, std::initializer_list<Value> values, const auto& take) {
    const Rows rows = connection.Run(sql, values);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows.Count(i, 0) < clients.size()) take(clients[rows.Count(i, 0)], rows, i);
    }
  };
  if (HasTable(connection, "polykern_client_note")) {
    each("SELECT number, label, forgotten, serial, expires FROM polykern_client_note", {},
         [](StoredClient& client, const Rows& rows, std::size_t i) {
           client.note = {rows.Text(i, 1), rows.Integer(i, 2) != 0, rows.Text(i, 3),
                          rows.Integer(i, 4)};
         });
  }
  if (!HasTable(connection, "polykern_front")) return;
  each("SELECT number FROM polykern_client WHERE front = ANY($1::bigint[])",
       {NumbersOf(LivingFronts(connection))},
       [](StoredClient& client, const Rows&, std::size_t) { client.connected = true; });
  each("SELECT number FROM polykern_client WHERE gone", {},
       [](StoredClient& client, const Rows&, std::size_t) { client.gone = true; });
}

}  // namespace

bool IsThere(Connection& connection) {
  return HasTable(connection, "polykern_format");
}

std::vector<std::uint64_t> LivingFronts(Connection& connection) {
  const Rows rows = connection.Run(
      "SELECT objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2 "
      "AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
      "AND classid::bigint = hashtext('polykern front ' || current_schema())::bigint & 4294967295 "
      "ORDER BY 1",
      {});
  std::vector<std::uint64_t> living;
  for (std::size_t i = 0; i < rows.size(); ++i) living.push_back(rows.Count(i, 0));
  return living;
}

void CheckVersion(Connection& connection) {
  const std::int64_t version = connection.Number("SELECT version FROM polykern_format");
  if (version > 0 && version <= kPostgresqlVersion) return;  // a reader sees the same in each
  throw Error(connection.name() + ": the store has version " + std::to_string(version) +
              ", this polykern knows " + std::to_string(kPostgresqlVersion) +
              "; upgrade this polykern");
}

std::optional<ResumePoint> StateIn(Connection& connection, const Rows& rows) {
  if (rows.empty()) return std::nullopt;
  ResumePoint point{.steps = rows.Count(0, 0), .state = {}};
  const auto sum = rows.Bytes(0, 1);
  const auto bytes = rows.Bytes(0, 2);
  if (bytes.size() % sizeof(double) != 0 || !std::ranges::equal(sum, Sha256(bytes))) {
    throw Error(connection.name() + ": the state after step " + std::to_string(point.steps) +
                " is damaged; restore the latest copy of the store");
  }
  point.state.resize(bytes.size() / sizeof(double));
  if (!bytes.empty()) std::memcpy(point.state.data(), bytes.data(), bytes.size());
  return point;
}

std::optional<ResumePoint> NewestIn(Connection& connection) {
  return StateIn(connection, connection.Run("SELECT steps, sum, numbers FROM polykern_state "
                                            "ORDER BY steps DESC LIMIT 1",
                                            {}));
}

StoreContents ContentsOf(Connection& connection) {
  StoreContents contents{.version = connection.Number("SELECT version FROM polykern_format"),
                         .configuration = ConfigurationIn(connection),
                         .newest = NewestIn(connection)};
  const Rows step = connection.Run(
      "SELECT participants, time FROM polykern_step ORDER BY steps DESC LIMIT 1", {});
  if (!step.empty()) {
    contents.participants = step.Count(0, 0);
    contents.committed = step.Integer(0, 1);
  }
  const Rows clients = connection.Run(
      "SELECT name, first_seen, last_seen, accepted - (next_step > $1)::int, rejected, "
      "least(next_step, $1) FROM polykern_client ORDER BY number",
      {contents.newest ? contents.newest->steps : std::uint64_t{0}});
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

void Occupy(Connection& connection, TableUse use) {
  connection.Run("SET lock_timeout = '3s'");
  connection.Run(use == TableUse::kAlone
                     ? "SELECT pg_advisory_lock(hashtext('polykern store'), "
                       "hashtext(current_schema()))"
                     : "SELECT pg_advisory_lock_shared(hashtext('polykern store'), "
                       "hashtext(current_schema()))");
  connection.Run("SET lock_timeout = 0");
}

void OpenTables(Connection& connection, const StoreConfiguration* configuration) {
  PostgresqlTransaction transaction(connection);
  // Several front ends may begin at the same time.
  connection.Run(
      "SELECT pg_advisory_xact_lock(hashtext('polykern tables'), hashtext(current_schema()))");
  if (!IsThere(connection)) {
    if (configuration == nullptr) {
      throw Error(connection.name() + ": there is no store here; check the URL");
    }
    connection.Run(kPostgresqlSchema);
    connection.Run(kFrontSchema);
    ReplaceConfiguration(connection, *configuration);
  } else if (connection.Number("SELECT version FROM polykern_format") == 1) {
    connection.Run(kFrontSchema);
  }
  CheckVersion(connection);
  const std::string text =
      configuration == nullptr ? "" : Differences(ConfigurationIn(connection), *configuration);
  if (!text.empty()) {
    if (connection.Number("SELECT (SELECT count(*) FROM polykern_state) + "
                          "(SELECT count(*) FROM polykern_client)") != 0) {
      throw Error(connection.name() + ": the store was made with another configuration (" + text +
                  "); leave out what differs, or start with a new store: another " +
                  OptionName("store"));
    }
    ReplaceConfiguration(connection, *configuration);
  }
  transaction.Commit();
}

void ReplaceConfiguration(Connection& connection, const StoreConfiguration& configuration) {
  connection.Run("DELETE FROM polykern_configuration");
  for (const auto& [key, value] : configuration) {
    connection.Run("INSERT INTO polykern_configuration VALUES($1, $2)", {key, value});
  }
}

void WriteState(Connection& connection, const StepCommit& step, std::uint64_t participants,
                std::uint64_t before) {
  assert(step.steps >= before);
  const auto bytes = std::as_bytes(step.state);
  const auto sum = Sha256(bytes);
  if (step.steps > before) {
    connection.Run("INSERT INTO polykern_step VALUES($1, $2, $3)",
                   {step.steps, participants, std::int64_t{std::time(nullptr)}});
    // The newest two stay: this one and the one before.
    connection.Run("DELETE FROM polykern_state WHERE steps < $1", {before});
  }
  connection.Run(
      "INSERT INTO polykern_state VALUES($1, $2, $3) ON CONFLICT (steps) "
      "DO UPDATE SET sum = excluded.sum, numbers = excluded.numbers",
      {step.steps, std::span<const std::byte>(sum), bytes});
  connection.Run("DELETE FROM polykern_step WHERE steps <= $1",
                 {static_cast<std::int64_t>(step.steps) - Store::kKeptRecords});
}

void WriteRejections(Connection& connection, std::span<const Rejections> rejected) {
  if (rejected.empty()) return;
  connection.Run(
      "UPDATE polykern_client SET rejected = rejected + u.count "
      "FROM unnest($1::bigint[], $2::bigint[]) AS u(client, count) WHERE number = u.client",
      {ArrayOf(rejected, [](const Rejections& r) { return r.client; }),
       ArrayOf(rejected, [](const Rejections& r) { return r.count; })});
}

void WriteNotes(Connection& connection, std::span<const NotedClient> notes) {
  for (const auto& [client, note] : notes) {
    connection.Run(
        "INSERT INTO polykern_client_note VALUES($1, $2, $3, $4, $5) ON CONFLICT (number) DO "
        "UPDATE SET label = excluded.label, forgotten = excluded.forgotten, "
        "serial = excluded.serial, expires = excluded.expires",
        {client, note.label, std::int64_t{note.forgotten}, note.serial, note.expires});
    connection.Run("UPDATE polykern_client SET gone = $2::bigint::int::boolean WHERE number = $1",
                   {client, std::int64_t{note.forgotten}});
  }
}

void WriteEvents(Connection& connection, std::span<const StoredEvent> events) {
  if (events.empty()) return;
  for (const StoredEvent& e : events) {
    connection.Run("INSERT INTO polykern_event(time, client, event, detail) VALUES($1, $2, $3, $4)",
                   {e.time, e.client, e.event, e.detail});
  }
  connection.Run("DELETE FROM polykern_event WHERE id <= (SELECT max(id) FROM polykern_event) - $1",
                 {Store::kKeptRecords});
}

void CheckStateSize(std::size_t numbers) {
  constexpr std::size_t kMost = (std::size_t{1} << 30) - 1'000'000;  // of a field, less a margin
  if (numbers <= kMost / sizeof(double)) return;
  throw Error("the server's state has " + std::to_string(numbers * sizeof(double) / 1'000'000) +
              " MB, a store holds " + std::to_string(kMost / 1'000'000) + "; lower " +
              OptionName("kernels") + " or " + OptionName("features"));
}

}  // namespace polykern
