// Which clients are ignored for a while, and what happens to messages that break a rule.
#include <string>

#include "polykern/net/rounds/rounds.h"

namespace polykern {

/// Answers an update that breaks a rule, and sends away who has sent too many.
void Rounds::Reject(Link& link, std::uint64_t step, const BrokenRule& broken, Time now) {
  const std::string& name = members_[*link.client].name;
  ++counts_.rejected;
  ++counts_.rejected_for[NameOf(broken.rule)];
  Log(name, "rejected", broken.what());
  link.Reply(Encode(Verdict{step, false, broken.what()}));
  links_.Wake(link);
  if (members_.Reject(*link.client, now)) Ban(name);
}

void Rounds::Broken(SessionId session, const std::string& why, Time now) {
  const Locked locked(*this);
  Link* const link = links_.Find(session);
  if (link == nullptr || !link->client) return;
  Reject(*link, published_.step(), {Rule::kMessage, why}, now);
  if (!link->ending) End(*link, {Ending::Kind::kBroken, why});
  SignalIfDue(now);
}

void Rounds::Broken(const std::string& name, const std::string& why, Time now) {
  const Locked locked(*this);
  ++counts_.rejected;
  ++counts_.rejected_for[NameOf(Rule::kMessage)];
  Log(name, "rejected", why);
  if (members_.Reject(name, now)) Ban(name);
}

/// Its connection ends, if it has one.
void Rounds::Ban(const std::string& name) {
  Log(name, "banned", "after " + std::to_string(options_.most_violations) + " bad updates");
  const auto number = members_.Find(name);
  if (!number || !members_[*number].session) return;
  End(*links_.Find(*members_[*number].session), {Ending::Kind::kBusy, kBanned});
}

bool Rounds::IsBanned(const std::string& name, Time now) const {
  const std::lock_guard lock(mutex_);
  return members_.IsBanned(name, now);
}

void Rounds::Refused(const std::string& name, const std::string& why) {
  const Locked locked(*this);
  ++counts_.refused;
  Log(name, "refused", why);
}

void Rounds::Tell(const char* event, const std::string& detail) {
  const Locked locked(*this);
  Log("", event, detail);
}

void Rounds::Expel(const std::string& name, const std::string& why, Time now) {
  const Locked locked(*this);
  const auto number = members_.Find(name);
  if (!number || !members_[*number].session) return;
  Log(name, "expelled", why);
  End(*links_.Find(*members_[*number].session), {Ending::Kind::kRefused, why});
  SignalIfDue(now);
}

}  // namespace polykern
