#include <cerrno>

#include "polykern/net/sqlite/sqlite_internal.h"
#include "polykern/net/store/store.h"

namespace polykern {

Database::Database(std::string path, Mode mode, FileWords words)
    : path_(std::move(path)), words_(std::move(words)) {
  const int flags = mode == Mode::kRead    ? SQLITE_OPEN_READONLY
                    : mode == Mode::kWrite ? SQLITE_OPEN_READWRITE
                                           : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const int code = sqlite3_open_v2(path_.c_str(), &handle_, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  if (code != SQLITE_OK) {
    try {
      Fail(code);
    } catch (...) {
      sqlite3_close(handle_);  // the destructor will not
      throw;
    }
  }
  sqlite3_extended_result_codes(handle_, 1);
  sqlite3_busy_timeout(handle_, 5000);
}

Database::~Database() {
  sqlite3_close(handle_);
}

void Database::Run(const char* sql) {
  const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) Fail(code);
}

std::int64_t Database::Number(const char* sql) {
  Statement query(*this, sql);
  return query.Next() ? query.Integer(0) : 0;
}

void Database::Fail(int code) {
  // SQLite tells ENOSPC by its own code, and forgets the others (a quota, a limit) on COMMIT.
  const int last = errno;
  const int primary = code & 0xff;
  const bool no_room = last == ENOSPC || last == EDQUOT || last == EFBIG;
  const std::string words = handle_ != nullptr ? sqlite3_errmsg(handle_) : "out of memory";
  if (primary == SQLITE_FULL || (primary == SQLITE_IOERR && no_room)) {
    throw DiskFull(path_ + ": the disk is full; what was committed is safe; make room");
  }
  switch (primary) {
    case SQLITE_NOTADB:
      throw Error(path_ + ": is not a " + what() + " of polykern; name another file");
    case SQLITE_CORRUPT:
      throw Error(path_ + ": the " + what() + " is damaged (" + words + "); " + remedy());
    case SQLITE_NOMEM:
      throw Error(path_ + ": out of memory; end other programs, or give this one more");
    case SQLITE_CANTOPEN:
      throw Error(
          path_ +
          ": cannot be opened; check the path, and that this user may read and write there");
    case SQLITE_READONLY:
    case SQLITE_PERM:
      throw Error(path_ + ": cannot be written; run it as the owner, or name another place");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw Error(path_ + ": another process is using the " + what() + "; stop it, or try again");
    default:
      throw Error(path_ + ": the " + what() + " cannot be used; check the disk (" + words + ")");
  }
}

Statement::Statement(Database& database, const char* sql) : database_(database) {
  Check(sqlite3_prepare_v3(database.handle(), sql, -1, SQLITE_PREPARE_PERSISTENT, &statement_,
                           nullptr));
}

Statement& Statement::Bind(int index, std::int64_t value) {
  Check(sqlite3_bind_int64(statement_, index, value));
  return *this;
}

Statement& Statement::Bind(int index, std::string_view value) {
  Check(sqlite3_bind_text64(statement_, index, value.data(), value.size(), SQLITE_STATIC,
                            SQLITE_UTF8));
  return *this;
}

Statement& Statement::Bind(int index, std::span<const std::byte> value) {
  // A null pointer would bind NULL, not no bytes.
  static constexpr std::byte kNothing{};
  Check(sqlite3_bind_blob64(statement_, index, value.empty() ? &kNothing : value.data(),
                            value.size(), SQLITE_STATIC));
  return *this;
}

void Statement::Run() {
  while (Next()) {
  }
}

bool Statement::Next() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) {
    sqlite3_reset(statement_);
    return false;
  }
  try {
    database_.Fail(code);
  } catch (...) {
    sqlite3_reset(statement_);
    throw;
  }
}

std::string Statement::Text(int column) {
  const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (text == nullptr) return {};
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

std::span<const std::byte> Statement::Blob(int column) {
  const auto* const bytes = static_cast<const std::byte*>(sqlite3_column_blob(statement_, column));
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

void Statement::Check(int code) {
  if (code != SQLITE_OK) database_.Fail(code);
}

}  // namespace polykern
