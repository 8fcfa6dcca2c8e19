#include "polykern/net/load/load_figures.h"

#include <algorithm>
#include <cmath>

namespace polykern {

double Percentile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::min(rank > 0 ? rank - 1 : 0, sorted.size() - 1)];
}

}  // namespace polykern
