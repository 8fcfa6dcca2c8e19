#include "polykern/net/helper/release_limits.h"

#include <cmath>

#include "polykern/privacy/release_weights.h"

namespace polykern {
namespace {

constexpr double kMostEpsilon = 1e6;

}  // namespace

bool CanBeRing(std::uint32_t bits, double unit) {
  return (bits == 32 || bits == 64) && std::isfinite(unit) && unit > 0;
}

bool CanBeTerms(const NoiseTerms& terms) {
  const auto within = [](std::uint64_t number, std::uint64_t most) {
    return number > 0 && number <= most;
  };
  return std::isfinite(terms.epsilon) && terms.epsilon > 0 && terms.epsilon <= kMostEpsilon &&
         terms.delta > 0 && terms.delta < 1 &&
         within(terms.releases, ReleaseWeights::kMostReleases) &&
         within(terms.samples_per_event, kMostKinds) && within(terms.numbers, kMostNumbers) &&
         CanBeRing(terms.ring.bits, terms.ring.unit);
}

}  // namespace polykern
