#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "polykern/net/front/front_tables_internal.h"
#include "polykern/net/postgresql/postgresql_tables_internal.h"

namespace polykern {

Connection ConnectFront(const std::string& place) {
  Connection connection(place, kFrontPatience);
  connection.Run(
      "SET idle_session_timeout = '5s'; SET idle_in_transaction_session_timeout = '2s'; "
      "SET tcp_user_timeout = '6s'; SET tcp_keepalives_idle = 3; SET tcp_keepalives_interval = 1; "
      "SET tcp_keepalives_count = 3");
  Occupy(connection, TableUse::kTogether);
  return connection;
}

std::string WrongClock(std::int64_t here, std::int64_t there) {
  constexpr std::int64_t kClose = 60;
  if (std::abs(here - there) <= kClose) return {};
  return "this machine's clock is " + std::to_string(std::abs(here - there)) + " s " +
         (here > there ? "ahead of" : "behind") +
         " the database's: steps are ended by the database's, but certificates and times in logs "
         "need the right one; set the clocks";
}

std::string ChannelOf(Connection& connection, Ears ears) {
  const std::int64_t schema =
      connection.Number("SELECT hashtext(current_schema())::bigint & 4294967295");
  return (ears == Ears::kEnder ? "polykern_ender_" : "polykern_fronts_") + std::to_string(schema);
}

void Notify(Connection& connection, const std::string& channel, const std::string& words) {
  connection.Run("SELECT pg_notify($1, $2)", {channel, words});
}

void LockFront(Connection& connection, std::uint64_t front) {
  connection.Run(
      "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 "
      "AND classid::bigint = hashtext('polykern front ' || current_schema())::bigint & 4294967295 "
      "AND objid::bigint = $1 AND pid <> pg_backend_pid()",
      {front});
  connection.Run("SET lock_timeout = '3s'");
  connection.Run(
      "SELECT pg_advisory_lock(hashtext('polykern front ' || current_schema()), $1::int)", {front});
  connection.Run("SET lock_timeout = 0");
}

FederationNow LookAt(Connection& connection, std::uint64_t own_front) {
  const PostgresqlTransaction snapshot(connection, PostgresqlTransaction::Kind::kRead);
  FederationNow now;
  const Rows open = connection.Run(
      "SELECT step, ready::int, asked::int, known, leader, "
      "(SELECT coalesce(max(number) + 1, 0) FROM polykern_client) FROM polykern_open",
      {});
  now.open = {open.Count(0, 0), open.Integer(0, 1) != 0, open.Integer(0, 2) != 0};
  now.all.step = now.open.step;
  now.all.enrolled = open.Count(0, 5);
  // Who answered the open step counts as ever, and `known` does not know yet of who did so first.
  const Rows gone = connection.Run(
      "SELECT count(*), count(*) FILTER (WHERE next_step <= $1), "
      "count(*) FILTER (WHERE next_step BETWEEN 1 AND $1) FROM polykern_client WHERE gone",
      {now.open.step});
  now.all.gone = gone.Count(0, 0);
  now.all.gone_unanswered = gone.Count(0, 1);
  const Rows partials = connection.Run(
      "SELECT count(*), coalesce(sum(clients), 0)::bigint, coalesce(sum(newcomers), 0)::bigint, "
      "coalesce(extract(epoch FROM clock_timestamp() - min(began)) * 1000, 0)::bigint "
      "FROM polykern_partial WHERE step = $1",
      {now.open.step});
  now.partials = partials.Count(0, 0);
  now.all.answered = partials.Count(0, 1);
  now.all.expected = open.Count(0, 3) + partials.Count(0, 2) - gone.Count(0, 2);
  now.age = partials.Integer(0, 3);
  const std::vector<std::uint64_t> living = LivingFronts(connection);
  const Rows fronts = connection.Run(
      "SELECT id, address, step, connected, waiting, held, newcomers, asked::int, accepted "
      "FROM polykern_front ORDER BY address",
      {});
  for (std::size_t i = 0; i < fronts.size(); ++i) {
    const std::uint64_t id = fronts.Count(i, 0);
    if (!std::ranges::binary_search(living, id)) continue;
    now.all.fronts.push_back({.report = {fronts.Text(i, 1), fronts.Count(i, 2), fronts.Count(i, 3),
                                         fronts.Count(i, 4), fronts.Count(i, 5), fronts.Count(i, 6),
                                         fronts.Integer(i, 7) != 0, fronts.Count(i, 8)},
                              .leads = id == open.Count(0, 4),
                              .here = id == own_front});
    now.all.expected += fronts.Count(i, 6);
  }
  return now;
}

}  // namespace polykern
