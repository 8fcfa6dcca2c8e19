#include "polykern/net/rounds/ranges_phase.h"

#include <string>
#include <utility>

#include "polykern/core/error.h"
#include "polykern/net/configuration_texts.h"

namespace polykern {
namespace {

std::optional<LearntRanges> RangesToLearn(const RoundsOptions& options,
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

}  // namespace

RangesPhase::RangesPhase(RoundsCore& core, const StoreConfiguration& texts)
    : core_(core), ranges_(RangesToLearn(core.options, texts)) {
  if (ranges_ && core.options.front == nullptr) core.members.LearnRanges();
}

void RangesPhase::Take(Link& link, const ClientRanges& ranges, RoundsTime now) {
  if (std::exchange(link.received_ranges, true)) {
    throw BrokenRule(Rule::kTwice, "received ranges twice on one connection");
  }
  if (!ranges_ || core_.phase == Phase::kWriting) {  // the others did not wait for it
    ++core_.counts.late;
  } else if (!ranges_->Take(*link.client, ranges)) {
    ++core_.counts.duplicates;
  } else {
    if (ranges_->size() == 1) core_.first_answer = now;
    core_.members.CountRanges(*link.client);
    core_.Log(core_.members[*link.client].name, "ranges", "told");
  }
}

void RangesPhase::End() {
  core_.phase = Phase::kWriting;
  core_.writer.Configure(ToTexts(ranges_->Federation()));
}

void RangesPhase::Publish(const StoreConfiguration& configuration) {
  core_.Log("", "ranges", "learnt from " + std::to_string(ranges_->size()) + " clients");
  ranges_.reset();
  core_.published.Configure(configuration);
  core_.members.BeginSteps();
  core_.links.WelcomeAgain();
  core_.phase = Phase::kCollecting;
}

}  // namespace polykern
