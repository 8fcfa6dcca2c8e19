#include "polykern/algorithms/algorithm.h"

#include "polykern/core/exact_sum.h"

namespace polykern {

void RunInTurn(std::size_t count, const std::function<void(std::size_t, std::size_t)>& job) {
  for (std::size_t i = 0; i < count; ++i) job(i, 0);
}

std::uint64_t Algorithm::most_clients() const {
  return ExactSum::kMaxTerms;
}

}  // namespace polykern
