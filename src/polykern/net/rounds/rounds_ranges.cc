// What rounds do before the first step where ranges are learnt.
#include <string>
#include <utility>

#include "polykern/core/error.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/rounds/rounds.h"

namespace polykern {

std::optional<LearntRanges> Rounds::RangesToLearn(const RoundsOptions& options,
                                                  const StoreConfiguration& texts) {
  if (!texts.contains("learn_ranges")) return {};
  FederationConfiguration federation = FromTexts(texts);
  if (federation.learn_ranges == 0) return {};
  const std::string name = OptionName("learn_ranges");
  if (options.asynchronous) {
    throw Error(name + " needs rounds: leave out " + OptionName("mode", "async") +
                " until the ranges are learnt");
  }
  if (options.roster.empty() && options.quorum.count == 0) {
    throw Error(name +
                " needs to know whose samples count, or the first clients would decide for all: "
                "add " +
                OptionName("clients", "NAME,NAME,...") + " or " + OptionName("quorum", "NUMBER"));
  }
  return std::optional<LearntRanges>(std::in_place, std::move(federation));
}

void Rounds::Receive(SessionId session, const ClientRanges& ranges, Time now) {
  const Locked locked(*this);
  Link* const link = links_.Find(session);
  if (link == nullptr || !link->client) return;
  try {
    TakeRanges(*link, ranges, now);
  } catch (const BrokenRule& broken) {
    Reject(*link, published_.step(), broken, now);
  }
  SignalIfDue(now);
}

/// Throws BrokenRule, and changes nothing, if they break one.
void Rounds::TakeRanges(Link& link, const ClientRanges& ranges, Time now) {
  if (std::exchange(link.told_ranges, true)) {
    throw BrokenRule(Rule::kTwice, "received ranges twice on one connection");
  }
  if (!ranges_ || phase_ == Phase::kWriting) {  // the others did not wait for it
    ++counts_.late;
  } else if (!ranges_->Take(*link.client, ranges)) {
    ++counts_.duplicates;
  } else {
    if (ranges_->size() == 1) first_answer_ = now;
    members_.CountRanges(*link.client);
    Log(members_[*link.client].name, "ranges", "told");
  }
}

/// The ranges are on the disk: everybody is welcomed to the federation that has them.
void Rounds::Publish(const StoreConfiguration& configuration) {
  Log("", "ranges", "learnt from " + std::to_string(ranges_->size()) + " clients");
  ranges_.reset();
  published_.Configure(configuration);
  members_.BeginSteps();
  links_.WelcomeAgain();
  phase_ = Phase::kCollecting;
}

std::size_t Rounds::longest_ranges() const {
  const std::lock_guard lock(mutex_);
  return ranges_ ? LongestRanges(ranges_->inputs()) : 0;
}

}  // namespace polykern
