// Which clients are ignored for a while, and what happens to messages that break a rule.
#include <string>

#include "polykern/net/rounds/rounds.h"

namespace polykern {

/// Answers an update that breaks a rule, and sends away who has sent too many.
void Rounds::Reject(Link& link, std::uint64_t step, const BrokenRule& broken, Time now) {
  const std::string& name = core_.members[*link.client].name;
  ++core_.counts.rejected;
  ++core_.counts.rejected_for[NameOf(broken.rule)];
  core_.Log(name, "rejected", broken.what());
  link.Reply(Encode(Verdict{step, false, broken.what()}));
  core_.links.Wake(link);
  if (core_.members.Reject(*link.client, now)) Ban(name);
}

void Rounds::Broken(SessionId session, const std::string& why, Time now) {
  const RoundsLock lock(core_);
  Link* const link = core_.links.Find(session);
  if (link == nullptr || !link->client) return;
  Reject(*link, core_.published.step(), {Rule::kMessage, why}, now);
  if (!link->ending) End(*link, {Ending::Kind::kBroken, why});
  SignalIfDue(now);
}

void Rounds::Broken(const std::string& name, const std::string& why, Time now) {
  const RoundsLock lock(core_);
  ++core_.counts.rejected;
  ++core_.counts.rejected_for[NameOf(Rule::kMessage)];
  core_.Log(name, "rejected", why);
  if (core_.members.Reject(name, now)) Ban(name);
}

/// Its connection ends, if it has one.
void Rounds::Ban(const std::string& name) {
  core_.Log(name, "banned",
            "after " + std::to_string(core_.options.most_violations) + " bad updates");
  const auto number = core_.members.Find(name);
  if (!number || !core_.members[*number].session) return;
  End(*core_.links.Find(*core_.members[*number].session), {Ending::Kind::kBusy, kBanned});
}

bool Rounds::IsBanned(const std::string& name, Time now) const {
  const std::lock_guard lock(core_.mutex);
  return core_.members.IsBanned(name, now);
}

void Rounds::Refused(const std::string& name, const std::string& why) {
  const RoundsLock lock(core_);
  ++core_.counts.refused;
  core_.Log(name, "refused", why);
}

void Rounds::Tell(const char* event, const std::string& detail) {
  const RoundsLock lock(core_);
  core_.Log("", event, detail);
}

void Rounds::Expel(const std::string& name, const std::string& why, Time now) {
  const RoundsLock lock(core_);
  const auto number = core_.members.Find(name);
  if (!number || !core_.members[*number].session) return;
  core_.Log(name, "expelled", why);
  End(*core_.links.Find(*core_.members[*number].session), {Ending::Kind::kRefused, why});
  SignalIfDue(now);
}

}  // namespace polykern
