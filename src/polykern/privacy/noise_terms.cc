#include "polykern/privacy/noise_terms.h"

#include <bit>
#include <cassert>

#include "polykern/privacy/crypto_internal.h"

namespace polykern {

NoisePlan NoiseTerms::plan() const {
  return {.unit = ring.unit,
          .numbers = numbers,
          .kinds = 1,
          .samples_per_event = samples_per_event,
          .releases = releases};
}

double NoiseTerms::EpsilonSpent(std::uint64_t sigma, std::size_t done) const {
  return EpsilonOf(RhoSpent(plan(), sigma, done), delta);
}

std::string NoiseTerms::AllSpent() const {
  return "all " + std::to_string(releases) + " releases are spent";
}

NoiseTerms NoiseTermsOf(const Algorithm& algorithm, std::size_t samples_per_event) {
  const ModelShape& shape = algorithm.shape();
  const AlgorithmOptions& options = algorithm.definition().options;
  if (shape.sums.empty() || options.epsilon <= 0) return {};
  assert(shape.sums.size() == 1);
  return {.epsilon = options.epsilon,
          .delta = options.delta,
          .releases = options.releases,
          .samples_per_event = samples_per_event,
          .numbers = shape.sums[0],
          .ring = shape.ring};
}

std::string BindingOf(const NoiseTerms& terms) {
  if (!terms.noisy()) return {};
  Encoding all("polykern noise 1");
  all.Number(std::bit_cast<std::uint64_t>(terms.epsilon));
  all.Number(std::bit_cast<std::uint64_t>(terms.delta));
  all.Number(terms.releases).Number(terms.samples_per_event);
  return {all.bytes().begin(), all.bytes().end()};
}

}  // namespace polykern
