// How rounds open the sums that a step has closed, where masks or noise are between.
#include <utility>

#include "polykern/core/error.h"
#include "polykern/net/rounds/release_opener.h"
#include "polykern/net/rounds/rounds.h"

namespace polykern {

/// One of the sums that are closed. False: not yet, or all is lost.
bool Rounds::OpenNext(Locked& locked) {
  Release release = coordinator_.releases()[opened_];  // others may come and go meanwhile
  std::vector<std::string> names;
  for (const Contribution& each : release.contributions) {
    names.push_back(members_[each.client].name);
  }
  locked.Release();
  const std::string trouble = options_.opener->Open(release, names);
  locked.Reacquire();
  counts_.trouble = trouble;
  if (!trouble.empty()) return false;
  coordinator_.releases()[opened_++] = std::move(release);
  if (opened_ < coordinator_.releases().size()) return true;
  opened_ = 0;
  try {
    coordinator_.Open();
  } catch (const Error& error) {
    counts_.failure = error;
    return false;
  }
  LogDiscarded();
  LogNoise();
  phase_ = Phase::kWriting;
  closed_.opened = true;
  closed_.state = StateNow();
  writer_.End(std::exchange(closed_, {}));
  return true;
}

/// The coordinator's, and what the opener keeps, which nothing happens to in between.
std::vector<double> Rounds::StateNow() const {
  return WithOpener(coordinator_.Save(), options_.opener);
}

void Rounds::LogDiscarded() {
  for (const std::string& what : coordinator_.discarded()) {
    ++counts_.discarded;
    Log("", "discarded", what);
  }
}

void Rounds::LogNoise() {
  const std::string news = NewsOfNoise(*options_.opener);
  if (!news.empty()) Log("", "released", news);
}

bool Rounds::LacksKey() const {
  return options_.opener != nullptr && options_.opener->masked() &&
         options_.opener->ClientsNeed().empty();
}

void Rounds::WelcomeThoseWhoWait() {
  const bool had_none = std::exchange(no_helper_key_, LacksKey());
  if (had_none && !no_helper_key_) links_.WakeClients();
}

}  // namespace polykern
