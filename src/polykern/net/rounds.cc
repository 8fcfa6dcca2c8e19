#include "polykern/net/rounds.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "polykern/core/aggregate.h"
#include "polykern/core/error.h"

namespace polykern {
namespace {

constexpr std::size_t kMostNotes = 8;  // that wait for a client which does not read
constexpr std::chrono::seconds kRetryCommit{1};

/// Blocks whose bits differ.
bool SameBlock(std::span<const float> a, std::span<const float> b) {
  return std::ranges::equal(std::as_bytes(a), std::as_bytes(b));
}

}  // namespace

std::uint64_t Quorum::Of(std::uint64_t enrolled) const {
  if (count > 0) return count;
  const auto needed = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(enrolled)));
  return std::clamp<std::uint64_t>(needed, 1, std::max<std::uint64_t>(enrolled, 1));
}

/// Holds the mutex; wakes, without it, who has something to take.
class Rounds::Locked {
 public:
  explicit Locked(Rounds& rounds) : rounds_(rounds), lock_(rounds.mutex_) {}
  ~Locked() {
    const auto wake = std::exchange(rounds_.wake_, {});
    lock_.unlock();
    for (const auto& peer : wake) peer->Wake();
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  Rounds& rounds_;
  std::unique_lock<std::mutex> lock_;
};

Rounds::Rounds(const Algorithm& algorithm, ConfigurationTexts configuration, Store& store,
               const RoundsOptions& options)
    : shape_(algorithm.shape()),
      configuration_(std::move(configuration)),
      options_(options),
      store_(store),
      coordinator_(algorithm, 0),
      changed_at_(shape_.blocks) {
  if (options.roster.size() > ExactSum::kMaxTerms) throw Error("there are too many clients");
  if (const auto point = store.Resume()) coordinator_.Load(point->steps, point->state);
  told_ = coordinator_.broadcast();
  std::ranges::fill(changed_at_, told_.step);
  for (const StoredClient& client : store.clients()) Enrol(client.name);
  for (std::size_t i = 0; i < options.roster.size(); ++i) {
    if (Enrol(options.roster[i]) != i) {
      throw Error("the store has the client '" + options.roster[i] + "' under the number " +
                  std::to_string(numbers_.at(options.roster[i])) + ", but --clients says " +
                  std::to_string(i) + "; name the clients in the order of `polykern store show`");
    }
  }
  if (!options.roster.empty() && clients_.size() != options.roster.size()) {
    throw Error("the store has " + std::to_string(clients_.size()) + " clients, but --clients " +
                std::to_string(options.roster.size()) +
                "; name them all, in the order of `polykern store show`, or leave it out");
  }
}

std::uint64_t Rounds::Enrol(const std::string& name) {
  if (const auto found = numbers_.find(name); found != numbers_.end()) return found->second;
  const std::uint64_t number = store_.Enrol(name);
  clients_.emplace_back().name = name;
  numbers_.emplace(name, number);
  coordinator_.AddClients(1);
  return number;
}

void Rounds::Log(const std::string& name, const char* event, const std::string& detail) {
  try {
    store_.Log(name, event, detail);
  } catch (const Error& error) {
    counts_.failure = error.what();
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
  const auto known = numbers_.find(name);
  if (known != numbers_.end()) {
    if (clients_[known->second].banned_until <= now) return {};
    return Ending{Kind::kBusy, "sent away for a while, after too many bad updates"};
  }
  if (!options_.roster.empty()) {
    return Ending{Kind::kRefused, "'" + name + "' is not a client of this federation"};
  }
  if (clients_.size() >= options_.most_clients) {
    return Ending{Kind::kBusy, "the federation has no room for another client"};
  }
  return {};
}

Rounds::Session Rounds::Join(const std::string& name, const Hello& hello,
                             std::shared_ptr<Peer> peer, Time now) {
  const Locked locked(*this);
  const Session session = next_session_++;
  Link& link = links_[session];
  link.peer = std::move(peer);
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
    End(link, refusal->kind, refusal->reason);
    return session;
  }
  Client& client = clients_[number];
  if (client.session) {
    End(links_.at(*client.session), Ending::Kind::kReplaced, "a newer connection took its place");
  }
  client.session = session;
  link.client = number;
  ++connected_;
  if (client.answered != told_.step + 1) ++unanswered_;
  wake_.push_back(link.peer);
  return session;
}

void Rounds::Receive(Session session, Updates updates, Time now) {
  const Locked locked(*this);
  const auto found = links_.find(session);
  if (found == links_.end() || !found->second.client || found->second.ending) return;
  Link& link = found->second;
  Client& client = clients_[*link.client];
  const std::uint64_t step = told_.step;
  if (updates.step < step || (updates.step == step && uncommitted_)) {
    ++counts_.late;
    return;
  }
  if (finished()) return Violation(link, updates.step, "the federation has ended", now);
  if (updates.step == step && client.answered == step + 1) {
    if (link.answered != step + 1) {  // what it sent before the connection was lost did arrive
      link.answered = step + 1;
      ++counts_.duplicates;
      return;
    }
    return Violation(link, step, "step " + std::to_string(step) + " is answered already", now);
  }
  updates.clients.assign(1, *link.client);
  try {
    coordinator_.Receive(updates);
  } catch (const Error& error) {
    return Violation(link, updates.step, error.what(), now);
  }
  client.answered = link.answered = step + 1;
  answered_.push_back(*link.client);
  --unanswered_;
  ++counts_.accepted;
  if (!deadline_) deadline_ = now + options_.deadline;
  EndStepIfDue(now);
}

void Rounds::Violation(Link& link, std::uint64_t step, const std::string& reason, Time now) {
  Client& client = clients_[*link.client];
  ++counts_.rejected;
  ++client.rejected;
  Log(client.name, "rejected", reason);
  if (link.notes.size() < kMostNotes) link.notes.push_back(Encode(Rejection{step, reason}));
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
  Violation(link, told_.step, why, now);
  if (!link.ending) End(link, Ending::Kind::kBroken, why);
  EndStepIfDue(now);
}

/// The client is no longer connected through this link.
void Rounds::Detach(Link& link) {
  if (!link.client) return;
  Client& client = clients_[*link.client];
  client.session.reset();
  --connected_;
  if (client.answered != told_.step + 1) --unanswered_;
  link.client.reset();
}

void Rounds::End(Link& link, Ending::Kind kind, const std::string& reason) {
  Detach(link);
  if (kind == Ending::Kind::kBusy) link.notes.push_back(Encode(RetryWindow(reason)));
  link.ending = Ending{kind, reason};
  wake_.push_back(link.peer);
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

void Rounds::EndStepIfDue(Time now) {
  const std::uint64_t count = answered_.size();
  if (uncommitted_ || count == 0 || count < options_.quorum.Of(clients_.size())) return;
  const bool everybody = unanswered_ == 0 || count == clients_.size();
  if (!everybody && now < *deadline_) return;
  try {
    coordinator_.Commit();
  } catch (const Error& error) {
    counts_.failure = error.what();
    return;
  }
  uncommitted_ = true;
  TryCommit(now);
}

void Rounds::TryCommit(Time now) {
  std::vector<Rejections> rejected;
  for (std::size_t k = 0; k < clients_.size(); ++k) {
    if (clients_[k].rejected > 0) rejected.push_back({k, clients_[k].rejected});
  }
  const std::vector<double> state = coordinator_.Save();
  try {
    store_.Commit({coordinator_.broadcast().step, state, answered_, rejected});
  } catch (const DiskFull& full) {
    counts_.trouble = full.what();
    try_again_ = now + kRetryCommit;
    return;
  } catch (const Error& error) {
    counts_.failure = error.what();
    return;
  }
  counts_.trouble.clear();
  for (const Rejections& r : rejected) clients_[r.client].rejected = 0;
  const Broadcast& next = coordinator_.broadcast();
  for (std::size_t b = 0; b < shape_.blocks; ++b) {
    const std::size_t at = b * shape_.width;
    if (!SameBlock(std::span(told_.model).subspan(at, shape_.width),
                   std::span(next.model).subspan(at, shape_.width))) {
      changed_at_[b] = next.step;
    }
  }
  told_ = next;
  changes_.clear();
  answered_.clear();
  deadline_.reset();
  uncommitted_ = false;
  unanswered_ = connected_;
  for (const auto& [session, link] : links_) {
    if (link.client) wake_.push_back(link.peer);
  }
}

void Rounds::Tick(Time now) {
  const Locked locked(*this);
  if (!counts_.failure.empty()) return;
  if (uncommitted_) {
    if (now >= try_again_) TryCommit(now);
  } else {
    EndStepIfDue(now);
  }
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
    Welcome welcome{kProtocolVersion, *link.client, configuration_,
                    TakeBlocks(shape_, told_, std::move(all))};
    welcome.model.finished = finished();
    link.welcomed = true;
    link.sent = told_.step;
    return {std::make_shared<const std::string>(Encode(welcome)), {}};
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
  status.answered = answered_.size();
  return status;
}

}  // namespace polykern
