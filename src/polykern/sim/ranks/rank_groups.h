#pragma once

#include <cstddef>

namespace polykern {

/// Into how many groups of equally many ranks to split them, each of which works on chains of its
/// own: chains are what must run one step after the other. `wished`, if not 0, is the answer, and
/// must divide the ranks; throws Error if it does not.
std::size_t RankGroups(std::size_t chains, std::size_t clients, std::size_t ranks,
                       std::size_t wished);

}  // namespace polykern
