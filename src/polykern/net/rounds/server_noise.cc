#include "polykern/net/rounds/server_noise.h"

#include "polykern/core/error.h"

namespace polykern {

std::string ServerNoise::Open(Release& release, std::span<const std::string> /*clients*/) {
  const std::lock_guard lock(mutex_);
  if (releases_.spent()) {
    release.sums.clear();
    release.refusal = releases_.terms().AllSpent();
    return {};
  }
  try {
    releases_.Add(release.sums, NoiseFor(releases_, bits_));
  } catch (const Error& error) {  // the system has no random numbers yet
    return error.what();
  }
  releases_.Fill(release);
  return {};
}

OpenerStatus ServerNoise::status() const {
  const std::lock_guard lock(mutex_);
  return {.noise = NoiseStatusOf(releases_)};
}

std::vector<double> ServerNoise::Save() const {
  const std::lock_guard lock(mutex_);
  return releases_.Save();
}

void ServerNoise::Load(std::span<const double> saved) {
  const std::lock_guard lock(mutex_);
  releases_.Load(saved);
}

OpenerStatus::Noise NoiseStatusOf(const NoisyReleases& releases) {
  const NoiseTerms& terms = releases.terms();
  return {.epsilon = terms.epsilon,
          .delta = terms.delta,
          .spent = releases.EpsilonSpent(),
          .releases = releases.size(),
          .releases_left = terms.releases - releases.size()};
}

}  // namespace polykern
