#include "polykern/net/rounds/rounds.h"

#include <utility>

#include "polykern/core/error.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/rounds/release_opener.h"
#include "polykern/net/rounds/rounds_internal.h"

namespace polykern {
namespace {

/// The coordinator where the store is, if rounds with these options can resume there.
void CheckNumber(const RoundsOptions& options, const Algorithm& algorithm) {
  const std::size_t most = options.roster.empty() ? options.most_clients : options.roster.size();
  if (most <= algorithm.most_clients()) return;
  throw Error(std::to_string(most) + " clients are too many for sums that stay exact: at most " +
              std::to_string(algorithm.most_clients()) + "; lower " + OptionName("max_clients") +
              " or " + OptionName("most_samples"));
}

Coordinator Resume(const Algorithm& algorithm, const Store& store, const RoundsOptions& options,
                   const StoreContents& contents) {
  CheckRounds(options, algorithm.name(), contents.clients);
  CheckNumber(options, algorithm);
  Coordinator coordinator(algorithm, contents.clients.size());
  store.CheckRoom(coordinator.Save().size());
  if (options.uses_late()) coordinator.TakeLateUpdates();
  if (options.opener != nullptr) {
    options.opener->masked() ? coordinator.TakeMasked() : coordinator.LetCallerOpen();
  }
  std::vector<std::uint64_t> next_steps;
  for (const StoredClient& client : contents.clients) next_steps.push_back(client.next_step);
  if (const auto& newest = contents.newest) {
    // Of several front ends the one that ends steps opens sums.
    coordinator.Load(newest->steps,
                     options.front == nullptr ? GiveOpener(newest->state, options.opener)
                                              : WithoutOpener(newest->state, options.opener),
                     next_steps);
  }
  return coordinator;
}

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
    : algorithm_(algorithm.name()),
      writer_(store),
      options_(options),
      coordinator_(Resume(algorithm, store, options, contents)),
      published_(algorithm.shape(), contents.configuration, options.steps,
                 coordinator_.broadcast()),
      ranges_(RangesToLearn(options, contents.configuration)),
      members_(
          options_,
          options.front == nullptr ? std::span(contents.clients) : std::span<const StoredClient>(),
          published_.step()),
      keeps_samples_(algorithm.kept_samples() > 0),
      no_helper_key_(LacksKey()) {
  if (options.front != nullptr) {
    BeginSharing(store);
    return;
  }
  if (ranges_) members_.LearnRanges();
  if (!coordinator_.releases().empty()) {  // it was stopped before their masks were off
    phase_ = Phase::kOpening;
    closed_.steps = coordinator_.broadcast().step;
    resumed_opening_ = has_work_ = true;
  }
  std::vector<std::string> added;
  for (std::size_t k = contents.clients.size(); k < members_.size(); ++k) {
    added.push_back(members_[k].name);
  }
  if (added.empty()) return;
  store.Write({.clients = added});
  members_.MarkStored(added.size());
  coordinator_.AddClients(added.size());
}

SessionId Rounds::Join(const std::string& name, const Hello& hello, std::shared_ptr<Peer> peer,
                       Time now) {
  const std::optional<Ending> unmasked = MaskRefusal(options_, name, hello);
  const Locked locked(*this);
  const SessionId session = links_.Open(std::move(peer), published_.step());
  Link& link = *links_.Find(session);
  std::optional<Ending> refusal = PublishedModel::Refusal(hello.version);
  if (!refusal) refusal = unmasked;
  if (!refusal) refusal = members_.Refusal(name, now);
  if (!refusal && shared_ != nullptr) refusal = AwayRefusal();
  if (refusal) {
    ++counts_.refused;
    Log(name, "refused", refusal->reason);
    End(link, *refusal);
    return session;
  }
  Log(name, "joined", "at step " + std::to_string(published_.step()));
  // Another front end may have heard of a step before this one.
  const std::uint64_t known = published_.step() + (shared_ != nullptr ? 1 : 0);
  if (hello.next_step > known + 1) {
    ahead_ = std::max(ahead_, hello.next_step);
    Log(name, "ahead", StoreIsBehind(hello.next_step, published_.step()));
  }
  auto number = members_.Find(name);
  if (!number) {
    number = members_.Enrol(name);
    if (shared_ == nullptr) {
      coordinator_.AddClients(1);
      writer_.Enrol(name);
      has_work_ = true;
    }
  }
  if (const auto& earlier = members_[*number].session) {
    End(*links_.Find(*earlier), {Ending::Kind::kReplaced, "a newer connection took its place"});
  }
  members_.Connect(*number, session);
  members_[*number].program = hello.program;
  if (ClientNote note = members_[*number].note; std::exchange(note.forgotten, false)) {
    Note(*number, note);
  }
  link.client = number;
  links_.Wake(link);
  if (shared_ != nullptr) Claim(*number, hello.mask_key);
  return session;
}

void Rounds::Receive(SessionId session, Updates updates, Time now) {
  bool complete = false;
  {
    const Locked locked(*this);
    Link* const link = links_.Find(session);
    if (link == nullptr || !link->client) return;
    try {
      TakeUpdate(*link, updates, now);
    } catch (const BrokenRule& broken) {
      Reject(*link, updates.step, broken, now);
    }
    // Then no client has anything to send before the step is written, and its last sender's thread
    // is as good as the writer's. It tells the others sooner: a transport's own threads send
    // faster. But it must not wait for masks to be removed.
    complete = !options_.uses_late() && options_.opener == nullptr && shared_ == nullptr &&
               members_.IsComplete() && IsStepDue(now);
    if (!complete) SignalIfDue(now);
  }
  if (complete) Commit(now);
}

/// Throws BrokenRule, and changes nothing, if it breaks one.
void Rounds::TakeUpdate(Link& link, Updates& updates, Time now) {
  const std::uint64_t number = *link.client;
  const std::uint64_t step = updates.step;
  const bool late =
      step < published_.step() || (step == published_.step() && phase_ != Phase::kCollecting);
  const bool dropped = late && (!options_.uses_late() || published_.finished());
  const bool duplicate = !dropped && step < members_[number].next_step;
  if (ranges_) throw BrokenRule(Rule::kStep, "there are no steps before the ranges are learnt");
  link.CheckAnswer(step);
  if (!dropped && published_.finished()) {
    throw BrokenRule(Rule::kEnded, "the federation has ended");
  }
  if (shared_ != nullptr && !members_[number].stored) {
    throw BrokenRule(Rule::kStep, "received an update before the welcome");
  }
  updates.clients.assign(1, members_[number].number);
  if (updates.releases > coordinator_.broadcast().releases && options_.opener != nullptr) {
    coordinator_.AllowReleases(options_.opener->settled());
  }
  if (!dropped && !duplicate) coordinator_.Receive(updates);
  link.Answered(step);
  if (dropped) {
    ++counts_.late;
    members_.Await(number);
  } else if (duplicate) {  // what it sent before the connection was lost did arrive
    ++counts_.duplicates;
  } else {
    members_.Count(number, step);
    if (IsFirstAnswer()) first_answer_ = now;
    counted_.push_back({number, step});
    ++counts_.accepted;
    if (late) ++counts_.used_late;
    if (!updates.clipped.empty()) NoteClipped(members_[number], updates.clipped[0]);
  }
}

/// It is logged once for a client, since it can happen with every sample.
void Rounds::NoteClipped(Member& member, std::uint64_t labels) {
  counts_.clipped += labels;
  if (std::exchange(member.clips, true)) return;
  Log(member.name, "clipped", "labels outside the target range; later ones are only counted");
}

void Rounds::End(Link& link, const Ending& ending) {
  if (link.client) Disconnect(*link.client);
  if (ending.kind == Ending::Kind::kBusy) {
    link.replies.push_back(Encode(options_.RetryWindow(ending.reason)));
  }
  links_.End(link, ending);
}

void Rounds::Note(SessionId session, const ClientReport& report) {
  const std::lock_guard lock(mutex_);
  const Link* const link = links_.Find(session);
  if (link != nullptr && link->client) members_[*link->client].report = report;
}

void Rounds::Leave(SessionId session, Time now) {
  const Locked locked(*this);
  const Link* const link = links_.Find(session);
  if (link == nullptr) return;
  if (link->client) {
    Log(members_[*link->client].name, "left", "");
    Disconnect(*link->client);
  }
  links_.Close(session);
  SignalIfDue(now);
}

Outgoing Rounds::Take(SessionId session) {
  const std::lock_guard lock(mutex_);
  Link* const link = links_.Find(session);
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
    const Member& member = members_[*link->client];
    if (!MayWelcome(member)) return {};
    link->welcomed = true;
    link->sent = published_.step();
    return sent(published_.WelcomeTo(member.number, member.stored_next_step, options_.uses_late(),
                                     ranges_ && ranges_->Has(*link->client),
                                     options_.opener ? options_.opener->ClientsNeed() : ""));
  }
  if (const auto counted = std::exchange(link->counted, {})) {
    return sent(Encode(Verdict{*counted, true}));
  }
  if (link->sent == published_.step()) return {};
  auto message = published_.ChangeSince(link->sent);
  link->sent = published_.step();
  if (keeps_samples_) {
    return sent(WithCounted(*message, members_[*link->client].stored_next_step));
  }
  return {std::move(message), {}};
}

/// Late updates count towards the quorum: a client that sent one waits for this step, and no other
/// client may be left to answer it.
bool Rounds::IsStepDue(Time now) const {
  if (shared_ != nullptr) return HasToExchange(now);
  if (phase_ != Phase::kCollecting || counts_.failure) return false;
  if (ranges_ ? ranges_->size() == 0 : counted_.empty()) return false;
  if (options_.asynchronous) return true;
  return members_.HasQuorum() &&
         (members_.IsComplete() || now >= first_answer_ + options_.deadline);
}

/// So many have fallen silent at once that the others are not a quorum.
bool Rounds::IsOverdue(Time now) const {
  return phase_ == Phase::kCollecting && !counted_.empty() &&
         now >= first_answer_ + 2 * options_.deadline;
}

void Rounds::SignalIfDue(Time now) {
  if (IsStepDue(now)) has_work_ = true;
}

bool Rounds::WaitForWork(const std::stop_token& stop, std::chrono::milliseconds longest) {
  std::unique_lock lock(mutex_);
  work_changed_.wait_for(lock, stop, longest, [this] { return has_work_; });
  return !stop.stop_requested();
}

void Rounds::Commit(Time now) {
  Locked locked(*this);
  if (committing_) return;
  committing_ = true;
  WelcomeThoseWhoWait();
  if (shared_ != nullptr) ExchangeAll(locked, now);
  while (shared_ == nullptr) {
    if (IsOverdue(now)) members_.StopWaiting();
    if (IsStepDue(now)) EndStep();
    if (!writer_.Due(now)) {
      if (phase_ == Phase::kOpening && OpenNext(locked)) continue;
      break;
    }
    locked.Release();
    const WriteResult result = writer_.Write(now);
    locked.Reacquire();
    TakeIn(result);
  }
  committing_ = has_work_ = false;
}

/// From collecting to writing.
void Rounds::EndStep() {
  if (ranges_) {
    phase_ = Phase::kWriting;
    writer_.Configure(ToTexts(ranges_->Federation()));
    return;
  }
  try {
    coordinator_.Commit();
    LogDiscarded();
  } catch (const Error& error) {
    counts_.failure = error;
    return;
  }
  phase_ = Phase::kWriting;
  writer_.End({coordinator_.broadcast().step, StateNow(), std::exchange(counted_, {}),
               members_.EndCollecting(), first_answer_});
}

/// No client gets a model that may be replaced in a moment, or that it cannot answer.
bool Rounds::MayWelcome(const Member& member) const {
  return member.stored && !resumed_opening_ && !no_helper_key_;
}

void Rounds::TakeIn(const WriteResult& result) {
  counts_.trouble = result.trouble;
  if (result.failure) counts_.failure = result.failure;
  for (const Member& member : members_.MarkStored(result.clients)) {
    if (member.session) links_.Wake(*links_.Find(*member.session));
  }
  if (result.step && !coordinator_.releases().empty()) {
    phase_ = Phase::kOpening;
    closed_ = *result.step;
    closed_.state.clear();
  } else if (result.step) {
    Publish(*result.step);
  }
  if (result.configuration) Publish(*result.configuration);
}

/// The step is on the disk: clients may be told, and the next one collects.
void Rounds::Publish(const EndedStep& step) {
  if (options_.observer != nullptr) {
    options_.observer->StepEnded(step.steps, step.counted.size(), step.first_answer);
  }
  published_.Publish(coordinator_.broadcast());
  resumed_opening_ = false;
  members_.BeginStep(step.steps, step.counted);
  if (options_.uses_late()) {  // else the next model says as much
    for (const CountedUpdate& update : step.counted) {
      if (const auto& session = members_[update.client].session) {
        links_.Find(*session)->counted = update.step;
      }
    }
  }
  links_.WakeClients();
  phase_ = Phase::kCollecting;
}

void Rounds::Log(const std::string& name, const char* event, const std::string& detail) {
  if (options_.observer != nullptr) options_.observer->Event(name, event, detail);
  writer_.Log(name, event, detail);
}

RoundsStatus Rounds::status() const {
  const std::lock_guard lock(mutex_);
  RoundsStatus status = counts_;
  status.step = published_.step();
  status.finished = published_.finished();
  status.releases = published_.releases();
  status.learns_ranges = ranges_.has_value();
  status.answered = ranges_ ? ranges_->size() : counted_.size();
  members_.Describe(status);
  if (shared_ != nullptr) DescribeFronts(status);
  if (status.trouble.empty() && ahead_ > status.step + 1) {
    status.trouble = StoreIsBehind(ahead_, status.step);
  }
  if (status.trouble.empty()) status.trouble = coordinator_.Trouble();
  return status;
}

}  // namespace polykern
