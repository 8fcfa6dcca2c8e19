// What rounds do where several front ends serve one federation: they hand in sums of what their
// clients send, and hear of the next step.
#include <algorithm>
#include <chrono>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "polykern/core/error.h"
#include "polykern/net/rounds/front.h"
#include "polykern/net/rounds/release_opener.h"
#include "polykern/net/rounds/rounds.h"
#include "polykern/net/rounds/rounds_internal.h"

namespace polykern {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPulse{1000};      // it is there, says a front end at least so often
constexpr milliseconds kClaimAgain{250};  // of a client that another front end has not given up
constexpr milliseconds kTryAgain{250};    // while the database is away
constexpr milliseconds kAwayTime{2500};   // then its clients should look for another front end

const Ending kAway{Ending::Kind::kStopping, "this front end has lost its database"};

/// Clients of these updates, each once.
std::uint64_t DistinctIn(const std::vector<CountedUpdate>& updates) {
  std::unordered_set<std::uint64_t> clients;
  for (const CountedUpdate& each : updates) clients.insert(each.client);
  return clients.size();
}

}  // namespace

Rounds::~Rounds() {
  if (shared_ != nullptr) shared_->front.OnNews(nullptr);
}

void Rounds::BeginSharing(Store& store) {
  shared_ = std::make_unique<Shared>(*options_.front);
  if (!options_.roster.empty()) store.Write({.clients = options_.roster});
  shared_->front.OnNews([this] {
    const Locked locked(*this);
    has_work_ = true;
  });
}

void Rounds::SetAddress(const std::string& address) {
  const std::lock_guard lock(mutex_);
  if (shared_ == nullptr) return;
  shared_->address = address;
  shared_->spoke = {};  // the others should know
}

std::optional<Ending> Rounds::AwayRefusal() const {
  return shared_->away ? std::optional(kAway) : std::nullopt;
}

bool Rounds::IsFirstAnswer() const {
  if (!counted_.empty()) return false;
  return shared_ == nullptr || (shared_->handed_in.empty() && !shared_->partial);
}

bool Rounds::IsPartialDue(Time now) const {
  if (counted_.empty() || shared_->partial || shared_->over) return false;
  return options_.asynchronous || members_.IsComplete() || shared_->asked ||
         !shared_->wanted.empty() || now >= first_answer_ + options_.deadline;
}

bool Rounds::HasToExchange(Time now) const {
  const Shared& s = *shared_;
  if (now < s.try_again) return false;
  if (s.front.HasNews() || s.new_claims || s.confirm || s.partial || now >= s.spoke + kPulse) {
    return true;
  }
  if (!s.claims.empty() && now >= s.claimed + kClaimAgain) return true;
  if ((!s.wanted.empty() && MayRelease()) || IsPartialDue(now)) return true;
  return !HasReported();
}

/// Whether any client is waited for, which is all that the others must know at once: clients of a
/// front end that has said nothing of a step are, if it has any.
bool Rounds::HasReported() const {
  const FrontReport& told = shared_->reported;
  const bool complete =
      told.connected == 0 || (told.step == published_.step() && told.waiting == 0);
  return complete == (members_.waiting() == 0) && (told.asked || !shared_->asked);
}

void Rounds::MakePartial(Time now) {
  Shared& s = *shared_;
  FrontPartial partial{
      .serial = ++s.serial,
      .step = published_.step(),
      .sums = coordinator_.TakePartial(),
      .age = std::chrono::duration_cast<milliseconds>(now - first_answer_).count()};
  partial.clients = DistinctIn(counted_);
  for (const CountedUpdate& each : counted_) {
    partial.counted.push_back({members_[each.client].number, each.step});
    partial.newcomers += static_cast<std::uint64_t>(!members_[each.client].known);
    members_[each.client].known = true;
  }
  s.partial = std::move(partial);
  s.partial_from = std::exchange(counted_, {});
}

FrontWork Rounds::WorkForOthers(Time now) {
  Shared& s = *shared_;
  if (IsPartialDue(now)) MakePartial(now);
  FrontWork work{.step = published_.step(), .partial = s.partial};
  for (const auto& [client, mask_key] : s.claims) {
    if (members_[client].session) work.claims.push_back({members_[client].name, mask_key});
  }
  if (s.confirm) {
    for (std::size_t k = 0; k < members_.size(); ++k) {
      if (members_[k].stored) work.confirms.push_back(members_[k].number);
    }
  }
  work.may_come_in = s.may_come_in;
  work.most_clients = options_.most_clients;
  constexpr std::size_t kManyEvents = 1000;  // more wait elsewhere, where old ones are forgotten
  if (s.events.size() < kManyEvents) {
    for (StoredEvent& event : writer_.TakeEvents()) s.events.push_back(std::move(event));
  }
  work.rejected = s.rejected;
  work.events = s.events;
  work.report = {.address = s.address,
                 .step = published_.step(),
                 .connected = members_.connected(),
                 .waiting = members_.waiting(),
                 .held = DistinctIn(counted_),
                 .newcomers = members_.newcomers(),
                 .asked = s.asked && counted_.empty(),
                 .accepted = counts_.accepted};
  // One that has only heard something, or claims clients, need not write.
  const bool silent = !s.partial && s.wanted.empty() && HasReported() && now < s.spoke + kPulse;
  work.writes = !silent;
  if (work.writes) ReleaseClients(work);
  for (const std::uint64_t client : s.noted) {
    const Member& member = members_[client];
    if (member.stored) work.certificates.push_back({member.number, member.note});
  }
  s.new_claims = false;
  return work;
}

void Rounds::ExchangeAll(Locked& locked, Time now) {
  if (shared_->away && now >= *shared_->away + kAwayTime && !shared_->told_away) {
    shared_->told_away = true;
    for (std::size_t k = 0; k < members_.size(); ++k) {
      if (members_[k].session) End(*links_.Find(*members_[k].session), kAway);
    }
    locked.Release();  // they hear of it before the next attempt
    locked.Reacquire();
  }
  while (HasToExchange(now)) {
    const FrontWork work = WorkForOthers(now);
    locked.Release();
    FrontNews news;
    std::optional<Error> failed;
    try {
      news = shared_->front.Exchange(work);
    } catch (const Error& error) {
      failed = error;
    }
    locked.Reacquire();
    if (failed) {
      NoteAway(*failed, now);
      continue;
    }
    TakeIn(work, news);
    if (work.writes) shared_->spoke = now;
    if (!work.claims.empty()) shared_->claimed = now;
  }
}

/// Nothing is lost: all of it is told again.
void Rounds::NoteAway(const Error& error, Time now) {
  counts_.trouble = error.what();
  if (!shared_->away) shared_->away = now;
  shared_->confirm = true;
  shared_->try_again = now + kTryAgain;
}

void Rounds::TakeIn(const FrontWork& work, const FrontNews& news) {
  Shared& s = *shared_;
  counts_.trouble.clear();
  s.away.reset();
  s.told_away = false;
  if (work.writes) {
    s.reported = work.report;
    s.rejected.clear();
    s.events.clear();
    for (const auto& [number, note] : work.certificates) {
      if (members_[s.places[number]].note == note) s.noted.erase(s.places[number]);
    }
    if (!work.partial || news.taken) ForgetReleased(work.released);
  }
  s.confirm = false;
  if (work.may_come_in) s.may_come_in = {};
  s.over = news.over;
  if (work.partial) TakeFate(news);
  TakeClients(news);
  s.asked = news.asked;
  if (news.all) s.all = *news.all;
  if (!news.clock.empty()) Log("", "clock", news.clock);
  if (news.newest) PublishNewest(*news.newest);
}

/// A partial counts as a whole or not at all.
void Rounds::TakeFate(const FrontNews& news) {
  Shared& s = *shared_;
  const FrontPartial partial = *std::exchange(s.partial, {});
  const std::vector<CountedUpdate> from = std::exchange(s.partial_from, {});
  bool counts = news.taken;
  if (!counts) {
    std::unordered_map<std::uint64_t, FrontClient> known;
    for (const FrontClient& each : news.settled) known.emplace(each.number, each);
    counts = !from.empty() && std::ranges::all_of(from, [&](const CountedUpdate& each) {
      return known[members_[each.client].number].next_step > each.step;
    });
    if (!counts && options_.uses_late() &&
        std::ranges::all_of(known, [](const auto& each) { return each.second.here; })) {
      s.late_sums = partial.sums;  // its step is over, and it counts in the next
      s.late_from = from;
      return;
    }
    for (const CountedUpdate& each : from) {
      const FrontClient& client = known[members_[each.client].number];
      members_.Settle(each.client, client.next_step);
      members_[each.client].known = client.next_step > 0;
      if (!client.here) {
        Return(each.client, kElsewhere);
      } else if (!counts && !news.over) {
        Return(each.client, kComeAgain);
      }
    }
    if (!counts) {
      counts_.accepted -= from.size();
      counts_.late += news.over ? from.size() : 0;
    }
  }
  if (counts) s.handed_in.insert(s.handed_in.end(), from.begin(), from.end());
}

/// The step has ended without them.
void Rounds::DropOpenAnswers() {
  counts_.accepted -= counted_.size();
  counts_.late += counted_.size();
  for (const CountedUpdate& each : counted_) {
    members_.Settle(each.client, members_[each.client].stored_next_step);
  }
}

void Rounds::PublishNewest(const ResumePoint& newest) {
  Shared& s = *shared_;
  std::vector<CountedUpdate> dropped;
  if (options_.uses_late()) {
    s.late_from.insert(s.late_from.end(), counted_.begin(), counted_.end());
    if (!s.late_sums.empty()) coordinator_.AddPartial(s.late_sums, 0);
    s.late_sums = coordinator_.TakePartial();
  } else {
    DropOpenAnswers();
    dropped = counted_;
  }
  counted_.clear();
  try {
    coordinator_.Load(newest.steps, WithoutOpener(newest.state, options_.opener));
  } catch (const Error& error) {
    counts_.failure = error;
    return;
  }
  for (const Rejections& each : members_.EndCollecting()) s.rejected.push_back(each);
  if (options_.observer != nullptr) {
    options_.observer->StepEnded(newest.steps, s.handed_in.size(), first_answer_);
  }
  published_.Publish(coordinator_.broadcast());
  for (std::size_t k = 0; k < members_.size(); ++k) {
    members_[k].stored_next_step = members_[k].next_step;
  }
  for (const CountedUpdate& each : s.late_from) {  // theirs are not on the disk
    std::uint64_t& stored = members_[each.client].stored_next_step;
    stored = std::min(stored, each.step);
  }
  members_.BeginStep(newest.steps, s.handed_in);
  for (const CountedUpdate& each : dropped) members_.Await(each.client);
  if (options_.uses_late()) {
    for (const CountedUpdate& each : s.handed_in) {
      if (const auto& session = members_[each.client].session) {
        links_.Find(*session)->counted = each.step;
      }
    }
    counted_ = std::exchange(s.late_from, {});
    coordinator_.AddPartial(std::exchange(s.late_sums, {}), counted_.size());
    for (const CountedUpdate& each : counted_) members_.Count(each.client, each.step);
  }
  s.handed_in.clear();
  s.asked = s.over = false;
  links_.WakeClients();
}

void Rounds::DescribeFronts(RoundsStatus& status) const {
  const FrontsStatus& all = shared_->all;
  status.fronts = all;
  status.enrolled = all.enrolled;
  status.gone = all.gone;
  status.answered = all.answered + counted_.size();
  status.needed = NeededOf(all, options_, false);
  if (status.answered >= status.needed) status.missing.clear();
}

}  // namespace polykern
