#include "polykern/net/server/rounds.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <numeric>
#include <utility>

#include "polykern/core/error.h"
#include "polykern/net/version_2.h"

namespace polykern {
namespace {

constexpr std::size_t kMostNotes = 8;     // that wait for a client which does not read
constexpr std::size_t kMostLines = 1000;  // of the log, that wait for the store
// Of a client with a new connection: its last update again, and an answer to the model it had.
constexpr std::size_t kMostEarlier = 2;

}  // namespace

Rounds::Rounds(const Algorithm& algorithm, Store& store, const RoundsOptions& options)
    : shape_(algorithm.shape()),
      options_(options),
      store_(store),
      coordinator_(algorithm, 0),
      changed_at_(shape_.blocks) {
  const StoreContents contents = store.Contents();
  const std::vector<StoredClient>& stored = contents.clients;
  configuration_ = Canonical(contents.configuration);
  try {
    old_configuration_ = ForVersion2(contents.configuration);
  } catch (const Error& error) {
    too_new_ = error.what();
  }
  CheckRounds(options, algorithm.name(), stored);
  store.CheckRoom(coordinator_.Save().size());
  if (uses_late()) coordinator_.TakeLateUpdates();
  std::vector<std::uint64_t> answered;
  for (const StoredClient& client : stored) {
    Client& known = clients_[Know(client.name)];
    known.answered = known.committed = client.next_step;
    answered.push_back(client.next_step);
  }
  if (const auto& point = contents.newest) coordinator_.Load(point->steps, point->state, answered);
  told_ = coordinator_.broadcast();
  std::ranges::fill(changed_at_, told_.step);
  for (const std::string& name : options.roster) Enrol(name);
  absent_ = static_cast<std::size_t>(
      std::ranges::count_if(clients_, [this](const Client& client) { return IsAbsent(client); }));
}

std::uint64_t Rounds::Enrol(const std::string& name) {
  if (const auto found = numbers_.find(name); found != numbers_.end()) return found->second;
  store_.Write({.clients = std::span(&name, 1), .events = events_});
  events_.clear();
  return Know(name);
}

std::uint64_t Rounds::Know(const std::string& name) {
  const std::uint64_t number = clients_.size();
  clients_.emplace_back().name = name;
  if (IsAbsent(clients_.back())) ++absent_;
  numbers_.emplace(name, number);
  coordinator_.AddClients(1);
  return number;
}

std::string NameOf(Rule rule) {
  switch (rule) {
    case Rule::kStep:
      return "step";
    case Rule::kTwice:
      return "twice";
    case Rule::kClient:
      return "client";
    case Rule::kLengths:
      return "lengths";
    case Rule::kKernels:
      return "kernels";
    case Rule::kLosses:
      return "losses";
    case Rule::kNumbers:
      return "numbers";
    case Rule::kNorm:
      return "norm";
    case Rule::kEnded:
      return "ended";
    case Rule::kMessage:
      return "message";
  }
  return "";
}

void Rounds::Log(const std::string& name, const char* event, const std::string& detail) {
  if (options_.observer != nullptr) options_.observer->Event(name, event, detail);
  events_.push_back({std::time(nullptr), name, event, detail});
  if (events_.size() < kMostLines || writing_) return;
  try {
    store_.Write({.events = events_});
    events_.clear();
  } catch (const DiskFull&) {  // the newer half waits on
    events_.erase(events_.begin(), events_.begin() + kMostLines / 2);
  } catch (const Error& error) {
    counts_.failure = error;
  }
}

Rounds::~Rounds() {
  try {
    if (!events_.empty()) store_.Write({.events = events_});
  } catch (const Error&) {  // the log's last lines; there is nobody to tell
  }
}

Busy Rounds::RetryWindow(const std::string& reason) const {
  return {static_cast<std::uint32_t>(options_.retry_earliest.count()),
          static_cast<std::uint32_t>(options_.retry_latest.count()), reason};
}

std::optional<Ending> Rounds::Refusal(const std::string& name, const Hello& hello, Time now) const {
  using Kind = Ending::Kind;
  if (hello.version < kOldestProtocolVersion || hello.version > kProtocolVersion) {
    return Ending{Kind::kVersion, "you speak version " + std::to_string(hello.version) +
                                      " of the protocol, this server speaks " +
                                      std::to_string(kOldestProtocolVersion) + " to " +
                                      std::to_string(kProtocolVersion) + "; update the older side"};
  }
  if (hello.version <= kLastVersionWithEveryOption && !too_new_.empty()) {
    return Ending{Kind::kVersion, too_new_};
  }
  const auto known = numbers_.find(name);
  if (known != numbers_.end() && clients_[known->second].banned_until > now) {
    return Ending{Kind::kBusy, "sent away for a while, after too many bad updates"};
  }
  if (known == numbers_.end() && !options_.roster.empty()) {
    return Ending{Kind::kRefused, "'" + name + "' is not a client of this federation"};
  }
  if (known == numbers_.end() && clients_.size() >= options_.most_clients) {
    return Ending{Kind::kBusy, "the federation has no room for another client"};
  }
  const bool replaces = known != numbers_.end() && clients_[known->second].session;
  if (!replaces && connected_ >= options_.most_connected) {
    return Ending{Kind::kBusy, "as many clients are connected as the server takes"};
  }
  if (known == numbers_.end() && !options_.asynchronous &&
      options_.quorum.Of(Expected() + 1) > options_.most_connected) {
    return Ending{Kind::kBusy, "with another client a quorum could not be connected at once"};
  }
  return {};
}

Rounds::Session Rounds::Join(const std::string& name, const Hello& hello,
                             std::shared_ptr<Peer> peer, Time now) {
  Locked locked(*this);
  written_.wait(locked.lock(), [this] { return !writing_; });  // to enrol takes the store
  const Session session = next_session_++;
  Link& link = links_[session];
  link.peer = std::move(peer);
  link.version = hello.version;
  link.began = told_.step;
  std::optional<Ending> refusal = Refusal(name, hello, now);
  std::uint64_t number = 0;
  if (!refusal) {
    try {
      number = Enrol(name);
    } catch (const Error& error) {
      refusal = Ending{Ending::Kind::kBusy, "the server cannot enrol anybody for now"};
      counts_.trouble = error.what();
    }
  }
  Log(name, refusal ? "refused" : "joined",
      refusal ? refusal->reason : "at step " + std::to_string(hello.next_step));
  if (refusal) {
    ++counts_.refused;
    End(link, refusal->kind, refusal->reason);
    return session;
  }
  Client& client = clients_[number];
  if (client.session) {
    End(links_.at(*client.session), Ending::Kind::kReplaced, "a newer connection took its place");
  }
  if (IsAbsent(client)) --absent_;
  client.session = session;
  link.client = number;
  ++connected_;
  if (Waited(client)) ++unanswered_;
  wake_.push_back(link.peer);
  return session;
}

/// A client is given a step's model once and answers it once, in the order of the steps. However
/// slow it is, its answers on one connection are to later and later steps, and all but a few to
/// models that it was given there. Throws BrokenRule for anything else.
void Rounds::CheckGiven(const Link& link, std::uint64_t step) {
  if (step < link.answered) {
    throw BrokenRule(Rule::kTwice, "step " + std::to_string(step) + " is answered already");
  }
  if (step < link.began && link.earlier == kMostEarlier) {
    throw BrokenRule(Rule::kStep, "step " + std::to_string(step) +
                                      " was over before this connection began at step " +
                                      std::to_string(link.began) + ", and " +
                                      std::to_string(kMostEarlier) + " such updates came already");
  }
}

void Rounds::Receive(Session session, Updates updates, Time now) {
  const Locked locked(*this);
  const auto found = links_.find(session);
  if (found == links_.end() || !found->second.client || found->second.ending) return;
  Link& link = found->second;
  Client& client = clients_[*link.client];
  const std::uint64_t step = updates.step;
  const bool late = step < told_.step || (step == told_.step && pending_);
  const bool dropped = late && (!uses_late() || finished());
  const bool duplicate = !dropped && step < client.answered;
  try {
    CheckGiven(link, step);
    if (!dropped && finished()) throw BrokenRule(Rule::kEnded, "the federation has ended");
    updates.clients.assign(1, *link.client);
    if (!dropped && !duplicate) coordinator_.Receive(updates);
  } catch (const BrokenRule& broken) {
    return Violation(link, step, broken, now);
  }
  link.answered = step + 1;
  if (step < link.began) ++link.earlier;
  if (dropped) {
    ++counts_.late;
    if (!std::exchange(client.awaited, true) && Waited(client)) ++unanswered_;
    return;
  }
  if (duplicate) {  // what it sent before the connection was lost did arrive
    ++counts_.duplicates;
    return;
  }
  const bool waited = Waited(client);
  client.answered = step + 1;
  if (!client.counted) ++answering_;
  client.awaited = client.counted = true;
  unanswered_ += static_cast<std::size_t>(Waited(client));
  unanswered_ -= static_cast<std::size_t>(waited);
  if (counted_.empty()) first_answer_ = now;
  counted_.push_back({*link.client, step});
  ++counts_.accepted;
  if (late) ++counts_.used_late;
  EndStepIfDue(now);
}

void Rounds::Violation(Link& link, std::uint64_t step, const BrokenRule& broken, Time now) {
  Client& client = clients_[*link.client];
  ++counts_.rejected;
  ++counts_.rejected_for[NameOf(broken.rule)];
  ++client.rejected;
  Log(client.name, "rejected", broken.what());
  if (link.notes.size() < kMostNotes)
    link.notes.push_back(Encode(Verdict{step, false, broken.what()}));
  wake_.push_back(link.peer);
  if (++client.violations < options_.most_violations) return;
  client.violations = 0;
  client.banned_until = now + options_.ban;
  Log(client.name, "banned", "after " + std::to_string(options_.most_violations) + " bad updates");
  End(link, Ending::Kind::kBusy, "sent away for a while, after too many bad updates");
  EndStepIfDue(now);
}

void Rounds::Broken(Session session, const std::string& why, Time now) {
  const Locked locked(*this);
  const auto found = links_.find(session);
  if (found == links_.end() || found->second.ending) return;
  Link& link = found->second;
  Violation(link, told_.step, {Rule::kMessage, why}, now);
  if (!link.ending) End(link, Ending::Kind::kBroken, why);
  EndStepIfDue(now);
}

/// The client is no longer connected through this link.
void Rounds::Detach(Link& link) {
  if (!link.client) return;
  Client& client = clients_[*link.client];
  client.session.reset();
  if (IsAbsent(client)) ++absent_;
  --connected_;
  if (Waited(client)) --unanswered_;
  link.client.reset();
}

void Rounds::End(Link& link, Ending::Kind kind, const std::string& reason) {
  Detach(link);
  if (kind == Ending::Kind::kBusy) link.notes.push_back(Encode(RetryWindow(reason)));
  link.ending = Ending{kind, reason};
  wake_.push_back(link.peer);
}

void Rounds::Note(Session session, const ClientReport& report) {
  const std::lock_guard lock(mutex_);
  const auto found = links_.find(session);
  if (found == links_.end() || !found->second.client) return;
  clients_[*found->second.client].report = report;
}

void Rounds::Refused(const std::string& name, const std::string& why) {
  const std::lock_guard lock(mutex_);
  ++counts_.refused;
  Log(name, "refused", why);
}

void Rounds::Leave(Session session, Time now) {
  const Locked locked(*this);
  const auto found = links_.find(session);
  if (found == links_.end()) return;
  if (found->second.client) Log(clients_[*found->second.client].name, "left", "");
  Detach(found->second);
  links_.erase(found);
  EndStepIfDue(now);
}

void Rounds::Expel(const std::string& name, const std::string& why, Time now) {
  const Locked locked(*this);
  const auto known = numbers_.find(name);
  if (known == numbers_.end() || !clients_[known->second].session) return;
  Log(name, "expelled", why);
  End(links_.at(*clients_[known->second].session), Ending::Kind::kRefused, why);
  EndStepIfDue(now);
}

std::shared_ptr<const std::string> Rounds::ChangeSince(std::uint64_t step) {
  auto& message = changes_[step];
  if (message == nullptr) {
    std::vector<std::uint32_t> blocks;
    for (std::size_t b = 0; b < shape_.blocks; ++b) {
      if (changed_at_[b] > step) blocks.push_back(static_cast<std::uint32_t>(b));
    }
    ModelChange change = TakeBlocks(shape_, told_, std::move(blocks));
    change.finished = finished();
    message = std::make_shared<const std::string>(Encode(change));
  }
  return message;
}

Outgoing Rounds::Take(Session session) {
  const std::lock_guard lock(mutex_);
  const auto found = links_.find(session);
  if (found == links_.end()) return {};
  Link& link = found->second;
  if (!link.notes.empty()) {
    auto note = std::make_shared<const std::string>(std::move(link.notes.front()));
    link.notes.pop_front();
    return {std::move(note), {}};
  }
  if (link.ending) return {nullptr, link.ending};
  if (!link.welcomed) {
    std::vector<std::uint32_t> all(shape_.blocks);
    std::iota(all.begin(), all.end(), 0U);
    Welcome welcome{
        link.version,
        *link.client,
        link.version <= kLastVersionWithEveryOption ? old_configuration_ : configuration_,
        TakeBlocks(shape_, told_, std::move(all)),
        clients_[*link.client].committed,
        uses_late()};
    welcome.model.finished = finished();
    link.welcomed = true;
    link.sent = told_.step;
    return {std::make_shared<const std::string>(Encode(welcome)), {}};
  }
  if (const auto counted = std::exchange(link.counted, {})) {
    return {std::make_shared<const std::string>(Encode(Verdict{*counted, true})), {}};
  }
  if (link.sent == told_.step) return {};
  auto message = ChangeSince(link.sent);
  link.sent = told_.step;
  return {std::move(message), {}};
}

RoundsStatus Rounds::status() const {
  const std::lock_guard lock(mutex_);
  RoundsStatus status = counts_;
  status.step = told_.step;
  status.finished = finished();
  status.enrolled = clients_.size();
  status.connected = connected_;
  status.answered = counted_.size();
  status.needed = options_.asynchronous ? 1 : options_.quorum.Of(Expected());
  constexpr std::size_t kMostMissing = 5;
  double predictions = 0;
  for (const Client& client : clients_) {
    if (answering_ < status.needed && status.missing.size() < kMostMissing && !client.counted &&
        !IsAbsent(client)) {
      status.missing.push_back(client.name);
    }
    const ClientReport& report = client.report;
    if (report.predictions == 0) continue;
    const auto weight = static_cast<double>(report.predictions);
    ++status.reporting;
    predictions += weight;
    status.reported_squared_error += weight * report.squared_error;
    status.reported_regret += report.regret;
  }
  if (status.reporting > 0) {
    status.reported_squared_error /= predictions;
    status.reported_regret /= static_cast<double>(status.reporting);
  }
  return status;
}

}  // namespace polykern
