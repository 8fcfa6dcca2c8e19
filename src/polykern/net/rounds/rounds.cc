#include "polykern/net/rounds/rounds.h"

#include <algorithm>
#include <utility>

#include "polykern/core/error.h"
#include "polykern/net/rounds/release_opener.h"
#include "polykern/net/rounds/shared_rounds.h"

namespace polykern {
namespace {

/// Why a client cannot take part where messages are masked.
std::optional<Ending> MaskRefusal(const RoundsOptions& options, const std::string& name,
                                  const Hello& hello) {
  if (options.opener == nullptr || !options.opener->masked()) return {};
  try {
    options.opener->AddKey(name, hello.mask_key);
  } catch (const Error& error) {
    return Ending{Ending::Kind::kRefused, error.what()};
  }
  return {};
}

}  // namespace

Rounds::Rounds(const Algorithm& algorithm, Store& store, const RoundsOptions& options)
    : Rounds(algorithm, store, options, store.Contents()) {}

Rounds::Rounds(const Algorithm& algorithm, Store& store, const RoundsOptions& options,
               const StoreContents& contents)
    : core_(algorithm, store, options, contents),
      ranges_(core_, contents.configuration),
      collecting_(core_),
      opening_(core_),
      keeps_samples_(algorithm.kept_samples() > 0) {
  if (options.front != nullptr) {
    shared_ = std::make_unique<SharedRounds>(core_, store);
    return;
  }
  if (!core_.coordinator.releases().empty()) opening_.Resume();
  std::vector<std::string> added;
  for (std::size_t k = contents.clients.size(); k < core_.members.size(); ++k) {
    added.push_back(core_.members[k].name);
  }
  if (added.empty()) return;
  store.Write({.clients = added});
  core_.members.MarkStored(added.size());
  core_.coordinator.AddClients(added.size());
}

Rounds::~Rounds() = default;

SessionId Rounds::Join(const std::string& name, const Hello& hello, std::shared_ptr<Peer> peer,
                       Time now) {
  const std::optional<Ending> unmasked = MaskRefusal(core_.options, name, hello);
  const RoundsLock lock(core_);
  const SessionId session = core_.links.Open(std::move(peer), core_.published.step());
  Link& link = *core_.links.Find(session);
  std::optional<Ending> refusal = PublishedModel::Refusal(hello.version);
  if (!refusal) refusal = unmasked;
  if (!refusal) refusal = core_.members.Refusal(name, now);
  if (!refusal && shared_ != nullptr) refusal = shared_->Refusal();
  if (refusal) {
    ++core_.counts.refused;
    core_.Log(name, "refused", refusal->reason);
    End(link, *refusal);
    return session;
  }
  core_.Log(name, "joined", "at step " + std::to_string(core_.published.step()));
  // Another front end may have heard of a step before this one.
  const std::uint64_t known = core_.published.step() + (shared_ != nullptr ? 1 : 0);
  if (hello.next_step > known + 1) {
    ahead_ = std::max(ahead_, hello.next_step);
    core_.Log(name, "ahead", StoreIsBehind(hello.next_step, core_.published.step()));
  }
  auto number = core_.members.Find(name);
  if (!number) {
    number = core_.members.Enrol(name);
    if (shared_ == nullptr) {
      core_.coordinator.AddClients(1);
      core_.writer.Enrol(name);
      core_.has_work = true;
    }
  }
  if (const auto& earlier = core_.members[*number].session) {
    End(*core_.links.Find(*earlier),
        {Ending::Kind::kReplaced, "a newer connection took its place"});
  }
  core_.members.Connect(*number, session);
  core_.members[*number].program = hello.program;
  if (ClientNote note = core_.members[*number].note; std::exchange(note.forgotten, false)) {
    Note(*number, note);
  }
  link.client = number;
  core_.links.Wake(link);
  if (shared_ != nullptr) shared_->clients().Claim(*number, hello.mask_key);
  return session;
}

void Rounds::Receive(SessionId session, Updates updates, Time now) {
  bool complete = false;
  {
    const RoundsLock lock(core_);
    Link* const link = core_.links.Find(session);
    if (link == nullptr || !link->client) return;
    try {
      if (ranges_.learns()) {
        throw BrokenRule(Rule::kStep, "there are no steps before the ranges are learnt");
      }
      const bool first = shared_ == nullptr || !shared_->HasHandedIn();
      collecting_.Take(*link, updates, first, now);
    } catch (const BrokenRule& broken) {
      Reject(*link, updates.step, broken, now);
    }
    // Then no client has anything to send before the step is written, and its last sender's thread
    // is as good as the writer's. It tells the others sooner: a transport's own threads send
    // faster. But it must not wait for masks to be removed.
    complete = !core_.options.uses_late() && core_.options.opener == nullptr &&
               shared_ == nullptr && core_.members.IsComplete() && IsStepDue(now);
    if (!complete) SignalIfDue(now);
  }
  if (complete) Commit(now);
}

void Rounds::Receive(SessionId session, const ClientRanges& ranges, Time now) {
  const RoundsLock lock(core_);
  Link* const link = core_.links.Find(session);
  if (link == nullptr || !link->client) return;
  try {
    ranges_.Take(*link, ranges, now);
  } catch (const BrokenRule& broken) {
    Reject(*link, core_.published.step(), broken, now);
  }
  SignalIfDue(now);
}

void Rounds::End(Link& link, const Ending& ending) {
  if (shared_ != nullptr) return shared_->clients().End(link, ending);
  core_.End(link, ending);
}

void Rounds::Note(SessionId session, const ClientReport& report) {
  const std::lock_guard lock(core_.mutex);
  const Link* const link = core_.links.Find(session);
  if (link != nullptr && link->client) core_.members[*link->client].report = report;
}

void Rounds::Leave(SessionId session, Time now) {
  const RoundsLock lock(core_);
  const Link* const link = core_.links.Find(session);
  if (link == nullptr) return;
  if (link->client) {
    core_.Log(core_.members[*link->client].name, "left", "");
    core_.members.Disconnect(*link->client);
    if (shared_ != nullptr) shared_->clients().NoteLeft(*link->client);
  }
  core_.links.Close(session);
  SignalIfDue(now);
}

Outgoing Rounds::Take(SessionId session) {
  const std::lock_guard lock(core_.mutex);
  Link* const link = core_.links.Find(session);
  if (link == nullptr) return {};
  const auto sent = [](std::string message) {
    return Outgoing{std::make_shared<const std::string>(std::move(message)), {}};
  };
  if (!link->replies.empty()) {
    std::string reply = std::move(link->replies.front());
    link->replies.pop_front();
    return sent(std::move(reply));
  }
  if (link->ending) return {nullptr, link->ending};
  if (!link->welcomed) {
    const Member& member = core_.members[*link->client];
    if (!member.stored || opening_.delays_welcomes()) return {};
    link->welcomed = true;
    link->sent = core_.published.step();
    ReleaseOpener* const opener = core_.options.opener;
    return sent(core_.published.WelcomeTo(member.number, member.stored_next_step,
                                          core_.options.uses_late(), ranges_.Has(*link->client),
                                          opener != nullptr ? opener->ClientsNeed() : ""));
  }
  if (const auto counted = std::exchange(link->counted, {})) {
    return sent(Encode(Verdict{*counted, true}));
  }
  if (link->sent == core_.published.step()) return {};
  auto message = core_.published.ChangeSince(link->sent);
  link->sent = core_.published.step();
  if (keeps_samples_) {
    return sent(WithCounted(*message, core_.members[*link->client].stored_next_step));
  }
  return {std::move(message), {}};
}

bool Rounds::IsStepDue(Time now) const {
  if (shared_ != nullptr) return shared_->HasToExchange(now);
  return collecting_.IsDue(Answers(), now);
}

void Rounds::SignalIfDue(Time now) {
  if (IsStepDue(now)) core_.has_work = true;
}

bool Rounds::WaitForWork(const std::stop_token& stop, std::chrono::milliseconds longest) {
  std::unique_lock lock(core_.mutex);
  core_.work_changed.wait_for(lock, stop, longest, [this] { return core_.has_work; });
  return !stop.stop_requested();
}

void Rounds::Commit(Time now) {
  RoundsLock lock(core_);
  if (core_.committing) return;
  core_.committing = true;
  opening_.WelcomeThoseWhoWait();
  if (shared_ != nullptr) {
    shared_->ExchangeAll(lock, now);
  } else {
    WriteAll(lock, now);
  }
  core_.committing = core_.has_work = false;
}

void Rounds::WriteAll(RoundsLock& lock, Time now) {
  for (;;) {
    collecting_.DropTheSilent(now);
    if (IsStepDue(now)) ranges_.learns() ? ranges_.End() : collecting_.End();
    if (!core_.writer.Due(now)) {
      if (core_.phase == Phase::kOpening && opening_.OpenNext(lock)) continue;
      return;
    }
    lock.Release();
    const WriteResult result = core_.writer.Write(now);
    lock.Reacquire();
    TakeIn(result);
  }
}

void Rounds::TakeIn(const WriteResult& result) {
  core_.counts.trouble = result.trouble;
  if (result.failure) core_.counts.failure = result.failure;
  for (const Member& member : core_.members.MarkStored(result.clients)) {
    if (member.session) core_.links.Wake(*core_.links.Find(*member.session));
  }
  if (result.step && !core_.coordinator.releases().empty()) {
    opening_.Begin(*result.step);
  } else if (result.step) {
    Publish(*result.step);
  }
  if (result.configuration) ranges_.Publish(*result.configuration);
}

/// The step is on the disk: clients may be told, and the next one collects.
void Rounds::Publish(const EndedStep& step) {
  if (core_.options.observer != nullptr) {
    core_.options.observer->StepEnded(step.steps, step.counted.size(), step.first_answer);
  }
  core_.published.Publish(core_.coordinator.broadcast());
  opening_.End();
  core_.members.BeginStep(step.steps, step.counted);
  for (const CountedUpdate& update : step.counted) core_.Confirm(update);
  core_.links.WakeClients();
  core_.phase = Phase::kCollecting;
}

RoundsStatus Rounds::status() const {
  const std::lock_guard lock(core_.mutex);
  RoundsStatus status = core_.counts;
  status.step = core_.published.step();
  status.finished = core_.published.finished();
  status.releases = core_.published.releases();
  status.learns_ranges = ranges_.learns();
  status.answered = Answers();
  core_.members.Describe(status);
  if (shared_ != nullptr) shared_->Describe(status);
  if (status.trouble.empty() && ahead_ > status.step + 1) {
    status.trouble = StoreIsBehind(ahead_, status.step);
  }
  if (status.trouble.empty()) status.trouble = core_.coordinator.Trouble();
  return status;
}

std::size_t Rounds::longest_ranges() const {
  const std::lock_guard lock(core_.mutex);
  return ranges_.longest();
}

void Rounds::SetAddress(const std::string& address) {
  const std::lock_guard lock(core_.mutex);
  if (shared_ != nullptr) shared_->SetAddress(address);
}

}  // namespace polykern
