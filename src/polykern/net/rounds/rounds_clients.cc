// What rounds know of clients beside what they send, and what their operator says of them.
#include <string>

#include "polykern/core/error.h"
#include "polykern/net/rounds/client_notes.h"
#include "polykern/net/rounds/release_opener.h"
#include "polykern/net/rounds/rounds.h"

namespace polykern {

void Rounds::NoteCertificate(SessionId session, const std::string& serial, std::int64_t expires) {
  const Locked locked(*this);
  const Link* const link = links_.Find(session);
  if (link == nullptr || !link->client) return;
  ClientNote note = members_[*link->client].note;
  note.serial = serial;
  note.expires = expires;
  Note(*link->client, note);
}

/// Written with what is written next.
void Rounds::Note(std::uint64_t number, const ClientNote& note) {
  Member& member = members_[number];
  if (member.note == note) return;
  member.note = note;
  if (shared_ != nullptr) return NoteShared(number);
  writer_.Note(number, note);
  has_work_ = true;
}

bool Rounds::NeedsEverybody() const {
  return options_.opener != nullptr && options_.opener->needs_everybody();
}

void Rounds::Recheck(const std::function<bool(const ClientNote&)>& may_come_in, Time now) {
  const Locked locked(*this);
  if (shared_ != nullptr) return RecheckShared(may_come_in);
  if (NeedsEverybody()) return;
  for (std::uint64_t k = 0; k < members_.size(); ++k) {
    const ClientNote& note = members_[k].note;
    const bool gone = note.forgotten || (!note.serial.empty() && !may_come_in(note));
    if (gone == members_[k].gone || members_[k].session) continue;
    members_.SetGone(k, gone);
    Log(members_[k].name, gone ? "gone" : "expected", "by its certificate");
  }
  SignalIfDue(now);
}

std::string Rounds::Forget(const std::string& name, Time now) {
  const Locked locked(*this);
  const auto number = members_.Find(name);
  if (!number) return NotAClient(name);
  if (members_[*number].session) return IsConnected(name);
  if (NeedsEverybody()) return kNeverForgotten;
  ClientNote note = members_[*number].note;
  note.forgotten = true;
  members_.SetGone(*number, true);
  Note(*number, note);
  Log(name, "forgotten", "");
  SignalIfDue(now);
  return {};
}

std::string Rounds::Label(const std::string& name, const std::string& label) {
  const Locked locked(*this);
  const auto number = members_.Find(name);
  if (!number) return NotAClient(name);
  ClientNote note = members_[*number].note;
  note.label = label;
  Note(*number, note);
  return {};
}

std::vector<ClientView> Rounds::Clients() const {
  const std::lock_guard lock(mutex_);
  std::vector<ClientView> clients;
  clients.reserve(members_.size());
  for (std::uint64_t k = 0; k < members_.size(); ++k) {
    const Member& member = members_[k];
    clients.push_back({member.name, member.number, member.session.has_value(), member.awaited,
                       member.gone, member.next_step, member.note, member.report, member.program});
  }
  return clients;
}

void Rounds::Change(const RoundsOptions& options, Time now) {
  const Locked locked(*this);
  RoundsOptions changed = options_;
  changed.quorum = options.quorum;
  changed.least_clients = options.least_clients;
  changed.deadline = options.deadline;
  changed.most_clients = options.most_clients;
  changed.most_connected = options.most_connected;
  changed.retry_earliest = options.retry_earliest;
  changed.retry_latest = options.retry_latest;
  CheckRounds(changed, algorithm_, {});
  if (NeedsEverybody() && !changed.quorum.all()) {
    throw Error(OptionName("masking", "pairwise") + " needs " + OptionName("quorum", "all"));
  }
  options_ = changed;
  Log("", "changed", DescribeRounds(options_));
  SignalIfDue(now);
}

Busy Rounds::RetryWindow(const std::string& reason) const {
  const std::lock_guard lock(mutex_);
  return options_.RetryWindow(reason);
}

}  // namespace polykern
