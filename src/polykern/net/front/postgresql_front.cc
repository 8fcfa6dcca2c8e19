#include "polykern/net/front/postgresql_front.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <ctime>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include <sys/random.h>

#include "polykern/core/error.h"
#include "polykern/net/front/front_tables_internal.h"
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

std::string NumbersOf(const std::vector<std::uint64_t>& numbers) {
  return ArrayOf(numbers, [](std::uint64_t number) { return number; });
}

/// Hears what others say to front ends, on a connection and a thread of its own.
class FrontListener {
 public:
  FrontListener(std::string place, std::uint64_t front)
      : place_(std::move(place)), front_(std::to_string(front)) {
    thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
  }

  bool HasNews() const { return news_; }
  void Heard() { news_ = false; }
  void OnNews(std::function<void()> wake) {
    const std::lock_guard lock(mutex_);
    wake_ = std::move(wake);
  }

 private:
  static constexpr std::chrono::milliseconds kLook{200};

  void Run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      try {
        Connection connection = ConnectFront(place_);
        connection.Run(("LISTEN " + ChannelOf(connection, Ears::kFronts)).c_str());
        Tell();  // of what was said before
        Listen(connection, stop);
      } catch (const Error&) {  // whoever exchanges something says so
        Tell();
        std::unique_lock lock(mutex_);
        ended_.wait_for(lock, stop, kLook, [] { return false; });
      }
    }
  }

  void Listen(Connection& connection, const std::stop_token& stop) {
    auto pulse = SteadyClock::now();
    while (!stop.stop_requested()) {
      const auto said = connection.Notifications(kLook);
      if (std::ranges::any_of(
              said, [this](const std::string& to) { return to.empty() || to == front_; })) {
        Tell();
      }
      if (SteadyClock::now() < pulse + kFrontPulse) continue;
      pulse = SteadyClock::now();
      connection.Run("SELECT 1");
    }
  }

  void Tell() {
    news_ = true;
    const std::lock_guard lock(mutex_);
    if (wake_) wake_();
  }

  const std::string place_;
  const std::string front_;
  std::atomic<bool> news_{true};
  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::function<void()> wake_;
  std::jthread thread_;  // last: ends first
};

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
    if (!names.empty()) Enrol(names, names.size());
    WriteEvents(*connection_, batch.events);
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
    } catch (...) {
      connection_.reset();
      throw;
    }
  }

  FrontNews ExchangeNow(const FrontWork& work) {
    Connect();
    if (listener_) listener_->Heard();
    FrontNews news;
    if (work.writes) WriteWork(work, news);
    if (!work.claims.empty()) Claim(work.claims, news);
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
    if (!work.released.empty()) GiveUp(work.released);
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
        "INSERT INTO polykern_front VALUES($1, $2, $3, $4, $5, $6, $7::bigint::int::boolean, $8) "
        "ON CONFLICT (id) DO UPDATE SET address = $2, step = $3, connected = $4, waiting = $5, "
        "newcomers = $6, asked = $7::bigint::int::boolean, accepted = $8",
        {options_.number, report.address, report.step, report.connected, report.waiting,
         report.newcomers, std::uint64_t{report.asked}, report.accepted});
  }

  /// Whoever wants them has them.
  void GiveUp(const std::vector<std::uint64_t>& released) {
    // Clients before moves, and upwards, as Claim does: so nobody waits for each other.
    connection_->Run(
        "SELECT number FROM polykern_client WHERE number = ANY($1::bigint[]) ORDER BY number "
        "FOR UPDATE",
        {NumbersOf(released)});
    const Rows takers = connection_->Run(
        "WITH m AS (DELETE FROM polykern_move WHERE holder = $1 AND client = ANY($2::bigint[]) "
        "RETURNING client, taker), u AS (UPDATE polykern_client SET front = m.taker FROM m "
        "WHERE number = m.client AND front = $1) SELECT DISTINCT taker FROM m",
        {options_.number, NumbersOf(released)});
    for (std::size_t i = 0; i < takers.size(); ++i) {
      Notify(*connection_, to_fronts_, std::to_string(takers.Count(i, 0)));
    }
  }

  /// Inside a transaction: those that are not known get the next numbers, as far as there is room.
  void Enrol(const std::vector<std::string>& names, std::size_t room) {
    connection_->Run(
        "SELECT pg_advisory_xact_lock(hashtext('polykern clients'), hashtext(current_schema()))");
    connection_->Run(
        "WITH added AS (SELECT name, row_number() OVER (ORDER BY place) - 1 AS nth "
        "FROM unnest($1::text[]) WITH ORDINALITY AS t(name, place) "
        "WHERE NOT EXISTS (SELECT 1 FROM polykern_client c WHERE c.name = t.name)), "
        "next AS (SELECT coalesce(max(number) + 1, 0) AS number FROM polykern_client) "
        "INSERT INTO polykern_client(number, name, first_seen, last_seen) "
        "SELECT next.number + nth, name, $2, $2 FROM added, next WHERE nth + next.number < $3 "
        "OR nth + next.number < $4",
        {TextArrayOf(names), std::int64_t{std::time(nullptr)}, std::uint64_t{options_.most_clients},
         std::uint64_t{room}});
  }

  void Claim(const std::vector<FrontClaim>& claims, FrontNews& news) {
    std::vector<std::string> names;
    for (const FrontClaim& claim : claims) names.push_back(claim.name);
    const std::vector<std::uint64_t> living = LivingFronts(*connection_);
    PostgresqlTransaction transaction(*connection_);
    std::vector<std::uint64_t> taken;
    std::vector<std::uint64_t> moves;
    std::vector<std::uint64_t> holders;
    std::vector<std::string> found;
    for (int round = 0; round < 2 && found.size() < names.size(); ++round) {
      if (round == 1) Enrol(names, 0);
      const Rows rows = connection_->Run(
          "SELECT name, number, next_step, front FROM polykern_client WHERE name = ANY($1::text[]) "
          "ORDER BY number FOR UPDATE",
          {TextArrayOf(names)});
      for (auto* const list : {&taken, &moves, &holders}) list->clear();
      found.clear();
      news.claimed.clear();
      for (std::size_t i = 0; i < rows.size(); ++i) {
        found.push_back(rows.Text(i, 0));
        const std::uint64_t holder = rows.Count(i, 3);
        if (holder != options_.number && std::ranges::binary_search(living, holder)) {
          moves.push_back(rows.Count(i, 1));
          holders.push_back(holder);
          continue;
        }
        taken.push_back(rows.Count(i, 1));
        news.claimed.push_back({found.back(), rows.Count(i, 1), rows.Count(i, 2), true});
      }
    }
    connection_->Run("UPDATE polykern_client SET front = $2 WHERE number = ANY($1::bigint[])",
                     {NumbersOf(taken), options_.number});
    connection_->Run("DELETE FROM polykern_move WHERE client = ANY($1::bigint[])",
                     {NumbersOf(taken)});
    if (!moves.empty()) AskFor(moves, holders);
    for (const FrontClaim& claim : claims) {
      if (claim.mask_key.empty()) continue;
      connection_->Run(
          "INSERT INTO polykern_key VALUES($1, $2) ON CONFLICT (name) DO UPDATE SET key = $2 "
          "WHERE polykern_key.key <> $2",
          {claim.name, std::as_bytes(std::span(claim.mask_key))});
    }
    transaction.Commit();
    for (const std::string& name : names) {
      if (std::ranges::find(found, name) == found.end()) news.full.push_back(name);
    }
  }

  /// Front ends that are there have these clients.
  void AskFor(const std::vector<std::uint64_t>& clients, std::vector<std::uint64_t>& holders) {
    connection_->Run(
        "INSERT INTO polykern_move SELECT client, holder, $3 "
        "FROM unnest($1::bigint[], $2::bigint[]) AS t(client, holder) "
        "ON CONFLICT (client) DO UPDATE SET holder = excluded.holder, taker = excluded.taker",
        {NumbersOf(clients), NumbersOf(holders), options_.number});
    std::ranges::sort(holders);
    holders.erase(std::ranges::unique(holders).begin(), holders.end());
    for (const std::uint64_t holder : holders) {
      Notify(*connection_, to_fronts_, std::to_string(holder));
    }
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
  SteadyClock::time_point looked_{};
  std::optional<FrontListener> listener_;  // ends first
};

}  // namespace

std::uint64_t NewFrontNumber() {
  std::uint32_t bits = 0;
  while ((bits & 0x7fffffffU) == 0) {
    if (getrandom(&bits, sizeof bits, 0) != sizeof bits) throw Error("there are no random numbers");
  }
  return bits & 0x7fffffffU;
}

std::unique_ptr<Front> JoinFronts(const PostgresqlFrontOptions& options,
                                  const StoreConfiguration& configuration) {
  return std::make_unique<PostgresqlFront>(options, configuration);
}

}  // namespace polykern
