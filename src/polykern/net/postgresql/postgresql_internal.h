#pragma once

#include <bit>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <libpq-fe.h>

#include "polykern/core/error.h"

namespace polykern {

/// A value of a statement, in PostgreSQL's own text or bytes. Those of bytes are not copied.
struct Value {
  Value(std::int64_t number) : text(std::to_string(number)) {}
  Value(std::uint64_t number) : text(std::to_string(number)) {}
  Value(std::string words) : text(std::move(words)) {}
  Value(std::span<const std::byte> blob) : bytes(blob) {}

  /// A null pointer would be NULL, not no bytes.
  const char* data() const {
    if (!bytes) return text.c_str();
    return bytes->empty() ? "" : reinterpret_cast<const char*>(bytes->data());
  }

  std::string text = {};
  std::optional<std::span<const std::byte>> bytes = {};
};

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

inline std::string NumbersOf(const std::vector<std::uint64_t>& numbers) {
  return ArrayOf(numbers, [](std::uint64_t number) { return number; });
}

/// What a statement gave: rows of bytes in PostgreSQL's binary form.
class Rows {
 public:
  explicit Rows(PGresult* result) : result_(result, &PQclear) {}
  const PGresult* get() const { return result_.get(); }

  std::size_t size() const { return static_cast<std::size_t>(PQntuples(result_.get())); }
  bool empty() const { return size() == 0; }
  std::span<const std::byte> Bytes(std::size_t row, int column) const {
    const int r = static_cast<int>(row);
    return {reinterpret_cast<const std::byte*>(PQgetvalue(result_.get(), r, column)),
            static_cast<std::size_t>(PQgetlength(result_.get(), r, column))};
  }
  std::string Text(std::size_t row, int column) const {
    const auto bytes = Bytes(row, column);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  /// Of a bigint; 0 for null.
  std::int64_t Integer(std::size_t row, int column) const {
    std::uint64_t value = 0;
    for (const std::byte byte : Bytes(row, column)) {
      value = value << 8 | std::to_integer<std::uint64_t>(byte);
    }
    return std::bit_cast<std::int64_t>(value);
  }
  std::uint64_t Count(std::size_t row, int column) const {
    return static_cast<std::uint64_t>(Integer(row, column));
  }
  /// Rows that a statement changed.
  std::uint64_t changed() const {
    const std::string_view text = PQcmdTuples(result_.get());
    std::uint64_t count = 0;
    std::from_chars(text.data(), text.data() + text.size(), count);
    return count;
  }

 private:
  std::unique_ptr<PGresult, decltype(&PQclear)> result_;
};

/// The database is away: whether the last request has happened is unknown. The connection
/// is of no use any more.
class DatabaseAway : public Error {
 public:
  using Error::Error;
};

/// libpq with an owner and exceptions. Failures throw Error, or DiskFull, with the database's name.
/// One thread at a time.
class Connection {
 public:
  /// Longest times to wait for an answer.
  static constexpr std::chrono::milliseconds kForEver{-1};

  /// What follows postgresql: in a URL. Throws Error if there is no connection in ten seconds.
  /// `patience`: a database that leaves a statement unanswered for longer is away.
  explicit Connection(const std::string& place, std::chrono::milliseconds patience = kForEver);

  /// Host and database, without the password that a URL may hold.
  const std::string& name() const { return name_; }

  /// Any number of statements.
  void Run(const char* sql) { Judge(PQsendQuery(handle_.get(), sql)); }
  /// One statement.
  Rows Run(const char* sql, std::initializer_list<Value> values);
  /// The one number that a query gives.
  std::int64_t Number(const char* sql) {
    const Rows rows = Run(sql, {});
    return rows.empty() ? 0 : rows.Integer(0, 0);
  }

  /// What others have said on a channel that this one listens to, waiting so long for it.
  std::vector<std::string> Notifications(std::chrono::milliseconds longest);

 private:
  /// The last result of what was sent; throws if one of them is bad.
  Rows Judge(int sent);
  PGresult* NextResult();
  void CheckResult(const PGresult* result) const;
  void Flush();
  /// True: the socket has one of these events, as poll knows them.
  bool Wait(short events, std::chrono::milliseconds longest) const;
  [[noreturn]] void ThrowSilent() const;
  [[noreturn]] void ThrowAway(const std::string& why) const;
  /// The first line of what the database says.
  std::string Words() const;

  std::unique_ptr<PGconn, decltype(&PQfinish)> handle_;
  std::string name_;
  std::chrono::milliseconds patience_;
};

/// All or nothing: undone unless committed. A reader's is of one moment.
class PostgresqlTransaction {
 public:
  enum class Kind { kWrite, kRead };
  explicit PostgresqlTransaction(Connection& connection, Kind kind = Kind::kWrite)
      : connection_(connection) {
    connection_.Run(kind == Kind::kWrite ? "BEGIN"
                                         : "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  }
  ~PostgresqlTransaction() {
    if (committed_) return;
    try {
      connection_.Run("ROLLBACK");
    } catch (const Error&) {  // the connection is lost, and with it the transaction
    }
  }
  PostgresqlTransaction(const PostgresqlTransaction&) = delete;
  PostgresqlTransaction& operator=(const PostgresqlTransaction&) = delete;
  void Commit() {
    connection_.Run("COMMIT");
    committed_ = true;
  }

 private:
  Connection& connection_;
  bool committed_ = false;
};

}  // namespace polykern
