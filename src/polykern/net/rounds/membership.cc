#include "polykern/net/rounds/membership.h"

#include <algorithm>
#include <utility>

namespace polykern {

Membership::Membership(const RoundsOptions& options, std::span<const StoredClient> stored,
                       std::uint64_t step)
    : options_(options), step_(step) {
  for (const StoredClient& client : stored) {
    Member& member = members_[Enrol(client.name)];
    member.next_step = member.stored_next_step = client.next_step;
    if (options.roster.empty() && client.next_step > 0) --absent_;
    member.note = client.note;
    SetGone(members_.size() - 1, client.note.forgotten);
  }
  MarkStored(stored.size());
  if (options.front != nullptr) {
    roster_.insert(options.roster.begin(), options.roster.end());
    return;
  }
  for (const std::string& name : options.roster) {
    if (!Find(name)) Enrol(name);
  }
}

std::optional<std::uint64_t> Membership::Find(const std::string& name) const {
  const auto found = numbers_.find(name);
  if (found == numbers_.end()) return {};
  return found->second;
}

std::optional<Ending> Membership::Refusal(const std::string& name, RoundsTime now) const {
  using Kind = Ending::Kind;
  const auto known = Find(name);
  if (IsBanned(name, now)) return Ending{Kind::kBusy, kBanned};
  if (!known && !options_.roster.empty() && !roster_.contains(name)) {
    return Ending{Kind::kRefused, "'" + name + "' is not a client of this federation"};
  }
  const bool alone = options_.front == nullptr;  // else there is room as all of them know it
  if (alone && !known && members_.size() - gone_ >= options_.most_clients) {
    return Ending{Kind::kBusy, "the federation has no room for another client"};
  }
  const bool replaces = known && members_[*known].session;
  if (!replaces && connected_ >= options_.most_connected) {
    return Ending{Kind::kBusy, "the server is full"};
  }
  if (alone && !known && !options_.asynchronous && options_.quorum.all() &&
      expected() + 1 > options_.most_connected) {
    return Ending{Kind::kBusy,
                  "with one more client, a quorum could no longer be connected at the same time"};
  }
  return {};
}

std::uint64_t Membership::Enrol(const std::string& name) {
  const std::uint64_t number = members_.size();
  members_.push_back({.name = name, .number = number});
  numbers_.emplace(name, number);
  if (IsAbsent(members_.back())) ++absent_;
  return number;
}

std::span<const Member> Membership::MarkStored(std::size_t count) {
  const std::span<Member> stored = std::span(members_).subspan(stored_, count);
  for (Member& member : stored) member.stored = true;
  stored_ += count;
  return stored;
}

void Membership::Connect(std::uint64_t number, SessionId session) {
  Member& member = members_[number];
  SetGone(number, false);
  if (IsAbsent(member)) --absent_;
  member.session = session;
  ++connected_;
  if (IsWaitedFor(member)) ++unanswered_;
}

void Membership::Disconnect(std::uint64_t number) {
  Member& member = members_[number];
  member.session.reset();
  if (IsAbsent(member)) ++absent_;
  --connected_;
  if (IsWaitedFor(member)) --unanswered_;
}

void Membership::SetGone(std::uint64_t number, bool gone) {
  Member& member = members_[number];
  if (gone == member.gone || (gone && member.session)) return;
  if (IsAbsent(member)) --absent_;
  member.gone = gone;
  gone ? ++gone_ : --gone_;
  if (IsAbsent(member)) ++absent_;
}

void Membership::Count(std::uint64_t number, std::uint64_t step) {
  Member& member = members_[number];
  const bool waited = IsWaitedFor(member);
  member.next_step = step + 1;
  if (!member.counted) ++answering_;
  member.awaited = member.counted = true;
  unanswered_ += static_cast<std::size_t>(IsWaitedFor(member));
  unanswered_ -= static_cast<std::size_t>(waited);
}

void Membership::CountRanges(std::uint64_t number) {
  Member& member = members_[number];
  if (member.session && IsWaitedFor(member)) --unanswered_;
  member.awaited = member.counted = true;
  ++answering_;
}

void Membership::BeginSteps() {
  for (Member& member : members_) ForgetAnswer(member);
  answering_ = 0;
  learns_ranges_ = false;
  BeginStep(step_, {});
}

void Membership::Await(std::uint64_t number) {
  Member& member = members_[number];
  if (!std::exchange(member.awaited, true) && IsWaitedFor(member)) ++unanswered_;
}

bool Membership::Reject(std::uint64_t number, RoundsTime now) {
  Member& member = members_[number];
  ++member.rejected;
  return AddStrike(member.strikes, now);
}

bool Membership::Reject(const std::string& name, RoundsTime now) {
  const auto known = Find(name);
  return known ? Reject(*known, now) : AddStrike(strangers_[name], now);
}

bool Membership::IsBanned(const std::string& name, RoundsTime now) const {
  if (const auto known = Find(name)) return members_[*known].strikes.banned_until > now;
  const auto stranger = strangers_.find(name);
  return stranger != strangers_.end() && stranger->second.banned_until > now;
}

bool Membership::AddStrike(Strikes& strikes, RoundsTime now) const {
  if (++strikes.violations < options_.most_violations) return false;
  strikes = {.violations = 0, .banned_until = now + options_.ban};
  return true;
}

void Membership::StopWaiting() {
  if (!needs_share()) return;
  for (Member& member : members_) {
    if (member.session && IsWaitedFor(member)) member.awaited = false;
  }
  unanswered_ = 0;
}

/// The open step is another one, or will be.
void Membership::ForgetAnswer(Member& member) {
  const bool absent = IsAbsent(member);
  member.counted = false;
  if (!absent && IsAbsent(member)) ++absent_;
}

void Membership::Settle(std::uint64_t number, std::uint64_t next_step) {
  Member& member = members_[number];
  const bool was_absent = IsAbsent(member);
  const bool waited = member.session && IsWaitedFor(member);
  if (std::exchange(member.counted, false)) --answering_;
  member.next_step = next_step;
  absent_ += static_cast<std::size_t>(IsAbsent(member));
  absent_ -= static_cast<std::size_t>(was_absent);
  unanswered_ += static_cast<std::size_t>(member.session && IsWaitedFor(member));
  unanswered_ -= static_cast<std::size_t>(waited);
}

std::size_t Membership::newcomers() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      members_, [](const Member& member) { return member.session && !member.known; }));
}

std::vector<Rejections> Membership::EndCollecting() {
  std::vector<Rejections> rejected;
  for (std::size_t k = 0; k < members_.size(); ++k) {
    ForgetAnswer(members_[k]);
    const std::uint64_t count = std::exchange(members_[k].rejected, 0);
    if (count > 0) rejected.push_back({members_[k].number, count});
  }
  answering_ = 0;
  return rejected;
}

void Membership::BeginStep(std::uint64_t step, std::span<const CountedUpdate> counted) {
  step_ = step;
  for (const CountedUpdate& update : counted) {
    members_[update.client].stored_next_step = update.step + 1;
    members_[update.client].took_part = step;
  }
  unanswered_ = 0;
  for (Member& member : members_) {
    if (!member.session) continue;
    // Clients that answered the step that has ended, or sent something late instead.
    member.awaited &= member.next_step == step || member.took_part == step || member.counted;
    if (IsWaitedFor(member)) ++unanswered_;
  }
}

/// In the open step, if it is connected.
bool Membership::IsWaitedFor(const Member& member) const {
  return member.awaited && !member.counted && member.next_step != step_ + 1;
}

bool Membership::IsAbsent(const Member& member) const {
  return !member.session && !member.counted &&
         (member.gone || (options_.roster.empty() && member.next_step == 0));
}

std::uint64_t Membership::needed() const {
  const Quorum& quorum = options_.quorum;
  if (learns_ranges_ && quorum.count == 0 && !options_.asynchronous) {
    return (quorum == Quorum{} ? Quorum::All() : quorum).Of(expected());
  }
  return options_.Needed(there(), expected());
}

void Membership::Describe(RoundsStatus& status) const {
  status.enrolled = members_.size();
  status.connected = connected_;
  status.gone = gone_;
  status.needed = needed();
  constexpr std::size_t kMostMissing = 5;
  double predictions = 0;
  ClientReport skilled;  // of those that tell it; sums
  for (const Member& member : members_) {
    if (!HasQuorum() && status.missing.size() < kMostMissing && !member.counted &&
        !IsAbsent(member) && (member.session || !needs_share())) {
      status.missing.push_back(member.name);
    }
    if (member.session && member.note.expires > 0) {
      status.first_expiry =
          std::min(status.first_expiry.value_or(member.note.expires), member.note.expires);
    }
    const ClientReport& report = member.report;
    if (report.predictions == 0) continue;
    const auto weight = static_cast<double>(report.predictions);
    ++status.reporting;
    predictions += weight;
    status.reported_squared_error += weight * report.squared_error;
    status.reported_regret += report.regret;
    if (!report.skill()) continue;
    skilled.squared_error += weight * report.squared_error;
    skilled.naive_error += weight * report.naive_error;
  }
  if (status.reporting > 0) {
    status.reported_squared_error /= predictions;
    status.reported_regret /= static_cast<double>(status.reporting);
    status.reported_skill = skilled.skill();
  }
}

}  // namespace polykern
