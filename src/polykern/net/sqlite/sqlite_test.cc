// SQLite with owners and exceptions: what goes in comes out, and what fails says what to do.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/error.h"
#include "polykern/core/random.h"
#include "polykern/io/files.h"
#include "polykern/io/folder_testing.h"
#include "polykern/net/sqlite/sqlite_file_internal.h"
#include "polykern/net/store/store.h"

namespace polykern {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr SqliteFormat kShelf{0x1234, 2, "CREATE TABLE book(title TEXT NOT NULL)"};

class ADatabase : public testing::Test {
 protected:
  static void Nothing(Database&) {}
  /// The error's text, of one line that begins with the file.
  std::string Failure(const std::function<void()>& act) const {
    const std::string text = MessageOf(act);
    EXPECT_THAT(text, StartsWith(path + ": "));
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    return text;
  }

  TestFolder folder;
  const std::string path = folder.At("a.db");
};

TEST_F(ADatabase, GivesBackWhatItWasGiven) {
  Random random(1, Purpose::kTest);
  Database database(path, Database::Mode::kCreate);
  database.Run("CREATE TABLE t(id INTEGER, number INTEGER, words TEXT, bytes BLOB)");
  struct Row {
    std::int64_t number;
    std::string words, bytes;
  };
  std::vector<Row> rows = {{std::numeric_limits<std::int64_t>::min(), "", ""},
                           {std::numeric_limits<std::int64_t>::max(), "it's \"so\"\n", "\0x"}};
  for (int n = 0; n < 100; ++n) {
    std::string bytes(random.Below(5000), '\0');
    for (char& c : bytes) c = static_cast<char>(random.Below(256));
    rows.push_back({Signed(random.Below(std::uint64_t{1} << 63)) - 5,
                    std::string(random.Below(300), 'w'), bytes});
  }
  Statement insert(database, "INSERT INTO t VALUES(?, ?, ?, ?)");
  for (std::size_t k = 0; k < rows.size(); ++k) {
    insert.Bind(1, Signed(k)).Bind(2, rows[k].number).Bind(3, rows[k].words);
    insert.Bind(4, std::as_bytes(std::span(rows[k].bytes))).Run();
  }
  Statement query(database, "SELECT number, words, bytes FROM t ORDER BY id");
  for (const Row& row : rows) {
    ASSERT_TRUE(query.Next());
    EXPECT_EQ(query.Integer(0), row.number);
    EXPECT_EQ(query.Text(1), row.words);
    const auto bytes = query.Blob(2);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), row.bytes);
  }
  EXPECT_FALSE(query.Next());
  EXPECT_TRUE(query.Next()) << "ready for the next time";
  EXPECT_EQ(database.Number("SELECT count(*) FROM t WHERE bytes IS NULL OR words IS NULL"), 0);
}

TEST_F(ADatabase, UndoesWhatIsNotCommittedHoweverItEnds) {
  Database database(path, Database::Mode::kCreate);
  database.Run("CREATE TABLE t(x UNIQUE)");
  {
    const Transaction transaction(database);
    database.Run("INSERT INTO t VALUES(1)");
  }
  EXPECT_THROW(
      {
        Transaction transaction(database);
        database.Run("INSERT INTO t VALUES(2)");
        database.Run("INSERT INTO t VALUES(2)");
        transaction.Commit();
      },
      Error);
  EXPECT_EQ(database.Number("SELECT count(*) FROM t"), 0);
  {
    Transaction transaction(database);
    database.Run("INSERT INTO t VALUES(3)");
    transaction.Commit();
  }
  EXPECT_EQ(database.Number("SELECT sum(x) FROM t"), 3);
}

TEST_F(ADatabase, IsOfOneMomentInASnapshotWhileAnotherWrites) {
  Database writer(path, Database::Mode::kCreate);
  writer.Run("PRAGMA journal_mode = WAL; CREATE TABLE t(x); INSERT INTO t VALUES(1)");
  Database reader(path, Database::Mode::kRead);
  {
    const Snapshot snapshot(reader);
    EXPECT_EQ(reader.Number("SELECT count(*) FROM t"), 1);
    writer.Run("INSERT INTO t VALUES(2)");
    EXPECT_EQ(reader.Number("SELECT count(*) FROM t"), 1);
  }
  EXPECT_EQ(reader.Number("SELECT count(*) FROM t"), 2);
}

TEST_F(ADatabase, GivesNoNumberAsZero) {
  Database database(path, Database::Mode::kCreate);
  database.Run("CREATE TABLE t(x)");
  EXPECT_EQ(database.Number("SELECT x FROM t"), 0);
  EXPECT_EQ(database.Number("SELECT max(x) FROM t"), 0) << "NULL";
}

TEST_F(ADatabase, SaysWhatIsWrongInWordsOfItsOwn) {
  EXPECT_THAT(Failure([&] { Database(path, Database::Mode::kRead); }), HasSubstr("cannot be open"));
  Database database(path, Database::Mode::kCreate, {"ledger"});
  database.Run("CREATE TABLE t(x UNIQUE); INSERT INTO t VALUES(1)");
  EXPECT_THAT(Failure([&] { database.Run("INSERT INTO t VALUES(1)"); }),
              HasSubstr("the ledger cannot be used; check the disk (UNIQUE "));
  EXPECT_THAT(Failure([&] { Statement(database, "SELECT nonsense"); }),
              HasSubstr("the ledger cannot be used; check the disk (no such column"));
  Statement insert(database, "INSERT INTO t VALUES(?)");
  EXPECT_THROW(insert.Bind(1, std::int64_t{1}).Run(), Error);
  EXPECT_NO_THROW(insert.Bind(1, std::int64_t{2}).Run()) << "it can be used again";
  Database reader(path, Database::Mode::kRead, {"ledger"});
  EXPECT_THAT(Failure([&] { reader.Run("INSERT INTO t VALUES(3)"); }),
              HasSubstr("cannot be written; run it as the owner"));
}

TEST_F(ADatabase, ThatAnotherHasLockedIsInUse) {
  Database one(path, Database::Mode::kCreate);
  one.Run("CREATE TABLE t(x)");
  Database other(path, Database::Mode::kWrite, {"log"});
  sqlite3_busy_timeout(other.handle(), 1);
  Transaction transaction(one);
  EXPECT_THAT(Failure([&] { const Transaction second(other); }),
              HasSubstr("another process is using the log; stop it, or try again"));
  transaction.Commit();
  EXPECT_NO_THROW(other.Run("INSERT INTO t VALUES(1)"));
}

TEST_F(ADatabase, ThatIsOwnedBeginsWithItsTablesAndWhatFillsIt) {
  {
    OwnedDatabase shelf(path, FileWords{"shelf"}, kShelf,
                        [](Database& d) { d.Run("INSERT INTO book VALUES('one')"); });
    EXPECT_EQ((*shelf).Number("PRAGMA user_version"), 2);
  }
  const OwnedDatabase again(path, FileWords{"shelf"}, kShelf,
                            [](Database& d) { d.Run("INSERT INTO book VALUES('two')"); });
  Database reader(path, Database::Mode::kRead);
  EXPECT_EQ(reader.Number("SELECT count(*) FROM book"), 1) << "it is filled once";
}

TEST_F(ADatabase, WhoseFillingFailsIsLeftEmptyAndMayBeMadeAgain) {
  const auto fails = [](Database& database) {
    database.Run("INSERT INTO book VALUES('half')");
    throw Error("the author has left");
  };
  EXPECT_EQ(MessageOf([&] { OwnedDatabase(path, FileWords{"shelf"}, kShelf, fails); }),
            "the author has left");
  {
    Database half(path, Database::Mode::kRead);
    EXPECT_TRUE(IsEmptyDatabase(half));
  }
  EXPECT_THAT(Failure([&] { OwnedDatabase(path, FileWords{"shelf"}, kShelf, nullptr); }),
              HasSubstr("is not a shelf of polykern"))
      << "who makes none finds none";
  EXPECT_NO_THROW(OwnedDatabase(path, FileWords{"shelf"}, kShelf, Nothing));
}

TEST_F(ADatabase, IsOwnedByOneAtATimeAndNotMadeForThoseWhoReadIt) {
  EXPECT_THAT(Failure([&] { OwnedDatabase(path, FileWords{"shelf"}, kShelf, nullptr); }),
              HasSubstr("there is no shelf here; check the path"));
  EXPECT_FALSE(FileExists(path));
  const OwnedDatabase shelf(path, FileWords{"shelf"}, kShelf, Nothing);
  EXPECT_THAT(Failure([&] { OwnedDatabase(path, FileWords{"shelf"}, kShelf, Nothing); }),
              HasSubstr("another process is using the shelf; stop it first"));
}

TEST_F(ADatabase, OfAnotherFormatIsLeftAsItIs) {
  constexpr SqliteFormat kGarden{0x4321, 1, "CREATE TABLE bed(flower TEXT)"};
  { OwnedDatabase(path, FileWords{"shelf"}, kShelf, Nothing); }
  const std::string before = ReadWholeFile(path);
  EXPECT_THAT(Failure([&] { OwnedDatabase(path, FileWords{"garden"}, kGarden, Nothing); }),
              HasSubstr("is not a garden of polykern; name another file"));
  constexpr SqliteFormat kOldShelf{kShelf.application, 1, kShelf.schema};
  EXPECT_THAT(Failure([&] { OwnedDatabase(path, FileWords{"shelf"}, kOldShelf, Nothing); }),
              HasSubstr("the shelf has version 2, made by a newer polykern; this one knows 1"));
  EXPECT_EQ(ReadWholeFile(path), before);
}

}  // namespace
}  // namespace polykern
