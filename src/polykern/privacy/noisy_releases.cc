#include "polykern/privacy/noisy_releases.h"

#include <algorithm>
#include <cassert>

#include "polykern/core/error.h"

namespace polykern {

NoisyReleases::NoisyReleases(const NoiseTerms& terms)
    : terms_(terms),
      sigma_(terms.Sigma()),
      weights_(terms.releases),
      came_in_(terms.numbers),
      released_(terms.numbers) {}

void NoisyReleases::Add(std::span<const std::int64_t> sums, std::span<const std::uint64_t> added) {
  assert(!spent() && sums.size() == terms_.numbers && added.size() == terms_.numbers);
  came_in_.Add(std::vector<std::uint64_t>(sums.begin(), sums.end()));
  std::vector<std::uint64_t> released(terms_.numbers);
  Correlate(weights_, came_in_, released);
  for (std::size_t i = 0; i < released.size(); ++i) released[i] += added[i];
  released_.Add(released);
  spent_ = terms_.EpsilonSpent(sigma_, size());
}

void NoisyReleases::Fill(Release& release) const {
  release.sums.clear();
  release.estimate.resize(terms_.numbers);
  DecodeRunningSums(weights_, released_, terms_.ring.bits, terms_.ring.unit, release.estimate);
  release.deviation =
      static_cast<double>(sigma_) * terms_.ring.unit * weights_.RunningDeviation(size());
}

/// What came in may be masked, so it has 64 bits: two numbers. Of what was released no one needs
/// more than a double.
std::vector<double> NoisyReleases::Save() const {
  std::vector<double> saved = {static_cast<double>(size())};
  saved.reserve(1 + 3 * came_in_.Save().size());
  for (const std::uint64_t whole : came_in_.Save()) {
    saved.push_back(static_cast<double>(whole >> 32U));
    saved.push_back(static_cast<double>(whole & UINT32_MAX));
  }
  for (const std::uint64_t whole : released_.Save()) {
    saved.push_back(static_cast<double>(static_cast<std::int64_t>(whole)));
  }
  return saved;
}

void NoisyReleases::Load(std::span<const double> saved) {
  const bool fits = !saved.empty() && saved[0] >= 0 &&
                    saved[0] <= static_cast<double>(terms_.releases) &&
                    saved.size() == 1 + 3 * terms_.numbers * static_cast<std::size_t>(saved[0]);
  if (!fits) throw Error("saved noisy sums do not fit: they were made with other settings");
  const std::size_t count = (saved.size() - 1) / 3;
  std::vector<std::uint64_t> came_in(count);
  std::vector<std::uint64_t> released(count);
  for (std::size_t i = 0; i < count; ++i) {
    came_in[i] = static_cast<std::uint64_t>(saved[1 + 2 * i]) << 32U |
                 static_cast<std::uint64_t>(saved[2 + 2 * i]);
    const double most = 0x1p63 * (1 - 0x1p-53);  // the largest double that fits
    released[i] = static_cast<std::uint64_t>(
        static_cast<std::int64_t>(std::min(saved[1 + 2 * count + i], most)));
  }
  came_in_.Load(std::move(came_in));
  released_.Load(std::move(released));
  spent_ = terms_.EpsilonSpent(sigma_, size());
}

std::vector<std::uint64_t> NoiseFor(const NoisyReleases& releases, BitSource& bits) {
  DiscreteGaussian gaussian(releases.sigma() * releases.sigma(), bits);
  std::vector<std::uint64_t> noise(releases.terms().numbers);
  DrawNoise(gaussian, noise);
  return noise;
}

}  // namespace polykern
