#include "polykern/sim/ranks/rank_groups.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>

#include "polykern/core/error.h"

namespace polykern {

std::size_t RankGroups(std::size_t chains, std::size_t clients, std::size_t ranks,
                       std::size_t wished) {
  if (wished > 0 && ranks % wished != 0) {
    throw Error(OptionName("rank_groups") + " is " + std::to_string(wished) +
                ", which does not divide " + std::to_string(ranks) + " ranks");
  }
  if (wished > 0) return wished;
  // More groups exchange less, fewer hold less each and are all busy to the end; cost is in
  // client-steps, of which an exchange takes some.
  constexpr std::size_t kExchange = 64;
  constexpr std::size_t kMostClients = std::size_t{1} << 16;  // of one rank, if they can be spread
  std::size_t best = 1;
  std::size_t best_cost = SIZE_MAX;
  for (std::size_t groups = 1; groups <= std::min(chains, ranks); ++groups) {
    if (ranks % groups != 0) continue;
    const std::size_t together = ranks / groups;
    const std::size_t each = (clients + together - 1) / together;
    const std::size_t exchange = kExchange * static_cast<std::size_t>(std::bit_width(together - 1));
    const std::size_t cost = (chains + groups - 1) / groups * (each + exchange);
    if (cost > best_cost || (groups > 1 && each > kMostClients)) continue;
    best = groups;
    best_cost = cost;
  }
  return best;
}

}  // namespace polykern
