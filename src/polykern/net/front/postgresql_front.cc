#include "polykern/net/front/postgresql_front.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <ctime>
#include <limits>
#include <set>
#include <utility>

#include <sys/random.h>

#include "polykern/core/error.h"
#include "polykern/net/front/front_listener.h"
#include "polykern/net/front/front_tables_internal.h"
#include "polykern/net/postgresql/postgresql_store.h"
#include "polykern/net/postgresql/postgresql_tables_internal.h"

namespace polykern {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// {"a","b"}: what unnest($1::text[]) makes rows of.
std::string TextArrayOf(const std::vector<std::string>& texts) {
  std::string array = "{";
  for (const std::string& text : texts) {
    array += array.size() > 1 ? ",\"" : "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') array += '\\';
      array += c;
    }
    array += '"';
  }
  return array + '}';
}

class PostgresqlFront final : public Front {
 public:
  PostgresqlFront(const PostgresqlFrontOptions& options, const StoreConfiguration& configuration)
      : options_(options) {
    Connect();
    OpenTables(*connection_, &configuration);
    listener_.emplace(options.place, options.number);
  }

  // As a store:

  StoreContents Contents() override {
    Connect();
    const PostgresqlTransaction snapshot(*connection_, PostgresqlTransaction::Kind::kRead);
    StoreContents contents = ContentsOf(*connection_);
    contents.newest = ReadyState(-1);
    if (!contents.newest) {  // the newest is still being made: the one before is known
      contents.newest = StateIn(
          *connection_, connection_->Run("SELECT s.steps, s.sum, s.numbers FROM polykern_state s, "
                                         "polykern_open o WHERE s.steps < o.step "
                                         "ORDER BY s.steps DESC LIMIT 1",
                                         {}));
    }
    return contents;
  }
  void CheckRoom(std::size_t numbers) const override { CheckStateSize(numbers); }
  void Write(const StoreBatch& batch) override {
    assert(!batch.step && batch.configuration == nullptr);
    Connect();
    PostgresqlTransaction transaction(*connection_);
    const std::vector<std::string> names(batch.clients.begin(), batch.clients.end());
    if (!names.empty()) Enrol(names, std::numeric_limits<std::int64_t>::max());
    WriteNotes(*connection_, batch.notes);
    WriteEvents(*connection_, batch.events);
    Notify(*connection_, to_ender_, "");
    transaction.Commit();
  }
  void Fill(const StoreContents&) override { throw Error("front ends fill no store"); }
  Pruned Prune(const PruneOptions&) override { throw Error("front ends prune nothing"); }
  void Compact() override { throw Error("front ends compact nothing"); }

  bool HasNews() const override { return listener_->HasNews(); }
  void OnNews(std::function<void()> wake) override { listener_->OnNews(std::move(wake)); }

  FrontNews Exchange(const FrontWork& work) override {
    try {
      return ExchangeNow(work);
    } catch (const DatabaseAway&) {
      connection_.reset();
      throw;
    }
  }

 private:
  void Connect() {
    if (connection_) return;
    connection_.emplace(ConnectFront(options_.place));
    try {
      LockFront(*connection_, options_.number);
      to_fronts_ = ChannelOf(*connection_, Ears::kFronts);
      to_ender_ = ChannelOf(*connection_, Ears::kEnder);
      clock_ =
          WrongClock(std::time(nullptr),
                     connection_->Number("SELECT extract(epoch FROM clock_timestamp())::bigint"));
    } catch (...) {
      connection_.reset();
      throw;
    }
  }

  FrontNews ExchangeNow(const FrontWork& work) {
    Connect();
    if (listener_) listener_->Heard();
    FrontNews news;
    news.clock = std::exchange(clock_, {});
    if (work.writes) WriteWork(work, news);
    if (!work.claims.empty()) Claim(work.claims, work.most_clients, news);
    if (work.may_come_in) Recheck(work.may_come_in);
    if (!work.confirms.empty()) news.confirmed = Known(work.confirms);
    Look(work, news);
    const auto now = SteadyClock::now();
    if (now >= looked_ + kFrontPulse) {
      looked_ = now;
      news.all = LookAt(*connection_, options_.number).all;
    }
    return news;
  }

  void WriteWork(const FrontWork& work, FrontNews& news) {
    PostgresqlTransaction transaction(*connection_);
    const Rows open = connection_->Run("SELECT step FROM polykern_open FOR SHARE", {});
    if (work.partial) {
      news.taken = HandIn(*work.partial, open.Count(0, 0));
      if (!news.taken) {
        std::vector<std::uint64_t> numbers;
        for (const CountedUpdate& each : work.partial->counted) numbers.push_back(each.client);
        news.settled = Known(numbers);
      }
    }
    WriteRejections(*connection_, work.rejected);
    WriteEvents(*connection_, work.events);
    if (!work.released.empty() && (!work.partial || news.taken)) GiveUp(work.released);
    if (!work.certificates.empty()) WriteCertificates(work.certificates);
    WriteReport(work.report);
    Notify(*connection_, to_ender_, "");
    transaction.Commit();
  }

  /// False: it does not count, and nothing has changed.
  bool HandIn(const FrontPartial& partial, std::uint64_t open) {
    const Rows there =
        connection_->Run("SELECT 1::bigint FROM polykern_partial WHERE front = $1 AND serial = $2",
                         {options_.number, partial.serial});
    if (!there.empty()) return true;  // its transaction was committed, and the answer was lost
    if (partial.step != open) return false;
    connection_->Run("SAVEPOINT partial");
    // A client's row is the place where it is decided whether its update counts.
    const Rows counted = connection_->Run(
        "UPDATE polykern_client SET accepted = accepted + u.count, last_seen = $3, "
        "next_step = u.last + 1 FROM (SELECT client, count(*) AS count, min(step) AS first, "
        "max(step) AS last FROM unnest($1::bigint[], $2::bigint[]) AS t(client, step) "
        "GROUP BY client) AS u WHERE number = u.client AND front = $4 AND next_step <= u.first",
        {ArrayOf(partial.counted, [](const CountedUpdate& u) { return u.client; }),
         ArrayOf(partial.counted, [](const CountedUpdate& u) { return u.step; }),
         std::int64_t{std::time(nullptr)}, options_.number});
    if (counted.changed() != partial.clients) {
      connection_->Run("ROLLBACK TO SAVEPOINT partial");
      return false;
    }
    connection_->Run(
        "INSERT INTO polykern_partial VALUES($1, $2, $3, $4, $5, $6, "
        "clock_timestamp() - $7 * interval '1 ms', $8)",
        {options_.number, partial.serial, partial.step, std::uint64_t{partial.counted.size()},
         partial.clients, partial.newcomers, partial.age,
         std::as_bytes(std::span<const std::int64_t>(partial.sums))});
    return true;
  }

  void WriteReport(const FrontReport& report) {
    connection_->Run(
        "INSERT INTO polykern_front "
        "VALUES($1, $2, $3, $4, $5, $6, $7, $8::bigint::int::boolean, $9) "
        "ON CONFLICT (id) DO UPDATE SET address = $2, step = $3, connected = $4, waiting = $5, "
        "held = $6, newcomers = $7, asked = $8::bigint::int::boolean, accepted = $9",
        {options_.number, report.address, report.step, report.connected, report.waiting,
         report.held, report.newcomers, std::uint64_t{report.asked}, report.accepted});
  }

  void WriteCertificates(const std::vector<NotedClient>& notes) {
    std::vector<std::string> serials;
    for (const NotedClient& each : notes) serials.push_back(each.note.serial);
    connection_->Run(
        "INSERT INTO polykern_client_note SELECT client, '', 0, serial, expires "
        "FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS t(client, serial, expires) "
        "ON CONFLICT (number) DO UPDATE SET serial = excluded.serial, expires = excluded.expires",
        {ArrayOf(notes, [](const NotedClient& each) { return each.client; }), TextArrayOf(serials),
         ArrayOf(notes, [](const NotedClient& each) { return each.note.expires; })});
  }

  /// The first caller that asks gets them.
  void GiveUp(const std::vector<std::uint64_t>& released) {
    const Rows takers = connection_->Run(
        "WITH m AS (DELETE FROM polykern_move WHERE holder = $1 AND client = ANY($2::bigint[]) "
        "RETURNING client, taker), u AS (UPDATE polykern_client SET front = "
        "coalesce((SELECT taker FROM m WHERE client = number), 0) "
        "WHERE number = ANY($2::bigint[]) AND front = $1) SELECT DISTINCT taker FROM m",
        {options_.number, NumbersOf(released)});
    for (std::size_t i = 0; i < takers.size(); ++i) {
      Notify(*connection_, to_fronts_, std::to_string(takers.Count(i, 0)));
    }
  }

  /// Inside a transaction: those that are not known get the next numbers, while there are fewer
  /// clients than `most` that are not gone.
  void Enrol(const std::vector<std::string>& names, std::int64_t most) {
    connection_->Run(
        "SELECT pg_advisory_xact_lock(hashtext('polykern clients'), hashtext(current_schema()))");
    connection_->Run(
        "WITH added AS (SELECT name, row_number() OVER (ORDER BY place) - 1 AS nth "
        "FROM unnest($1::text[]) WITH ORDINALITY AS t(name, place) "
        "WHERE NOT EXISTS (SELECT 1 FROM polykern_client c WHERE c.name = t.name)), "
        "next AS (SELECT coalesce(max(number) + 1, 0) AS number FROM polykern_client), "
        "gone AS (SELECT count(*) AS clients FROM polykern_client WHERE gone) "
        "INSERT INTO polykern_client(number, name, first_seen, last_seen) "
        "SELECT next.number + nth, name, $2, $2 FROM added, next, gone "
        "WHERE nth + next.number - gone.clients < $3",
        {TextArrayOf(names), std::int64_t{std::time(nullptr)}, most});
  }

  void Claim(const std::vector<FrontClaim>& claims, std::size_t most, FrontNews& news) {
    std::vector<std::string> names;
    for (const FrontClaim& claim : claims) names.push_back(claim.name);
    std::vector<std::uint64_t> others = LivingFronts(*connection_);
    std::erase(others, options_.number);
    PostgresqlTransaction transaction(*connection_);
    news.claimed = Take(names, others);
    std::set<std::string> found = AskFor(names, others);
    for (const FrontClient& client : news.claimed) found.insert(client.name);
    if (found.size() < names.size()) {
      Enrol(names, static_cast<std::int64_t>(most));
      news.claimed = Take(names, others);
      for (const FrontClient& client : news.claimed) found.insert(client.name);
    }
    for (const FrontClaim& claim : claims) {
      if (claim.mask_key.empty()) continue;
      connection_->Run(
          "INSERT INTO polykern_key VALUES($1, $2) ON CONFLICT (name) DO UPDATE SET key = $2 "
          "WHERE polykern_key.key <> $2",
          {claim.name, std::as_bytes(std::span(claim.mask_key))});
    }
    transaction.Commit();
    for (const std::string& name : names) {
      if (!found.contains(name)) news.full.push_back(name);
    }
  }

  /// Those that no other front end has. Rows are locked in ascending order, and none that others
  /// change, so that no front end waits for another.
  std::vector<FrontClient> Take(const std::vector<std::string>& names,
                                const std::vector<std::uint64_t>& others) {
    const Rows rows = connection_->Run(
        "SELECT name, number, next_step FROM polykern_client WHERE name = ANY($1::text[]) "
        "AND NOT front = ANY($2::bigint[]) ORDER BY number FOR UPDATE",
        {TextArrayOf(names), NumbersOf(others)});
    std::vector<FrontClient> taken;
    std::vector<std::uint64_t> numbers;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      taken.push_back({rows.Text(i, 0), rows.Count(i, 1), rows.Count(i, 2), true});
      numbers.push_back(rows.Count(i, 1));
    }
    connection_->Run(
        "UPDATE polykern_client SET front = $2, gone = false WHERE number = ANY($1::bigint[])",
        {NumbersOf(numbers), options_.number});
    connection_->Run(
        "UPDATE polykern_client_note SET forgotten = 0 WHERE number = ANY($1::bigint[]) "
        "AND forgotten <> 0",
        {NumbersOf(numbers)});
    connection_->Run("DELETE FROM polykern_move WHERE client = ANY($1::bigint[])",
                     {NumbersOf(numbers)});
    return taken;
  }

  /// Other front ends that are there have these clients: who they are.
  std::set<std::string> AskFor(const std::vector<std::string>& names,
                               const std::vector<std::uint64_t>& others) {
    const Rows rows = connection_->Run(
        "WITH held AS (SELECT name, number, front FROM polykern_client "
        "WHERE name = ANY($1::text[]) AND front = ANY($2::bigint[])), "
        "asked AS (INSERT INTO polykern_move SELECT number, front, $3 FROM held ORDER BY number "
        "ON CONFLICT (client) DO UPDATE SET holder = excluded.holder, taker = excluded.taker) "
        "SELECT name, front FROM held",
        {TextArrayOf(names), NumbersOf(others), options_.number});
    std::set<std::string> asked;
    std::set<std::uint64_t> holders;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      asked.insert(rows.Text(i, 0));
      holders.insert(rows.Count(i, 1));
    }
    for (const std::uint64_t holder : holders) {
      Notify(*connection_, to_fronts_, std::to_string(holder));
    }
    return asked;
  }

  /// A client that is not connected and was not forgotten is gone if no certificate lets it in.
  void Recheck(const std::function<bool(const ClientNote&)>& may_come_in) {
    const std::string living = NumbersOf(LivingFronts(*connection_));
    PostgresqlTransaction transaction(*connection_);
    const Rows rows = connection_->Run(
        "SELECT c.number, c.name, c.gone::int, n.serial, n.expires FROM polykern_client c "
        "JOIN polykern_client_note n ON n.number = c.number "
        "WHERE n.serial <> '' AND n.forgotten = 0 AND NOT c.front = ANY($1::bigint[])",
        {living});
    std::vector<StoredEvent> events;
    std::vector<std::uint64_t> changed;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const bool gone = !may_come_in({.serial = rows.Text(i, 3), .expires = rows.Integer(i, 4)});
      if (gone == (rows.Integer(i, 2) != 0)) continue;
      changed.push_back(rows.Count(i, 0));
      events.push_back(
          {std::time(nullptr), rows.Text(i, 1), gone ? "gone" : "expected", "by its certificate"});
    }
    connection_->Run(
        "UPDATE polykern_client SET gone = NOT gone WHERE number = ANY($1::bigint[]) "
        "AND NOT front = ANY($2::bigint[])",
        {NumbersOf(changed), living});
    WriteEvents(*connection_, events);
    transaction.Commit();
  }

  std::vector<FrontClient> Known(const std::vector<std::uint64_t>& numbers) {
    const Rows rows = connection_->Run(
        "SELECT number, next_step, (front = $2)::int FROM polykern_client "
        "WHERE number = ANY($1::bigint[])",
        {NumbersOf(numbers), options_.number});
    std::vector<FrontClient> known;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      known.push_back({"", rows.Count(i, 0), rows.Count(i, 1), rows.Integer(i, 2) != 0});
    }
    return known;
  }

  /// What others have done.
  void Look(const FrontWork& work, FrontNews& news) {
    const Rows open = connection_->Run("SELECT step, asked::int FROM polykern_open", {});
    news.asked = open.Count(0, 0) == work.step && open.Integer(0, 1) != 0;
    news.over = open.Count(0, 0) > work.step;
    if (news.over) {
      news.newest = ReadyState(static_cast<std::int64_t>(work.step));
    }
    const Rows wanted =
        connection_->Run("SELECT client FROM polykern_move WHERE holder = $1", {options_.number});
    for (std::size_t i = 0; i < wanted.size(); ++i) news.wanted.push_back(wanted.Count(i, 0));
  }

  /// Of the open step, if it is a later one than this and clients may have it.
  std::optional<ResumePoint> ReadyState(std::int64_t after) {
    return StateIn(*connection_,
                   connection_->Run("SELECT s.steps, s.sum, s.numbers FROM polykern_state s, "
                                    "polykern_open o WHERE s.steps = o.step AND o.ready "
                                    "AND o.step > $1",
                                    {after}));
  }

  const PostgresqlFrontOptions options_;
  std::optional<Connection> connection_;
  std::string to_fronts_;
  std::string to_ender_;
  std::string clock_;  // what is wrong with it, until it was reported
  SteadyClock::time_point looked_{};
  std::optional<FrontListener> listener_;  // ends first
};

}  // namespace

std::uint64_t NewFrontNumber() {
  std::uint32_t bits = 0;
  while ((bits & 0x7fffffffU) == 0) {
    if (getrandom(&bits, sizeof bits, 0) != sizeof bits)
      throw Error("the system provides no random numbers");
  }
  return bits & 0x7fffffffU;
}

std::unique_ptr<Front> JoinFronts(const PostgresqlFrontOptions& options,
                                  const StoreConfiguration& configuration) {
  return std::make_unique<PostgresqlFront>(options, configuration);
}

StoreKind SharedPostgresqlKind() {
  StoreKind kind = PostgresqlStoreKind();
  kind.open_to_note = [](const std::string& place) -> std::unique_ptr<Store> {
    return JoinFronts({.place = place, .number = NewFrontNumber()},
                      PostgresqlStoreKind().read(place).configuration);
  };
  return kind;
}

}  // namespace polykern
