#include "polykern/net/rounds/shared_rounds.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "polykern/core/error.h"
#include "polykern/net/rounds/release_opener.h"

namespace polykern {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPulse{1000};     // it is there, says a front end at least so often
constexpr milliseconds kTryAgain{250};   // while the database is away
constexpr milliseconds kAwayTime{2500};  // then its clients should look for another front end

const Ending kAway{Ending::Kind::kStopping, "this front end has lost its database"};

/// Clients of these updates, each once.
std::uint64_t DistinctIn(const std::vector<CountedUpdate>& updates) {
  std::unordered_set<std::uint64_t> clients;
  for (const CountedUpdate& each : updates) clients.insert(each.client);
  return clients.size();
}

}  // namespace

SharedRounds::SharedRounds(RoundsCore& core, Store& store)
    : core_(core), front_(*core.options.front), clients_(core) {
  if (!core_.options.roster.empty()) store.Write({.clients = core_.options.roster});
  front_.OnNews([this] {
    const RoundsLock lock(core_);
    core_.has_work = true;
  });
}

SharedRounds::~SharedRounds() {
  front_.OnNews(nullptr);
}

void SharedRounds::SetAddress(const std::string& address) {
  address_ = address;
  spoke_ = {};  // the others should know
}

std::optional<Ending> SharedRounds::Refusal() const {
  return away_ ? std::optional(kAway) : std::nullopt;
}

void SharedRounds::Recheck(const std::function<bool(const ClientNote&)>& may_come_in) {
  if (std::ranges::any_of(all_.fronts,
                          [](const FrontStatus& each) { return each.here && each.leads; })) {
    clients_.AskWhoMayComeIn(may_come_in);
  }
}

bool SharedRounds::IsPartialDue(RoundsTime now) const {
  if (core_.counted.empty() || partial_ || over_) return false;
  return core_.options.asynchronous || core_.members.IsComplete() || asked_ ||
         clients_.are_wanted() || now >= core_.first_answer + core_.options.deadline;
}

bool SharedRounds::HasToExchange(RoundsTime now) const {
  if (now < try_again_) return false;
  if (front_.HasNews() || clients_.HasNews(now) || partial_ || now >= spoke_ + kPulse) return true;
  if ((clients_.are_wanted() && MayRelease()) || IsPartialDue(now)) return true;
  return !HasReported();
}

/// Whether any client is waited for, which is all that the others must know at once: clients of a
/// front end that has said nothing of a step are, if it has any.
bool SharedRounds::HasReported() const {
  const FrontReport& told = reported_;
  const bool complete =
      told.connected == 0 || (told.step == core_.published.step() && told.waiting == 0);
  return complete == (core_.members.waiting() == 0) && (told.asked || !asked_);
}

void SharedRounds::MakePartial(RoundsTime now) {
  FrontPartial partial{
      .serial = ++serial_,
      .step = core_.published.step(),
      .sums = core_.coordinator.TakePartial(),
      .age = std::chrono::duration_cast<milliseconds>(now - core_.first_answer).count()};
  partial.clients = DistinctIn(core_.counted);
  for (const CountedUpdate& each : core_.counted) {
    partial.counted.push_back({core_.members[each.client].number, each.step});
    partial.newcomers += static_cast<std::uint64_t>(!core_.members[each.client].known);
    core_.members[each.client].known = true;
  }
  partial_ = std::move(partial);
  partial_from_ = std::exchange(core_.counted, {});
}

FrontWork SharedRounds::WorkForOthers(RoundsTime now) {
  if (IsPartialDue(now)) MakePartial(now);
  FrontWork work{.step = core_.published.step(), .partial = partial_};
  work.most_clients = core_.options.most_clients;
  constexpr std::size_t kManyEvents = 1000;  // more wait elsewhere, where old ones are forgotten
  if (events_.size() < kManyEvents) {
    for (StoredEvent& event : core_.writer.TakeEvents()) events_.push_back(std::move(event));
  }
  work.rejected = rejected_;
  work.events = events_;
  work.report = {.address = address_,
                 .step = core_.published.step(),
                 .connected = core_.members.connected(),
                 .waiting = core_.members.waiting(),
                 .held = DistinctIn(core_.counted),
                 .newcomers = core_.members.newcomers(),
                 .asked = asked_ && core_.counted.empty(),
                 .accepted = core_.counts.accepted};
  // One that has only heard something, or claims clients, need not write.
  const bool silent = !partial_ && !clients_.are_wanted() && HasReported() && now < spoke_ + kPulse;
  work.writes = !silent;
  clients_.Tell(work, work.writes && MayRelease());
  return work;
}

void SharedRounds::ExchangeAll(RoundsLock& lock, RoundsTime now) {
  if (away_ && now >= *away_ + kAwayTime && !ended_all_) {
    EndAll();
    lock.Release();  // they hear of it before the next attempt
    lock.Reacquire();
  }
  while (HasToExchange(now)) {
    const FrontWork work = WorkForOthers(now);
    lock.Release();
    FrontNews news;
    std::optional<Error> failed;
    try {
      news = front_.Exchange(work);
    } catch (const Error& error) {
      failed = error;
    }
    lock.Reacquire();
    if (failed) {
      NoteAway(*failed, now);
      continue;
    }
    TakeIn(work, news, now);
  }
}

void SharedRounds::EndAll() {
  ended_all_ = true;
  for (std::size_t k = 0; k < core_.members.size(); ++k) {
    const auto& session = core_.members[k].session;
    if (session) clients_.End(*core_.links.Find(*session), kAway);
  }
}

/// Nothing is lost: all of it is told again.
void SharedRounds::NoteAway(const Error& error, RoundsTime now) {
  core_.counts.trouble = error.what();
  if (!away_) away_ = now;
  clients_.Doubt();
  try_again_ = now + kTryAgain;
}

void SharedRounds::TakeIn(const FrontWork& work, const FrontNews& news, RoundsTime now) {
  core_.counts.trouble.clear();
  away_.reset();
  ended_all_ = false;
  if (work.writes) {
    spoke_ = now;
    reported_ = work.report;
    rejected_.clear();
    events_.clear();
  }
  clients_.NoteTold(work, !work.partial || news.taken, now);
  over_ = news.over;
  if (work.partial) TakeFate(news);
  clients_.TakeIn(news);
  asked_ = news.asked;
  if (news.all) all_ = *news.all;
  if (!news.clock.empty()) core_.Log("", "clock", news.clock);
  if (news.newest) PublishNewest(*news.newest);
}

/// A partial counts as a whole or not at all.
void SharedRounds::TakeFate(const FrontNews& news) {
  const FrontPartial partial = *std::exchange(partial_, {});
  const std::vector<CountedUpdate> from = std::exchange(partial_from_, {});
  bool counts = news.taken;
  if (!counts) {
    std::unordered_map<std::uint64_t, FrontClient> known;
    for (const FrontClient& each : news.settled) known.emplace(each.number, each);
    counts = !from.empty() && std::ranges::all_of(from, [&](const CountedUpdate& each) {
      return known[core_.members[each.client].number].next_step > each.step;
    });
    if (!counts && core_.options.uses_late() &&
        std::ranges::all_of(known, [](const auto& each) { return each.second.here; })) {
      late_sums_ = partial.sums;  // its step is over, and it counts in the next
      late_from_ = from;
      return;
    }
    for (const CountedUpdate& each : from) {
      const FrontClient& client = known[core_.members[each.client].number];
      core_.members.Settle(each.client, client.next_step);
      core_.members[each.client].known = client.next_step > 0;
      if (!client.here) {
        clients_.Return(each.client, kElsewhere);
      } else if (!counts && !news.over) {
        clients_.Return(each.client, kComeAgain);
      }
    }
    if (!counts) {
      core_.counts.accepted -= from.size();
      core_.counts.late += news.over ? from.size() : 0;
    }
  }
  if (counts) handed_in_.insert(handed_in_.end(), from.begin(), from.end());
}

/// The step has ended without them.
void SharedRounds::DropOpenAnswers() {
  core_.counts.accepted -= core_.counted.size();
  core_.counts.late += core_.counted.size();
  for (const CountedUpdate& each : core_.counted) {
    core_.members.Settle(each.client, core_.members[each.client].stored_next_step);
  }
}

void SharedRounds::PublishNewest(const ResumePoint& newest) {
  std::vector<CountedUpdate> dropped;
  if (core_.options.uses_late()) {
    late_from_.insert(late_from_.end(), core_.counted.begin(), core_.counted.end());
    if (!late_sums_.empty()) core_.coordinator.AddPartial(late_sums_, 0);
    late_sums_ = core_.coordinator.TakePartial();
  } else {
    DropOpenAnswers();
    dropped = core_.counted;
  }
  core_.counted.clear();
  try {
    core_.coordinator.Load(newest.steps, WithoutOpener(newest.state, core_.options.opener));
  } catch (const Error& error) {
    core_.counts.failure = error;
    return;
  }
  for (const Rejections& each : core_.members.EndCollecting()) rejected_.push_back(each);
  if (core_.options.observer != nullptr) {
    core_.options.observer->StepEnded(newest.steps, handed_in_.size(), core_.first_answer);
  }
  core_.published.Publish(core_.coordinator.broadcast());
  for (std::size_t k = 0; k < core_.members.size(); ++k) {
    core_.members[k].stored_next_step = core_.members[k].next_step;
  }
  for (const CountedUpdate& each : late_from_) {  // theirs are not on the disk
    std::uint64_t& stored = core_.members[each.client].stored_next_step;
    stored = std::min(stored, each.step);
  }
  core_.members.BeginStep(newest.steps, handed_in_);
  for (const CountedUpdate& each : dropped) core_.members.Await(each.client);
  for (const CountedUpdate& each : handed_in_) core_.Confirm(each);
  if (core_.options.uses_late()) {
    core_.counted = std::exchange(late_from_, {});
    core_.coordinator.AddPartial(std::exchange(late_sums_, {}), core_.counted.size());
    for (const CountedUpdate& each : core_.counted) core_.members.Count(each.client, each.step);
  }
  handed_in_.clear();
  asked_ = over_ = false;
  core_.links.WakeClients();
}

void SharedRounds::Describe(RoundsStatus& status) const {
  status.fronts = all_;
  status.enrolled = all_.enrolled;
  status.gone = all_.gone;
  status.answered = all_.answered + core_.counted.size();
  status.needed = NeededOf(all_, core_.options, false);
  if (status.answered >= status.needed) status.missing.clear();
}

}  // namespace polykern
