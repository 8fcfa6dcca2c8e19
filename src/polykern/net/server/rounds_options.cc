// What rounds can be told, and what can never work.
#include "polykern/net/server/rounds_options.h"

#include <algorithm>
#include <cmath>

#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/core/exact_sum.h"
#include "polykern/net/pki/certificates.h"

namespace polykern {
namespace {

void CheckLateUpdates(const RoundsOptions& options, std::string_view algorithm) {
  if (!options.uses_late() || TraitsOf(algorithm).takes_late_updates) return;
  throw Error((options.asynchronous ? OptionName("mode", "async") : OptionName("stale", "accept")) +
              " does not go with " + std::string(algorithm) +
              ": its clients' updates hold for one model only; leave it out, or choose " +
              OptionName("algorithm", "pof-newton"));
}

/// Whoever is enrolled is so for ever: a wrong name must not get that far.
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
  const std::uint64_t most =
      std::min(named > 0 ? named : options.most_clients, options.most_connected);
  const std::uint64_t needed = options.quorum.Of(named);
  if (needed <= most) return;
  throw Error("a quorum of " + std::to_string(needed) + " clients can never answer: at most " +
              std::to_string(most) + " can be connected; lower " + OptionName("quorum") +
              ", or see " + OptionName("clients") + ", " + OptionName("max_clients") + " and " +
              OptionName("max_connected"));
}

}  // namespace

std::uint64_t Quorum::Of(std::uint64_t clients) const {
  if (count > 0) return count;
  const auto needed = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(clients)));
  return std::clamp<std::uint64_t>(needed, 1, std::max<std::uint64_t>(clients, 1));
}

Busy RoundsOptions::RetryWindow(const std::string& reason) const {
  return {static_cast<std::uint32_t>(retry_earliest.count()),
          static_cast<std::uint32_t>(retry_latest.count()), reason};
}

void CheckRounds(const RoundsOptions& options, std::string_view algorithm,
                 std::span<const StoredClient> stored) {
  CheckLateUpdates(options, algorithm);
  CheckRoster(options.roster, stored);
  CheckQuorum(options);
}

}  // namespace polykern
