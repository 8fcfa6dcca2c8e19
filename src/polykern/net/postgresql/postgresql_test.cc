// What a connection to a real database makes of what happens to it.
#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/net/postgresql/database_testing.h"
#include "polykern/net/postgresql/postgresql_internal.h"
#include "polykern/net/store/store.h"

namespace polykern {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class AConnection : public InADatabase {
 protected:
  /// What it says when a statement fails so.
  template <typename Kind>
  std::string Failure(Connection& connection, const char* sql) {
    try {
      connection.Run(sql);
    } catch (const Kind& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(AConnection, GivesBackWhatItWasGiven) {
  Connection connection(place_);
  connection.Run("CREATE TABLE t(number bigint, words text, bytes bytea)");
  const std::string bytes("\0\1\xff", 3);
  connection.Run("INSERT INTO t VALUES($1, $2, $3)",
                 {std::int64_t{-7}, std::string("it's"), std::as_bytes(std::span(bytes))});
  connection.Run("INSERT INTO t VALUES($1, $2, $3)",
                 {std::uint64_t{8}, std::string(), std::span<const std::byte>()});
  const Rows rows = connection.Run("SELECT number, words, bytes FROM t ORDER BY number", {});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows.Integer(0, 0), -7);
  EXPECT_EQ(rows.Text(0, 1), "it's");
  EXPECT_EQ(rows.Text(0, 2), bytes);
  EXPECT_EQ(rows.Count(1, 0), 8U);
  EXPECT_EQ(rows.Text(1, 1) + rows.Text(1, 2), "");
  EXPECT_EQ(connection.Run("UPDATE t SET number = 1", {}).changed(), 2U);
}

TEST_F(AConnection, UndoesWhatIsNotCommitted) {
  Connection connection(place_);
  connection.Run("CREATE TABLE t(number bigint)");
  {
    const PostgresqlTransaction transaction(connection);
    connection.Run("INSERT INTO t VALUES(1)");
  }
  EXPECT_EQ(Number("SELECT count(*) FROM t"), 0);
  {
    PostgresqlTransaction transaction(connection);
    connection.Run("INSERT INTO t VALUES(1)");
    transaction.Commit();
  }
  EXPECT_EQ(Number("SELECT count(*) FROM t"), 1);
}

TEST_F(AConnection, TellsFailuresApart) {
  Connection connection(place_);
  const auto raised = [](const char* code) {
    return std::string("DO $$ BEGIN RAISE 'it is so' USING ERRCODE = '") + code + "'; END $$";
  };
  EXPECT_THAT(Failure<DiskFull>(connection, raised("53100").c_str()),
              HasSubstr(": the disk is full; what was committed is safe; make room"));
  EXPECT_THAT(Failure<StoreInUse>(connection, raised("55P03").c_str()),
              HasSubstr(": another process is using the store; stop it first"));
  EXPECT_THAT(Failure<DatabaseAway>(connection, raised("57P01").c_str()),
              HasSubstr(": the database is away (it is so)"));
  EXPECT_THAT(Failure<Error>(connection, raised("42501").c_str()),
              HasSubstr(": the store failed (it is so); let this user make and change tables"));
  EXPECT_THAT(Failure<Error>(connection, "SELECT 1 / 0"),
              HasSubstr(": the store failed (division by zero); check the database"));
  EXPECT_EQ(connection.Number("SELECT 5::bigint"), 5) << "it goes on after a failure";
}

TEST_F(AConnection, SaysThatAReplicaTakesNothing) {
  Connection connection(place_);
  connection.Run("SET default_transaction_read_only = on");
  EXPECT_THAT(Failure<Error>(connection, "CREATE TABLE t(number bigint)"),
              HasSubstr("it is a replica: name the primary server"));
}

TEST_F(AConnection, NoticesThatItWasCut) {
  Connection connection(place_);
  const std::int64_t pid = connection.Number("SELECT pg_backend_pid()::bigint");
  Connection(place_).Run("SELECT pg_terminate_backend($1::bigint::int)", {pid});
  EXPECT_THAT(Failure<DatabaseAway>(connection, "SELECT 1"), HasSubstr(": the database is away ("));
}

TEST_F(AConnection, WaitsNoLongerThanItsPatience) {
  Connection connection(place_, milliseconds(1000));
  const auto began = std::chrono::steady_clock::now();
  EXPECT_THAT(Failure<DatabaseAway>(connection, "SELECT pg_sleep(30)"),
              HasSubstr("the database is away (no answer for 1 s)"));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
}

TEST_F(AConnection, HearsWhatIsSaidOnItsChannel) {
  Connection listener(place_);
  listener.Run("LISTEN here");
  EXPECT_THAT(listener.Notifications(milliseconds(0)), IsEmpty());
  Connection speaker(place_);
  speaker.Run("NOTIFY here, 'one'");
  speaker.Run("NOTIFY elsewhere, 'two'");
  EXPECT_THAT(listener.Notifications(milliseconds(10'000)), ElementsAre("one"));
  EXPECT_THAT(listener.Notifications(milliseconds(1)), IsEmpty());
}

TEST_F(AConnection, IsNotThereWithoutADatabase) {
  try {
    const Connection connection("///?host=/nowhere&connect_timeout=2");
    FAIL();
  } catch (const DatabaseAway& error) {
    EXPECT_THAT(error.what(), HasSubstr("postgresql: no connection ("));
    EXPECT_THAT(error.what(), HasSubstr("); check the URL, and that the database runs"));
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace polykern
