#include <vector>

#include "polykern/net/postgresql/postgresql_internal.h"
#include "polykern/net/store/store.h"

namespace polykern {

Connection::Connection(const std::string& place)
    : handle_(PQconnectdb(("postgresql:" + place).c_str()), &PQfinish) {
  if (PQstatus(handle_.get()) != CONNECTION_OK) {
    throw Error("postgresql: no connection (" + Words() +
                "); check the URL, and that the database runs and lets you in");
  }
  name_ = std::string("postgresql://") + PQhost(handle_.get()) + ":" + PQport(handle_.get()) + "/" +
          PQdb(handle_.get());
  PQsetNoticeProcessor(
      handle_.get(), [](void*, const char*) {}, nullptr);
  // Whatever the database's own default: what is committed is on its disk.
  Run("SET synchronous_commit = on");
}

Rows Connection::Run(const char* sql, std::initializer_list<Value> values) {
  std::vector<const char*> data;
  std::vector<int> lengths;
  std::vector<int> formats;
  for (const Value& value : values) {
    data.push_back(value.data());
    lengths.push_back(value.bytes ? static_cast<int>(value.bytes->size()) : 0);
    formats.push_back(value.bytes ? 1 : 0);
  }
  constexpr int kBinary = 1;
  return Judge(PQexecParams(handle_.get(), sql, static_cast<int>(values.size()), nullptr,
                            data.data(), lengths.data(), formats.data(), kBinary));
}

Rows Connection::Judge(PGresult* result) const {
  Rows rows(result);
  const ExecStatusType status = PQresultStatus(result);
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) return rows;
  const char* const field = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const std::string_view state = field != nullptr ? field : "";
  if (state == "53100") {
    throw DiskFull(name_ + ": the disk is full; what was committed is safe; make room");
  }
  if (state == "55P03") {
    throw Error(name_ + ": another process is using the store; stop it first");
  }
  const char* const advice = state == "25006"   ? "it is a replica: name the primary server"
                             : state == "42501" ? "let this user make and change tables there"
                                                : "check the database";
  throw Error(name_ + ": the store failed (" + Words() + "); " + advice);
}

std::string Connection::Words() const {
  std::string_view text = PQerrorMessage(handle_.get());
  text = text.substr(0, text.find('\n'));
  if (text.starts_with("ERROR:  ")) text.remove_prefix(8);
  return std::string(text);
}

}  // namespace polykern
