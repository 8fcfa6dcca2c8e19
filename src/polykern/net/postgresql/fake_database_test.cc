// What a connection makes of databases that fail, fall silent or are none. They are sockets which
// say what a test wrote down, in PostgreSQL's protocol (version 3), so that no database is needed.
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <typeinfo>
#include <utility>
#include <vector>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/random.h"
#include "polykern/net/postgresql/postgresql_internal.h"
#include "polykern/net/store/store.h"

namespace polykern {
namespace {

using boost::asio::ip::tcp;
using std::chrono::milliseconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string BigEndian(std::uint64_t number, std::size_t bytes) {
  std::string text;
  for (std::size_t i = bytes; i-- > 0;) text += static_cast<char>(number >> (8 * i) & 0xff);
  return text;
}

/// A message of the protocol: its kind, its length, what it says.
std::string Said(char kind, const std::string& body) {
  return kind + BigEndian(body.size() + 4, 4) + body;
}
std::string Ready() {
  return Said('Z', "I");
}
std::string Greeting() {
  return Said('R', BigEndian(0, 4)) +
         Said('S', std::string("server_version\0"
                               "15.0\0",
                               20)) +
         Ready();
}
std::string Done(const std::string& tag) {
  return Said('C', tag + '\0');
}
std::string Failed(const std::string& state, const std::string& words) {
  return Said('E', "SERROR" + std::string(1, '\0') + "C" + state + '\0' + "M" + words + '\0' +
                       std::string(1, '\0'));
}
/// One column of one row.
std::string Row(const std::string& value) {
  const std::string column = std::string("n\0", 2) + BigEndian(0, 4) + BigEndian(0, 2) +
                             BigEndian(20, 4) + BigEndian(8, 2) + BigEndian(0, 4) + BigEndian(1, 2);
  return Said('T', BigEndian(1, 2) + column) +
         Said('D', BigEndian(1, 2) + BigEndian(value.size(), 4) + value);
}

/// Takes one connection, and answers what it asks with what it was given, one after the other; then
/// it hangs up, or says nothing until the client goes.
class FakeDatabase {
 public:
  enum class Then { kHangUp, kFallSilent };
  FakeDatabase(std::string greeting, std::vector<std::string> answers, Then then)
      : thread_([this, greeting = std::move(greeting), answers = std::move(answers), then] {
          tcp::socket socket = acceptor_.accept();
          boost::system::error_code over;
          std::string head(4, '\0');
          boost::asio::read(socket, boost::asio::buffer(head), over);
          Skip(socket, head, over);
          boost::asio::write(socket, boost::asio::buffer(greeting), over);
          for (const std::string& answer : answers) {
            if (!WaitForQuestion(socket)) return;
            boost::asio::write(socket, boost::asio::buffer(answer), over);
          }
          if (then == Then::kFallSilent) {
            while (WaitForQuestion(socket)) {
            }
          }
        }) {}
  ~FakeDatabase() {
    boost::asio::io_context io;
    tcp::socket unblocking(io);  // if no client came
    boost::system::error_code ignored;
    unblocking.connect(acceptor_.local_endpoint(), ignored);
    unblocking.close(ignored);
    thread_.join();
  }
  FakeDatabase(const FakeDatabase&) = delete;
  FakeDatabase& operator=(const FakeDatabase&) = delete;

  std::string place() const {
    return "//user:hunter2@127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()) +
           "/base?sslmode=disable&gssencmode=disable";
  }

 private:
  static void Skip(tcp::socket& socket, const std::string& length,
                   boost::system::error_code& over) {
    std::size_t size = 0;
    for (const char c : length) size = size << 8 | static_cast<std::uint8_t>(c);
    std::string body(over ? 0 : size - 4, '\0');
    boost::asio::read(socket, boost::asio::buffer(body), over);
  }
  /// A simple query, or all of one with values. False: the client has gone.
  static bool WaitForQuestion(tcp::socket& socket) {
    for (;;) {
      boost::system::error_code over;
      std::string head(5, '\0');
      boost::asio::read(socket, boost::asio::buffer(head), over);
      if (!over) Skip(socket, head.substr(1), over);
      if (over || head[0] == 'X') return false;
      if (head[0] == 'Q' || head[0] == 'S') return true;
    }
  }

  boost::asio::io_context io_;
  tcp::acceptor acceptor_{io_, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0)};
  std::thread thread_;
};

/// The words of the failure that an action ends with, of exactly this kind.
template <typename Kind, typename Action>
std::string WordsOf(const Action& action) {
  try {
    action();
  } catch (const Kind& error) {
    EXPECT_EQ(typeid(error), typeid(Kind)) << error.what();
    EXPECT_THAT(error.what(), AllOf(Not(HasSubstr("\n")), Not(HasSubstr("hunter2"))));
    return error.what();
  } catch (const std::exception& other) {
    return std::string("another kind: ") + other.what();
  }
  return "it did not fail";
}

/// The first answer is to what every connection begins with.
std::vector<std::string> AfterTheFirst(std::vector<std::string> answers) {
  answers.insert(answers.begin(), Done("SET") + Ready());
  return answers;
}

using Then = FakeDatabase::Then;

TEST(AFakeDatabase, IsNamedWithoutThePassword) {
  const FakeDatabase database(Greeting(), AfterTheFirst({}), Then::kFallSilent);
  const Connection connection(database.place());
  EXPECT_THAT(connection.name(), AllOf(StartsWith("postgresql://127.0.0.1:"), EndsWith("/base"),
                                       Not(HasSubstr("hunter2"))));
}

TEST(AFakeDatabase, GivesNumbers) {
  const std::string start = Said('1', "") + Said('2', "");
  const FakeDatabase database(
      Greeting(),
      AfterTheFirst(
          {start + Row(BigEndian(static_cast<std::uint64_t>(-7), 8)) + Done("SELECT 1") + Ready(),
           start + Done("UPDATE 41") + Ready()}),
      Then::kHangUp);
  Connection connection(database.place());
  EXPECT_EQ(connection.Number("SELECT -7"), -7);
  EXPECT_EQ(connection.Run("UPDATE t", {}).changed(), 41U);
}

TEST(AFakeDatabase, ThatHangsUpOrSpeaksSomethingElseIsNoConnection) {
  for (const std::string& greeting :
       {std::string(), std::string("HTTP/1.1 400 Bad Request\r\n\r\n"),
        std::string("SSH-2.0-OpenSSH_9.2\r\n"), Greeting().substr(0, 12),
        Failed("28P01", "password authentication failed\nfor a reason"), std::string(99, '\xff')}) {
    const FakeDatabase database(greeting, {}, Then::kHangUp);
    EXPECT_THAT(
        WordsOf<DatabaseAway>([&] { Connection(database.place()); }),
        AllOf(StartsWith("postgresql: no connection ("),
              EndsWith("); check the URL, and that the database runs and accepts this user")))
        << greeting;
  }
}

TEST(AFakeDatabase, ThatIsCutWithinAnAnswerIsAwayWhereverItIs) {
  Random random(1, Purpose::kTest);
  const std::string whole =
      Said('1', "") + Said('2', "") + Row(BigEndian(5, 8)) + Done("SELECT 1") + Ready();
  for (int n = 0; n < 15; ++n) {
    const std::size_t cut = random.Below(whole.size() - Ready().size());
    const FakeDatabase database(Greeting(), AfterTheFirst({whole.substr(0, cut)}), Then::kHangUp);
    Connection connection(database.place());
    EXPECT_THAT(WordsOf<DatabaseAway>([&] { connection.Number("SELECT 5"); }),
                HasSubstr(": the database is away ("))
        << cut;
    EXPECT_THAT(WordsOf<DatabaseAway>([&] { connection.Number("SELECT 5"); }),
                HasSubstr(": the database is away ("))
        << "and stays so";
  }
}

TEST(AFakeDatabase, ThatFallsSilentIsAwayAfterAWhile) {
  const FakeDatabase database(Greeting(), AfterTheFirst({}), Then::kFallSilent);
  Connection connection(database.place(), milliseconds(1000));
  const auto began = std::chrono::steady_clock::now();
  EXPECT_THAT(WordsOf<DatabaseAway>([&] { connection.Run("SELECT 1"); }),
              EndsWith("/base: the database is away (no answer for 1 s); check that it runs, and "
                       "the network to it"));
  EXPECT_GE(std::chrono::steady_clock::now() - began, milliseconds(1000));
}

TEST(AFakeDatabase, FailsInWordsThatSayWhatToDo) {
  const auto answer = [](const char* state) {
    return Failed(state, "words\nDETAIL: more") + Ready();
  };
  const FakeDatabase database(
      Greeting(),
      AfterTheFirst({answer("53100"), answer("55P03"), answer("57P01"), answer("08006"),
                     answer("25006"), answer("42501"), answer("XX000"), Done("OK") + Ready()}),
      Then::kHangUp);
  Connection connection(database.place());
  const auto run = [&] { connection.Run("INSERT"); };
  EXPECT_THAT(WordsOf<DiskFull>(run),
              EndsWith(": the disk is full; what was committed is safe; make room"));
  EXPECT_THAT(WordsOf<StoreInUse>(run),
              EndsWith(": another process is using the store; stop it first"));
  EXPECT_THAT(
      WordsOf<DatabaseAway>(run),
      EndsWith(": the database is away (words); check that it runs, and the network to it"));
  EXPECT_THAT(
      WordsOf<DatabaseAway>(run),
      EndsWith(": the database is away (words); check that it runs, and the network to it"));
  EXPECT_THAT(WordsOf<Error>(run),
              EndsWith("failed (words); it is a replica: name the primary server"));
  EXPECT_THAT(WordsOf<Error>(run),
              EndsWith("failed (words); let this user make and change tables there"));
  EXPECT_THAT(WordsOf<Error>(run), EndsWith("failed (words); check the database"));
  EXPECT_NO_THROW(run()) << "it goes on after failures";
}

TEST(AFakeDatabase, FailsIfAnyOfSeveralStatementsDoes) {
  const FakeDatabase database(
      Greeting(),
      AfterTheFirst({Done("ONE") + Failed("22012", "the second") + Ready(), Done("OK") + Ready()}),
      Then::kHangUp);
  Connection connection(database.place());
  EXPECT_THAT(WordsOf<Error>([&] { connection.Run("ONE; TWO; THREE"); }), HasSubstr("the second"));
  EXPECT_NO_THROW(connection.Run("OK"));
}

TEST(AFakeDatabase, UndoesATransactionThatFailedAndSurvivesItsLoss) {
  const FakeDatabase database(
      Greeting(),
      AfterTheFirst({Done("BEGIN") + Ready(), Failed("22012", "no") + Ready(),
                     Done("ROLLBACK") + Ready(), Done("BEGIN") + Ready()}),
      Then::kHangUp);
  Connection connection(database.place());
  EXPECT_THROW(
      {
        const PostgresqlTransaction transaction(connection);
        connection.Run("INSERT");
      },
      Error);
  const auto lost = [&] {
    PostgresqlTransaction transaction(connection);
    transaction.Commit();  // it has hung up: nobody knows whether it was done
  };
  EXPECT_THAT(WordsOf<DatabaseAway>(lost), HasSubstr(": the database is away ("));
}

TEST(AFakeDatabase, IsHeardWhenOthersSpeak) {
  const auto notice = [](const std::string& words) {
    return Said('A', BigEndian(1, 4) + "here" + '\0' + words + '\0');
  };
  const FakeDatabase database(
      Greeting(), AfterTheFirst({notice("one") + Done("LISTEN") + Ready() + notice("two")}),
      Then::kFallSilent);
  Connection connection(database.place());
  connection.Run("LISTEN here");
  std::vector<std::string> heard;
  while (heard.size() < 2) {
    for (std::string& words : connection.Notifications(milliseconds(10'000))) {
      heard.push_back(std::move(words));
    }
  }
  EXPECT_THAT(heard, ElementsAre("one", "two"));
}

TEST(AUrlOfADatabase, ThatMeansNothingIsRefusedWithoutItsPassword) {
  for (const std::string place :
       {"//u:hunter2@[bad/db", "//u:hunter2%zz@host/db", "///?password=hunter2%zz",
        "//u:hunter2@host:99999/db", "//u:hunter2@host:port/db", "//u:hunter2@/db?nonsense=1",
        "//u:hunter2@/db?host=%zz", "//u:hunter2@/db?connect_timeout=x",
        "///?host=/nowhere&password=hunter2", "//u:hunter2@127.0.0.1:1/db?connect_timeout=2"}) {
    EXPECT_THAT(WordsOf<DatabaseAway>([&] { Connection connection(place); }),
                StartsWith("postgresql: no connection ("))
        << place;
  }
}

TEST(ValuesOfAStatement, AreTextOrBytesAndNeverNull) {
  EXPECT_STREQ(Value(std::int64_t{-5}).data(), "-5");
  EXPECT_STREQ(Value(~std::uint64_t{0}).data(), "18446744073709551615");
  EXPECT_STREQ(Value(std::string("it's")).data(), "it's");
  EXPECT_NE(Value(std::span<const std::byte>()).data(), nullptr);
  EXPECT_EQ(NumbersOf({}), "{}");
  EXPECT_EQ(NumbersOf({7}), "{7}");
  EXPECT_EQ(NumbersOf({1, 22, 0}), "{1,22,0}");
}

}  // namespace
}  // namespace polykern
