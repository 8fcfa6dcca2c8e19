// What rounds know of clients beside what they send, and what their operator says of them.
#include <string>

#include "polykern/core/error.h"
#include "polykern/net/rounds/client_notes.h"
#include "polykern/net/rounds/rounds.h"
#include "polykern/net/rounds/shared_rounds.h"

namespace polykern {

void Rounds::NoteCertificate(SessionId session, const std::string& serial, std::int64_t expires) {
  const RoundsLock lock(core_);
  const Link* const link = core_.links.Find(session);
  if (link == nullptr || !link->client) return;
  ClientNote note = core_.members[*link->client].note;
  note.serial = serial;
  note.expires = expires;
  Note(*link->client, note);
}

/// Written with what is written next.
void Rounds::Note(std::uint64_t number, const ClientNote& note) {
  Member& member = core_.members[number];
  if (member.note == note) return;
  member.note = note;
  if (shared_ != nullptr) return shared_->clients().NoteCertificate(number);
  core_.writer.Note(number, note);
  core_.has_work = true;
}

void Rounds::Recheck(const std::function<bool(const ClientNote&)>& may_come_in, Time now) {
  const RoundsLock lock(core_);
  if (shared_ != nullptr) return shared_->Recheck(may_come_in);
  if (core_.options.needs_everybody()) return;
  for (std::uint64_t k = 0; k < core_.members.size(); ++k) {
    const ClientNote& note = core_.members[k].note;
    const bool gone = note.forgotten || (!note.serial.empty() && !may_come_in(note));
    if (gone == core_.members[k].gone || core_.members[k].session) continue;
    core_.members.SetGone(k, gone);
    core_.Log(core_.members[k].name, gone ? "gone" : "expected", "by its certificate");
  }
  SignalIfDue(now);
}

std::string Rounds::Forget(const std::string& name, Time now) {
  const RoundsLock lock(core_);
  const auto number = core_.members.Find(name);
  if (!number) return NotAClient(name);
  if (core_.members[*number].session) return IsConnected(name);
  if (core_.options.needs_everybody()) return kNeverForgotten;
  ClientNote note = core_.members[*number].note;
  note.forgotten = true;
  core_.members.SetGone(*number, true);
  Note(*number, note);
  core_.Log(name, "forgotten", "");
  SignalIfDue(now);
  return {};
}

std::string Rounds::Label(const std::string& name, const std::string& label) {
  const RoundsLock lock(core_);
  const auto number = core_.members.Find(name);
  if (!number) return NotAClient(name);
  ClientNote note = core_.members[*number].note;
  note.label = label;
  Note(*number, note);
  return {};
}

std::vector<ClientView> Rounds::Clients() const {
  const std::lock_guard lock(core_.mutex);
  std::vector<ClientView> clients;
  clients.reserve(core_.members.size());
  for (std::uint64_t k = 0; k < core_.members.size(); ++k) {
    const Member& member = core_.members[k];
    clients.push_back({member.name, member.number, member.session.has_value(), member.awaited,
                       member.gone, member.next_step, member.note, member.report, member.program});
  }
  return clients;
}

void Rounds::Change(const RoundsOptions& options, Time now) {
  const RoundsLock lock(core_);
  RoundsOptions changed = core_.options;
  changed.quorum = options.quorum;
  changed.least_clients = options.least_clients;
  changed.deadline = options.deadline;
  changed.most_clients = options.most_clients;
  changed.most_connected = options.most_connected;
  changed.retry_earliest = options.retry_earliest;
  changed.retry_latest = options.retry_latest;
  CheckRounds(changed, core_.algorithm, {});
  if (core_.options.needs_everybody() && !changed.quorum.all()) {
    throw Error(OptionName("masking", "pairwise") + " needs " + OptionName("quorum", "all"));
  }
  core_.options = changed;
  core_.Log("", "changed", DescribeRounds(core_.options));
  SignalIfDue(now);
}

Busy Rounds::RetryWindow(const std::string& reason) const {
  const std::lock_guard lock(core_.mutex);
  return core_.options.RetryWindow(reason);
}

}  // namespace polykern
