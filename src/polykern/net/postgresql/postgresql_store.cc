#include "polykern/net/postgresql/postgresql_store.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <ctime>
#include <memory>
#include <string>

#include "polykern/core/error.h"
#include "polykern/net/postgresql/postgresql_tables_internal.h"

namespace polykern {
namespace {

class PostgresqlStore final : public Store {
 public:
  PostgresqlStore(const std::string& place, const StoreConfiguration* configuration)
      : connection_(place) {
    Occupy(connection_, TableUse::kAlone);
    OpenTables(connection_, configuration);
    steps_ = Number("SELECT max(steps) FROM polykern_state");
    clients_ = Number("SELECT count(*) FROM polykern_client");
    VoidOpenParts();
  }

  StoreContents Contents() override {
    const PostgresqlTransaction snapshot(connection_, PostgresqlTransaction::Kind::kRead);
    return ContentsOf(connection_);
  }

  void CheckRoom(std::size_t numbers) const override { CheckStateSize(numbers); }

  void Write(const StoreBatch& batch) override {
    const std::int64_t now = std::time(nullptr);
    PostgresqlTransaction transaction(connection_);
    std::uint64_t number = clients_;
    for (const std::string& name : batch.clients) {
      connection_.Run("INSERT INTO polykern_client VALUES($1, $2, $3, $3)", {number++, name, now});
    }
    if (batch.configuration != nullptr) ReplaceConfiguration(connection_, *batch.configuration);
    if (batch.step) WriteStep(*batch.step, now);
    WriteEvents(connection_, batch.events);
    WriteNotes(connection_, batch.notes);
    transaction.Commit();
    clients_ += batch.clients.size();
    if (batch.step) steps_ = batch.step->steps;
  }

  void Fill(const StoreContents& other) override {
    assert(clients_ == 0 && steps_ == 0);
    PostgresqlTransaction transaction(connection_);
    std::uint64_t number = 0;
    for (const StoredClient& client : other.clients) {
      connection_.Run("INSERT INTO polykern_client VALUES($1, $2, $3, $4, $5, $6, $7)",
                      {number, client.name, client.first_seen, client.last_seen, client.accepted,
                       client.rejected, client.next_step});
      const NotedClient noted{number++, client.note};
      if (client.note != ClientNote{}) WriteNotes(connection_, {&noted, 1});
    }
    if (const auto& newest = other.newest) {
      WriteStep({.steps = newest->steps, .state = newest->state, .counted = {}}, 0);
      connection_.Run("UPDATE polykern_step SET participants = $1, time = $2",
                      {other.participants, other.committed});
    }
    transaction.Commit();
    clients_ = number;
    if (other.newest) steps_ = other.newest->steps;
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

  /// What front ends have handed in for the open step: no front end ends it any more, so it does
  /// not count, and its clients send it again.
  void VoidOpenParts() {
    PostgresqlTransaction transaction(connection_);
    connection_.Run(
        "DELETE FROM polykern_partial; DELETE FROM polykern_move; DELETE FROM polykern_front");
    connection_.Run(
        "UPDATE polykern_client SET front = 0, next_step = least(next_step, $1), "
        "accepted = accepted - (next_step > $1)::int WHERE front <> 0 OR next_step > $1",
        {steps_});
    transaction.Commit();
  }

  /// Inside a transaction. A statement each for all clients, however many: what a step costs is
  /// their rows.
  void WriteStep(const StepCommit& step, std::int64_t now) {
    WriteState(connection_, step, step.counted.size(), steps_);
    // A client may be counted for several steps: of these the last is its newest.
    connection_.Run(
        "UPDATE polykern_client SET accepted = accepted + u.count, last_seen = $3, "
        "next_step = u.step + 1 FROM (SELECT client, count(*) AS count, max(step) AS step "
        "FROM unnest($1::bigint[], $2::bigint[]) AS t(client, step) GROUP BY client) AS u "
        "WHERE number = u.client",
        {ArrayOf(step.counted, [](const CountedUpdate& u) { return u.client; }),
         ArrayOf(step.counted, [](const CountedUpdate& u) { return u.step; }), now});
    WriteRejections(connection_, step.rejected);
    connection_.Run("UPDATE polykern_open SET step = $1, ready = true, asked = false",
                    {step.steps});
  }

  Connection connection_;
  std::uint64_t steps_ = 0;
  std::uint64_t clients_ = 0;
};

std::unique_ptr<Store> OpenPostgresql(const std::string& place,
                                      const StoreConfiguration* configuration) {
  return std::make_unique<PostgresqlStore>(place, configuration);
}

StoreContents ReadPostgresql(const std::string& place) {
  Connection connection(place);
  if (!IsThere(connection)) {
    throw Error(connection.name() + ": there is no store here; check the URL");
  }
  const PostgresqlTransaction snapshot(connection, PostgresqlTransaction::Kind::kRead);
  CheckVersion(connection);
  return ContentsOf(connection);
}

bool HasPostgresql(const std::string& place) {
  Connection connection(place);
  return IsThere(connection);
}

/// Neither copies nor puts back.
std::uint64_t HasToolsOfItsOwn(const std::string&, const std::string&) {
  throw Error("a database is backed up and restored with its own tools, such as pg_dump");
}

}  // namespace

StoreKind PostgresqlStoreKind() {
  return {.scheme = "postgresql",
          .open = OpenPostgresql,
          .read = ReadPostgresql,
          .exists = HasPostgresql,
          .backup = HasToolsOfItsOwn,
          .restore = HasToolsOfItsOwn,
          .open_to_note = [](const std::string& place) { return OpenPostgresql(place, nullptr); },
          .has_fronts = true};
}

}  // namespace polykern
