#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include <poll.h>

#include "polykern/net/postgresql/postgresql_internal.h"
#include "polykern/net/store/store.h"

namespace polykern {
namespace {

/// A URL may say otherwise: what comes later counts. A database that is cut off is noticed by
/// a client that has sent it something (tcp_user_timeout, in ms), or waits for it (keepalives, in
/// s).
PGconn* Connect(const std::string& url, std::chrono::milliseconds patience) {
  const std::string seconds =
      patience == Connection::kForEver ? "10" : std::to_string(patience.count() / 1000);
  const std::array<const char*, 7> keys = {"connect_timeout",
                                           "tcp_user_timeout",
                                           "keepalives_idle",
                                           "keepalives_interval",
                                           "keepalives_count",
                                           "dbname",
                                           nullptr};
  const std::array<const char*, 7> values = {seconds.c_str(), "6000", "3", "1", "3",
                                             url.c_str(),     nullptr};
  constexpr int kNameIsUrl = 1;
  return PQconnectdbParams(keys.data(), values.data(), kNameIsUrl);
}

/// Where libpq cannot read a URL it quotes it, or a part of it, and that may be the password.
std::string WithoutQuotes(std::string words, const std::string& url) {
  PQconninfoOption* const read = PQconninfoParse(url.c_str(), nullptr);
  PQconninfoFree(read);
  if (read == nullptr) words.resize(std::min(words.size(), words.find(": \"")));
  return words;
}

}  // namespace

Connection::Connection(const std::string& place, std::chrono::milliseconds patience)
    : handle_(Connect("postgresql:" + place, patience), &PQfinish), patience_(patience) {
  if (PQstatus(handle_.get()) != CONNECTION_OK) {
    throw DatabaseAway("postgresql: no connection (" +
                       WithoutQuotes(Words(), "postgresql:" + place) +
                       "); check the URL, and that the database runs and accepts this user");
  }
  name_ = std::string("postgresql://") + PQhost(handle_.get()) + ":" + PQport(handle_.get()) + "/" +
          PQdb(handle_.get());
  PQsetNoticeProcessor(
      handle_.get(), [](void*, const char*) {}, nullptr);
  PQsetnonblocking(handle_.get(), 1);
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
  return Judge(PQsendQueryParams(handle_.get(), sql, static_cast<int>(values.size()), nullptr,
                                 data.data(), lengths.data(), formats.data(), kBinary));
}

Rows Connection::Judge(int sent) {
  if (sent == 0) ThrowAway(Words());
  Flush();
  Rows last(nullptr);
  std::optional<Rows> bad;
  while (PGresult* const result = NextResult()) {
    last = Rows(result);
    const ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK && !bad) bad = std::move(last);
  }
  if (bad) CheckResult(bad->get());
  return last;
}

void Connection::Flush() {
  for (;;) {
    const int left = PQflush(handle_.get());
    if (left == 0) return;
    if (left < 0 || PQconsumeInput(handle_.get()) == 0) ThrowAway(Words());
    if (!Wait(POLLIN | POLLOUT, patience_)) ThrowSilent();
  }
}

PGresult* Connection::NextResult() {
  while (PQisBusy(handle_.get()) != 0) {
    if (!Wait(POLLIN, patience_)) ThrowSilent();
    if (PQconsumeInput(handle_.get()) == 0) ThrowAway(Words());
  }
  return PQgetResult(handle_.get());
}

bool Connection::Wait(short events, std::chrono::milliseconds longest) const {
  pollfd file{PQsocket(handle_.get()), events, 0};
  int ready = 0;
  do {
    ready = poll(&file, 1, static_cast<int>(longest.count()));
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

std::vector<std::string> Connection::Notifications(std::chrono::milliseconds longest) {
  std::vector<std::string> said;
  for (int round = 0; round < 2 && said.empty(); ++round) {
    if (round == 1 && !Wait(POLLIN, longest)) break;
    if (PQconsumeInput(handle_.get()) == 0) ThrowAway(Words());
    while (PGnotify* const each = PQnotifies(handle_.get())) {
      said.emplace_back(each->extra);
      PQfreemem(each);
    }
  }
  return said;
}

void Connection::ThrowSilent() const {
  ThrowAway("no answer for " + std::to_string(patience_.count() / 1000) + " s");
}

void Connection::ThrowAway(const std::string& why) const {
  throw DatabaseAway(name_ + ": the database is away (" + why +
                     "); check that it runs, and the network to it");
}

void Connection::CheckResult(const PGresult* result) const {
  const char* const field = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const std::string_view state = field != nullptr ? field : "";
  if (state == "53100") {
    throw DiskFull(name_ + ": the disk is full; what was committed is safe; make room");
  }
  if (state == "55P03") {
    throw StoreInUse(name_ + ": another process is using the store; stop it first");
  }
  // Its operator stops it, it starts, it has crashed, or this session said nothing for too long.
  const bool ended = state.starts_with("57P") || state.starts_with("08");
  if (ended || PQstatus(handle_.get()) != CONNECTION_OK) ThrowAway(Words());
  const char* const advice = state == "25006"   ? "it is a replica: name the primary server"
                             : state == "42501" ? "let this user make and change tables there"
                                                : "check the database";
  throw Error(name_ + ": the store failed (" + Words() + "); " + advice);
}

std::string Connection::Words() const {
  std::string_view text = PQerrorMessage(handle_.get());
  text = text.substr(0, text.find('\n'));
  for (const std::string_view level : {"ERROR:  ", "FATAL:  "}) {
    if (text.starts_with(level)) text.remove_prefix(level.size());
  }
  return std::string(text);
}

}  // namespace polykern
