#include "polykern/privacy/noise_opener.h"

#include <cassert>
#include <string>
#include <utility>

#include "polykern/core/error.h"

namespace polykern {
namespace {

NoisePlan PlanOf(const Algorithm& algorithm, std::size_t samples_per_event) {
  const ModelShape& shape = algorithm.shape();
  assert(shape.sums.size() == 1 && algorithm.definition().options.epsilon > 0);
  return {.unit = shape.ring.unit,
          .numbers = shape.sums[0],
          .kinds = 1,
          .samples_per_event = samples_per_event,
          .releases = algorithm.definition().options.releases};
}

}  // namespace

NoiseOpener::NoiseOpener(const Algorithm& algorithm, std::size_t samples_per_event,
                         std::uint64_t seed)
    : ring_(algorithm.shape().ring),
      delta_(algorithm.definition().options.delta),
      seed_(seed),
      plan_(PlanOf(algorithm, samples_per_event)),
      sigma_(LeastSigma(plan_, algorithm.definition().options.epsilon, delta_)),
      weights_(plan_.releases),
      came_in_(plan_.numbers),
      released_(plan_.numbers) {}

void NoiseOpener::Open(Release& release) {
  assert(release.kind == 0);
  const std::vector<std::int64_t> sums = std::exchange(release.sums, {});
  if (!release.refusal.empty()) return;
  if (released_.size() == plan_.releases) {
    release.refusal = "all " + std::to_string(plan_.releases) + " releases are spent";
    return;
  }
  AddNoise(std::vector<std::uint64_t>(sums.begin(), sums.end()));
  release.estimate.resize(plan_.numbers);
  DecodeRunningSums(weights_, released_, ring_.bits, ring_.unit, release.estimate);
  release.deviation =
      static_cast<double>(sigma_) * ring_.unit * weights_.RunningDeviation(released_.size());
}

void NoiseOpener::AddNoise(std::span<const std::uint64_t> sums) {
  came_in_.Add(sums);
  std::vector<std::uint64_t> correlated(plan_.numbers);
  Correlate(weights_, came_in_, correlated);
  SeededBits bits(Random(seed_, Purpose::kNoise, 0, released_.size()));
  DiscreteGaussian gaussian(sigma_ * sigma_, bits);
  std::vector<std::uint64_t> noise(plan_.numbers);
  DrawNoise(gaussian, noise);
  for (std::size_t i = 0; i < noise.size(); ++i) correlated[i] += noise[i];
  released_.Add(correlated);
}

double NoiseOpener::EpsilonSpent() const {
  return EpsilonOf(RhoSpent(plan_, sigma_, released_.size()), delta_);
}

std::vector<double> NoiseOpener::Save() const {
  std::vector<double> saved;
  for (const std::uint64_t whole : came_in_.Save()) {
    saved.push_back(static_cast<double>(whole >> 32U));
    saved.push_back(static_cast<double>(whole & UINT32_MAX));
  }
  return saved;
}

void NoiseOpener::Load(std::span<const double> saved) {
  if (saved.size() % (2 * plan_.numbers) != 0 ||
      saved.size() / (2 * plan_.numbers) > plan_.releases) {
    throw Error("saved noisy sums do not fit: they were made with other settings");
  }
  came_in_ = released_ = ReleaseHistory(plan_.numbers);
  std::vector<std::uint64_t> sums(plan_.numbers);
  while (!saved.empty()) {
    for (std::uint64_t& sum : sums) {
      sum = static_cast<std::uint64_t>(saved[0]) << 32U | static_cast<std::uint64_t>(saved[1]);
      saved = saved.subspan(2);
    }
    AddNoise(sums);
  }
}

std::unique_ptr<NoiseOpener> MakeNoiseOpener(const Algorithm& algorithm,
                                             std::size_t samples_per_event) {
  if (algorithm.shape().sums.empty() || algorithm.definition().options.epsilon <= 0) return nullptr;
  return std::make_unique<NoiseOpener>(algorithm, samples_per_event,
                                       algorithm.definition().problem.seed);
}

}  // namespace polykern
