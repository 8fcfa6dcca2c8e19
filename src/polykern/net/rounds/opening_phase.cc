#include "polykern/net/rounds/opening_phase.h"

#include <string>
#include <utility>
#include <vector>

#include "polykern/core/error.h"
#include "polykern/net/rounds/release_opener.h"

namespace polykern {

OpeningPhase::OpeningPhase(RoundsCore& core) : core_(core), lacks_key_(LacksKey()) {}

void OpeningPhase::Resume() {
  core_.phase = Phase::kOpening;
  closed_.steps = core_.coordinator.broadcast().step;
  resumed_ = core_.has_work = true;
}

void OpeningPhase::Begin(const EndedStep& step) {
  core_.phase = Phase::kOpening;
  closed_ = step;
  closed_.state.clear();
}

bool OpeningPhase::OpenNext(RoundsLock& lock) {
  Coordinator& coordinator = core_.coordinator;
  Release release = coordinator.releases()[opened_];  // others may come and go meanwhile
  std::vector<std::string> names;
  for (const Contribution& each : release.contributions) {
    names.push_back(core_.members[each.client].name);
  }
  lock.Release();
  const std::string trouble = core_.options.opener->Open(release, names);
  lock.Reacquire();
  core_.counts.trouble = trouble;
  if (!trouble.empty()) return false;
  coordinator.releases()[opened_++] = std::move(release);
  if (opened_ < coordinator.releases().size()) return true;
  opened_ = 0;
  try {
    coordinator.Open();
  } catch (const Error& error) {
    core_.counts.failure = error;
    return false;
  }
  core_.LogDiscarded();
  const std::string news = NewsOfNoise(*core_.options.opener);
  if (!news.empty()) core_.Log("", "released", news);
  core_.phase = Phase::kWriting;
  closed_.opened = true;
  closed_.state = core_.StateNow();
  core_.writer.End(std::exchange(closed_, {}));
  return true;
}

bool OpeningPhase::LacksKey() const {
  ReleaseOpener* const opener = core_.options.opener;
  return opener != nullptr && opener->masked() && opener->ClientsNeed().empty();
}

void OpeningPhase::WelcomeThoseWhoWait() {
  const bool had_none = std::exchange(lacks_key_, LacksKey());
  if (had_none && !lacks_key_) core_.links.WakeClients();
}

}  // namespace polykern
