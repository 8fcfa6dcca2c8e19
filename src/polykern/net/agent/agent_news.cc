#include "polykern/net/agent/agent_news.h"

#include <array>
#include <cstdio>
#include <utility>

#include "polykern/core/error.h"

namespace polykern {

std::string ServerNews::Next(const AgentStatus& status) {
  if (status.connected) {
    const bool was_away = !std::exchange(why_away_, {}).empty();
    const bool joins = !std::exchange(joined_, true);
    if (!joins && !was_away) return {};
    return (joins ? "joined: at step " : "connected again: at step ") + std::to_string(status.step);
  }
  // A failure is told whenever it is another one; what else keeps it away, once.
  const std::string failure = status.failure ? status.failure->marked() : "";
  if (failure.empty() ? !why_away_.empty() || status.trouble.empty() : failure == why_away_)
    return {};
  why_away_ = failure.empty() ? status.trouble : failure;
  return why_away_ + "; predicting with the model of step " + std::to_string(status.step) +
         ", and reconnecting";
}

bool Tally::IsDue(std::uint64_t count, Time now) {
  if (count <= reported_ || (reported_ > 0 && now < last_ + std::chrono::minutes(1))) return false;
  reported_ = count;
  last_ = now;
  return true;
}

std::string BadLines::Next(const std::string& problem, Time now) {
  if (reported_ >= kAtOnce && now < last_ + std::chrono::seconds(1)) {
    ++unreported_;
    return {};
  }
  ++reported_;
  last_ = now;
  const std::uint64_t unreported = std::exchange(unreported_, 0);
  return problem + "; skipped" +
         (unreported == 0 ? ""
                          : ", and " + std::to_string(unreported) + " other lines since the last");
}

std::vector<std::string> Patience::Next(const AgentStatus& status, Time now) {
  constexpr std::chrono::seconds kSilence{10};
  std::vector<std::string> lines;
  if (status.connected) connected_ = now;
  if (!status.trouble.empty() && status.trouble != trouble_) {
    trouble_ = status.trouble;
    lines.push_back(trouble_ + "; trying again");
  }
  if (status.connected && !told_to_wait_ && now - began_ > kSilence) {
    told_to_wait_ = true;
    lines.push_back("waiting: " +
                    (status.learn_ranges > 0
                         ? "the ranges are not known yet"
                         : "step " + std::to_string(status.step) + " has not ended") +
                    "; the server's log says for whom");
  }
  if (!status.connected && trouble_.empty() && !told_to_wait_ && now - began_ > kSilence) {
    told_to_wait_ = true;
    lines.push_back("waiting: the server has not let this agent in yet; its log may say why");
  }
  const std::chrono::duration<double> away = now - connected_;
  if (give_up_ > 0 && away.count() > give_up_) {
    std::array<char, 32> seconds{};
    std::snprintf(seconds.data(), seconds.size(), "%.1f", give_up_);
    throw Error("no connection for " + std::string(seconds.data()) +
                " s: " + (trouble_.empty() ? "the server does not answer" : trouble_));
  }
  return lines;
}

}  // namespace polykern
