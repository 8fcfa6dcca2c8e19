#include "polykern/algorithms/algorithm.h"

#include <string>

#include "polykern/core/error.h"
#include "polykern/core/exact_sum.h"

namespace polykern {

void RunInTurn(std::size_t count, const std::function<void(std::size_t, std::size_t)>& job) {
  for (std::size_t i = 0; i < count; ++i) job(i, 0);
}

void Inbox::Unpack(std::span<const std::int64_t> packed) {
  throw Error("sums of " + std::to_string(packed.size()) +
              " numbers do not fit: they were made with other settings");
}

std::uint64_t Algorithm::most_clients() const {
  return ExactSum::kMaxTerms;
}

}  // namespace polykern
