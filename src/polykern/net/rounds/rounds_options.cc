// What rounds can be told, and what can never work.
#include "polykern/net/rounds/rounds_options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/core/exact_sum.h"
#include "polykern/net/pki/certificates.h"
#include "polykern/net/rounds/release_opener.h"

namespace polykern {
namespace {

void CheckLateUpdates(const RoundsOptions& options, std::string_view algorithm) {
  if (!options.uses_late() || TraitsOf(algorithm).takes_late_updates) return;
  throw Error((options.asynchronous ? OptionName("mode", "async") : OptionName("stale", "accept")) +
              " cannot be combined with " + std::string(algorithm) +
              ": its clients' updates hold for one model only; leave it out, or choose " +
              OptionName("algorithm", "pof-newton"));
}

/// A client is enrolled for ever: a wrong name must not get that far.
void CheckRoster(const std::vector<std::string>& roster, std::span<const StoredClient> stored) {
  if (roster.size() > ExactSum::kMaxTerms) throw Error("there are too many clients");
  for (std::size_t i = 0; i < roster.size(); ++i) {
    const std::string& name = roster[i];
    if (!IsClientName(name))
      throw Error(OptionName("clients") + ": '" + name + "' cannot be a client's name");
    if (std::find(roster.begin(), roster.begin() + static_cast<std::ptrdiff_t>(i), name) !=
        roster.begin() + static_cast<std::ptrdiff_t>(i)) {
      throw Error(OptionName("clients") + " names '" + name + "' twice");
    }
    if (i < stored.size() && stored[i].name != name) {
      throw Error("client " + std::to_string(i) + " of the store is '" + stored[i].name +
                  "', but " + OptionName("clients") + " says '" + name +
                  "'; name the clients in the order of `polykern store show`, new ones last");
    }
  }
  if (!roster.empty() && roster.size() < stored.size()) {
    throw Error("the store has " + std::to_string(stored.size()) + " clients, but " +
                OptionName("clients") + " has " + std::to_string(roster.size()) +
                "; name them all, in the order of `polykern store show`, or leave it out");
  }
}

void CheckQuorum(const RoundsOptions& options) {
  if (options.asynchronous) return;
  const std::size_t named = options.roster.size();
  std::uint64_t most = named > 0 ? named : options.most_clients;
  if (options.front == nullptr) most = std::min<std::uint64_t>(most, options.most_connected);
  const Quorum& quorum = options.quorum;
  const std::uint64_t needed = quorum.all() ? named : std::max<std::uint64_t>(quorum.count, 1);
  if (needed <= most) return;
  throw Error("a quorum of " + std::to_string(needed) + " clients can never answer: at most " +
              std::to_string(most) + " can be connected; lower " + OptionName("quorum") +
              ", or see " + OptionName("clients") + ", " + OptionName("max_clients") + " and " +
              OptionName("max_connected"));
}

}  // namespace

Quorum ParseQuorum(std::string_view text) {
  if (text == "all") return Quorum::All();
  Quorum quorum;
  double number = 0;
  const bool percent = text.ends_with('%');
  const char* const end = text.data() + text.size() - (percent ? 1 : 0);
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  const bool whole = number >= 1 && number <= 1e9 &&
                     number == static_cast<double>(static_cast<std::uint64_t>(number));
  if (error != std::errc() || stop != end || !(percent ? number > 0 && number <= 100 : whole)) {
    throw Error(OptionName("quorum") + " '" + std::string(text) +
                "' is not all, a number of clients, or a percentage like 60%");
  }
  if (percent) {
    quorum.share = number / 100;
  } else {
    quorum.count = static_cast<std::uint64_t>(number);
  }
  return quorum;
}

std::uint64_t Quorum::Of(std::uint64_t clients) const {
  if (count > 0) return count;
  const auto needed = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(clients)));
  return std::clamp<std::uint64_t>(needed, 1, std::max<std::uint64_t>(clients, 1));
}

bool RoundsOptions::needs_everybody() const {
  return opener != nullptr && opener->needs_everybody();
}

std::uint64_t RoundsOptions::Needed(std::uint64_t there, std::uint64_t expected) const {
  if (asynchronous) return 1;
  if (quorum.count > 0 || quorum.all()) return quorum.Of(expected);
  const std::uint64_t least =
      roster.empty() ? least_clients : std::min<std::uint64_t>(least_clients, roster.size());
  return std::max(quorum.Of(there), least);
}

Busy RoundsOptions::RetryWindow(const std::string& reason) const {
  return {static_cast<std::uint32_t>(retry_earliest.count()),
          static_cast<std::uint32_t>(retry_latest.count()), reason};
}

std::string DescribeRounds(const RoundsOptions& options) {
  const Quorum& quorum = options.quorum;
  std::ostringstream text;
  text << "quorum ";
  if (quorum.all()) {
    text << "all";
  } else if (quorum.count > 0) {
    text << quorum.count;
  } else {
    text << 100 * quorum.share << "%, least clients " << options.least_clients;
  }
  text << ", deadline " << static_cast<double>(options.deadline.count()) / 1000 << " s, at most "
       << options.most_clients << " clients, " << options.most_connected
       << " of them connected, retries after "
       << static_cast<double>(options.retry_earliest.count()) / 1000 << " to "
       << static_cast<double>(options.retry_latest.count()) / 1000 << " s";
  return text.str();
}

void CheckRounds(const RoundsOptions& options, std::string_view algorithm,
                 std::span<const StoredClient> stored) {
  CheckLateUpdates(options, algorithm);
  CheckRoster(options.roster, stored);
  CheckQuorum(options);
}

}  // namespace polykern
