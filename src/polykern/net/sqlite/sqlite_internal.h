#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <sqlite3.h>

namespace polykern {

/// SQLite has signed integers alone.
inline std::int64_t Signed(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}
inline std::uint64_t Unsigned(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}

/// In the words of messages: what a file is, and what to do when it is damaged.
struct FileWords {
  std::string what = "store";
  std::string remedy = "restore the latest copy of it";
};

/// SQLite with owners and exceptions. Failures throw Error, or DiskFull, with the file's path.
class Database {
 public:
  enum class Mode { kRead, kWrite, kCreate };
  Database(std::string path, Mode mode, FileWords words = {});
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void Run(const char* sql);
  /// The one number that a query gives.
  std::int64_t Number(const char* sql);
  [[noreturn]] void Fail(int code);

  sqlite3* handle() const { return handle_; }
  const std::string& path() const { return path_; }
  const std::string& what() const { return words_.what; }
  const std::string& remedy() const { return words_.remedy; }

 private:
  std::string path_;
  FileWords words_;
  sqlite3* handle_ = nullptr;
};

/// A prepared statement, to be run any number of times. Values bound are not copied.
class Statement {
 public:
  Statement(Database& database, const char* sql);
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& Bind(int index, std::int64_t value);
  Statement& Bind(int index, std::string_view value);
  Statement& Bind(int index, std::span<const std::byte> value);

  /// Runs to the end and makes ready for the next time.
  void Run();
  /// The next row; false, and ready for the next time, when there is none.
  bool Next();

  std::int64_t Integer(int column) { return sqlite3_column_int64(statement_, column); }
  std::string Text(int column);
  /// Until the next call of Next.
  std::span<const std::byte> Blob(int column);

 private:
  void Check(int code);

  Database& database_;
  sqlite3_stmt* statement_ = nullptr;
};

/// Ends a transaction that is open.
inline void Rollback(const Database& database) {
  if (sqlite3_get_autocommit(database.handle()) == 0) {
    sqlite3_exec(database.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
}

/// All or nothing: undone unless committed.
class Transaction {
 public:
  explicit Transaction(Database& database) : database_(database) {
    database_.Run("BEGIN IMMEDIATE");
  }
  ~Transaction() { Rollback(database_); }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void Commit() { database_.Run("COMMIT"); }

 private:
  Database& database_;
};

/// All that is read while it lives is of one moment.
class Snapshot {
 public:
  explicit Snapshot(Database& database) : database_(database) { database_.Run("BEGIN"); }
  ~Snapshot() { Rollback(database_); }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

 private:
  Database& database_;
};

}  // namespace polykern
