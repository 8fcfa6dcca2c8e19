#include "polykern/net/front/step_ender.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <ctime>
#include <mutex>
#include <stop_token>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "polykern/federation/coordinator.h"
#include "polykern/net/front/front_tables_internal.h"
#include "polykern/net/postgresql/postgresql_tables_internal.h"
#include "polykern/net/rounds/release_opener.h"

namespace polykern {
namespace {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kLookAgain{250};  // for the lock, or for the database
constexpr milliseconds kListen{250};
constexpr milliseconds kListenForParts{20};  // deadlines may pass
constexpr milliseconds kGrace{1000};         // that front ends have to hand in what they have

/// The algorithm cannot make a model of what came.
class NoModel : public Error {
 public:
  using Error::Error;
};

/// One turn at ending steps: from when it got the lock until it is gone, with the connection.
class Leadership {
 public:
  Leadership(Connection& connection, std::uint64_t front, const Algorithm& algorithm,
             const RoundsOptions& options)
      : connection_(connection),
        front_(front),
        options_(options),
        coordinator_(algorithm, 0),
        to_fronts_(ChannelOf(connection, Ears::kFronts)) {
    if (options.opener != nullptr) {
      options.opener->masked() ? coordinator_.TakeMasked() : coordinator_.LetCallerOpen();
    }
    if (options.uses_late()) coordinator_.TakeLateUpdates();
    Resume();
  }

  /// Ends the step if it is due. Returns why it cannot, for now; empty: nothing is wrong.
  std::string Work() {
    if (!coordinator_.releases().empty()) return OpenNext();
    const FederationNow now = LookAt(connection_, front_);
    if (now.open.step != step()) {
      throw Error("the store has step " + std::to_string(now.open.step) + ", not " +
                  std::to_string(step()) + ": did another program write to it?");
    }
    waits_ = now.partials > 0;
    if (!waits_) return {};
    if (IsDue(now)) {
      End();
      return coordinator_.releases().empty() ? "" : OpenNext();
    }
    if (now.age >= options_.deadline.count() && !now.open.asked) Ask();
    return {};
  }
  /// From here on.
  void Change(const RoundsOptions& options) { options_ = options; }
  /// When it should be looked at again, if no client sends anything.
  milliseconds patience() const { return waits_ ? kListenForParts : kListen; }

 private:
  std::uint64_t step() const { return coordinator_.broadcast().step; }

  /// After an earlier one, or a server that was alone.
  void Resume() {
    if (const auto newest = NewestIn(connection_)) {
      coordinator_.Load(newest->steps, GiveOpener(newest->state, options_.opener));
    }
    const bool ready = coordinator_.releases().empty();
    PostgresqlTransaction transaction(connection_);
    connection_.Run(
        "UPDATE polykern_open SET step = $1, ready = $2::bigint::int::boolean, leader = $3, "
        "known = (SELECT count(*) FROM polykern_client WHERE next_step > 0 AND next_step <= $1)",
        {step(), std::uint64_t{ready}, front_});
    connection_.Run("DELETE FROM polykern_partial WHERE step < $1", {step()});
    connection_.Run("DELETE FROM polykern_front WHERE NOT id = ANY($1::bigint[])",
                    {ArrayOf(LivingFronts(connection_), [](std::uint64_t id) { return id; })});
    Notify(connection_, to_fronts_, "");
    transaction.Commit();
  }

  /// As Rounds of a server that is alone decide it, of the clients of all front ends.
  bool IsDue(const FederationNow& now) {
    if (options_.asynchronous) return true;
    // So many have fallen silent at once that the others are not the share asked for.
    const bool overdue = now.age >= 2 * options_.deadline.count();
    if (now.all.answered < NeededOf(now.all, options_, overdue)) return false;
    if (!options_.roster.empty() && now.all.answered >= options_.roster.size()) return true;
    // Is any client left that could answer?
    const bool complete = std::ranges::none_of(now.all.fronts, [&](const FrontStatus& each) {
      return each.report.connected > 0 && (each.report.step < step() || each.report.waiting > 0);
    });
    if (complete) return true;
    if (!now.open.asked) return false;
    const bool all_told = std::ranges::all_of(now.all.fronts, [&](const FrontStatus& each) {
      return each.report.connected == 0 || (each.report.step == step() && each.report.asked);
    });
    if (!asked_) asked_ = SteadyClock::now();
    return all_told || SteadyClock::now() >= *asked_ + kGrace;
  }

  /// The deadline has passed: what there is counts, if it is enough.
  void Ask() {
    PostgresqlTransaction transaction(connection_);
    connection_.Run("UPDATE polykern_open SET asked = true");
    Notify(connection_, to_fronts_, "");
    transaction.Commit();
    asked_ = SteadyClock::now();
  }

  /// No front end can add to the step while this transaction looks at it.
  void End() {
    PostgresqlTransaction transaction(connection_);
    connection_.Run("SELECT step FROM polykern_open FOR UPDATE");
    const Rows parts = connection_.Run(
        "SELECT updates, newcomers, sums FROM polykern_partial WHERE step = $1", {step()});
    std::uint64_t updates = 0;
    std::uint64_t newcomers = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto bytes = parts.Bytes(i, 2);
      std::vector<std::int64_t> sums(bytes.size() / sizeof(std::int64_t));
      if (!bytes.empty()) std::memcpy(sums.data(), bytes.data(), sums.size() * sizeof(sums[0]));
      coordinator_.AddPartial(sums, parts.Count(i, 0));
      updates += parts.Count(i, 0);
      newcomers += parts.Count(i, 1);
    }
    const std::uint64_t before = step();
    Make([this] { coordinator_.Commit(); });
    WriteState(connection_, {.steps = step(), .state = State(), .counted = {}}, updates, before);
    connection_.Run("DELETE FROM polykern_partial WHERE step = $1", {before});
    const bool ready = coordinator_.releases().empty();
    connection_.Run(
        "UPDATE polykern_open SET step = $1, ready = $2::bigint::int::boolean, asked = false, "
        "known = known + $3",
        {step(), std::uint64_t{ready}, newcomers});
    WriteEvents(connection_, Discarded());
    if (ready) Notify(connection_, to_fronts_, "");
    transaction.Commit();
    asked_.reset();
  }

  /// One of the sums that are closed; the last one gives the model.
  std::string OpenNext() {
    while (opened_ < coordinator_.releases().size()) {
      Release& release = coordinator_.releases()[opened_];
      const std::vector<std::string> names = NamesIn(release);
      const std::string trouble = options_.opener->Open(release, names);
      if (!trouble.empty()) return trouble;
      ++opened_;
    }
    opened_ = 0;
    Make([this] { coordinator_.Open(); });
    PostgresqlTransaction transaction(connection_);
    WriteState(connection_, {.steps = step(), .state = State(), .counted = {}}, 0, step());
    connection_.Run("UPDATE polykern_open SET ready = true");
    std::vector<StoredEvent> events = Discarded();
    if (const std::string news = NewsOfNoise(*options_.opener); !news.empty()) {
      events.push_back(EventOf("released", news));
    }
    WriteEvents(connection_, events);
    Notify(connection_, to_fronts_, "");
    transaction.Commit();
    return {};
  }

  template <class Making>
  static void Make(const Making& model) {
    try {
      model();
    } catch (const Error& error) {
      throw NoModel(error.marked());
    }
  }

  std::vector<double> State() const { return WithOpener(coordinator_.Save(), options_.opener); }

  std::vector<std::string> NamesIn(const Release& release) {
    std::vector<std::string> names;
    if (release.contributions.empty()) return names;
    const Rows rows = connection_.Run(
        "SELECT c.name, k.key FROM unnest($1::bigint[]) WITH ORDINALITY AS t(client, place) "
        "JOIN polykern_client c ON number = client LEFT JOIN polykern_key k ON k.name = c.name "
        "ORDER BY place",
        {ArrayOf(release.contributions, [](const Contribution& each) { return each.client; })});
    for (std::size_t i = 0; i < rows.size(); ++i) {
      names.push_back(rows.Text(i, 0));
      AddKey(names.back(), rows.Text(i, 1));
    }
    return names;
  }

  /// It said hello to another front end, perhaps.
  void AddKey(const std::string& client, const std::string& key) {
    std::string& known = keys_[client];
    if (key.empty() || known == key) return;
    try {
      options_.opener->AddKey(client, key);
      known = key;
    } catch (const Error&) {  // it was good when the client came; the opener says what is missing
    }
  }

  std::vector<StoredEvent> Discarded() {
    std::vector<StoredEvent> events;
    for (const std::string& what : coordinator_.discarded()) {
      events.push_back(EventOf("discarded", what));
    }
    return events;
  }

  /// Told to the observer as well.
  StoredEvent EventOf(const char* event, const std::string& detail) const {
    if (options_.observer != nullptr) options_.observer->Event("", event, detail);
    return {std::time(nullptr), "", event, detail};
  }

  Connection& connection_;
  const std::uint64_t front_;
  RoundsOptions options_;
  Coordinator coordinator_;
  const std::string to_fronts_;
  std::optional<SteadyClock::time_point> asked_;
  bool waits_ = false;  // some have answered
  std::size_t opened_ = 0;
  std::unordered_map<std::string, std::string> keys_;  // for masks, that the opener has
};

}  // namespace

class StepEnder::Impl {
 public:
  Impl(const StepEnderOptions& options, const Algorithm& algorithm, const RoundsOptions& rounds)
      : options_(options), algorithm_(algorithm), observer_(rounds.observer), rounds_(rounds) {
    thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
  }

  void Change(RoundsOptions options) {
    const std::lock_guard lock(mutex_);
    options.observer = rounds_.observer;
    options.opener = rounds_.opener;
    rounds_ = std::move(options);
    changed_ = true;
  }
  std::string trouble() const {
    const std::lock_guard lock(mutex_);
    return trouble_;
  }
  std::optional<Error> failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
  }

 private:
  void Run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      try {
        Connection connection = ConnectFront(options_.place);
        if (WaitForTurn(connection, stop)) Lead(connection, stop);
      } catch (const NoModel& error) {
        const std::lock_guard lock(mutex_);
        failure_ = error;
        return;
      } catch (const Error& error) {  // what was not written is done again, by this one or another
        Tell(error.what());
      }
      std::unique_lock lock(mutex_);
      ended_.wait_for(lock, stop, kLookAgain, [] { return false; });
    }
  }

  /// False: it shall stop.
  bool WaitForTurn(Connection& connection, const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      if (connection.Number("SELECT pg_try_advisory_lock(hashtext('polykern ender'), "
                            "hashtext(current_schema()))::int") != 0) {
        return true;
      }
      Tell("");
      std::unique_lock lock(mutex_);
      ended_.wait_for(lock, stop, kLookAgain, [] { return false; });
    }
    return false;
  }

  void Lead(Connection& connection, const std::stop_token& stop) {
    connection.Run(("LISTEN " + ChannelOf(connection, Ears::kEnder)).c_str());
    Leadership turn(connection, options_.front, algorithm_, Options());
    if (observer_ != nullptr) observer_->Event("", "leads", "this one ends steps");
    while (!stop.stop_requested()) {
      if (const auto changed = Changed()) turn.Change(*changed);
      Tell(turn.Work());
      connection.Notifications(turn.patience());
    }
  }

  RoundsOptions Options() const {
    const std::lock_guard lock(mutex_);
    return rounds_;
  }
  /// None: as before.
  std::optional<RoundsOptions> Changed() {
    const std::lock_guard lock(mutex_);
    return std::exchange(changed_, false) ? std::optional(rounds_) : std::nullopt;
  }

  void Tell(const std::string& trouble) {
    const std::lock_guard lock(mutex_);
    trouble_ = trouble;
  }

  const StepEnderOptions options_;
  const Algorithm& algorithm_;
  RoundsObserver* const observer_;
  mutable std::mutex mutex_;  // for what follows
  RoundsOptions rounds_;
  std::condition_variable_any ended_;
  bool changed_ = false;
  std::string trouble_;
  std::optional<Error> failure_;
  std::jthread thread_;  // last: ends first
};

StepEnder::StepEnder(const StepEnderOptions& options, const Algorithm& algorithm,
                     const RoundsOptions& rounds)
    : impl_(std::make_unique<Impl>(options, algorithm, rounds)) {}

StepEnder::~StepEnder() = default;

void StepEnder::Change(const RoundsOptions& rounds) {
  impl_->Change(rounds);
}

std::string StepEnder::trouble() const {
  return impl_->trouble();
}

std::optional<Error> StepEnder::failure() const {
  return impl_->failure();
}

}  // namespace polykern
