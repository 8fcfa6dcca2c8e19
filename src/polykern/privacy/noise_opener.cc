#include "polykern/privacy/noise_opener.h"

#include <cassert>
#include <utility>

#include "polykern/core/error.h"

namespace polykern {

NoiseOpener::NoiseOpener(const Algorithm& algorithm, std::size_t samples_per_event,
                         std::uint64_t seed)
    : seed_(seed), releases_(NoiseTermsOf(algorithm, samples_per_event)) {}

void NoiseOpener::Open(Release& release) {
  assert(release.kind == 0);
  const std::vector<std::int64_t> sums = std::exchange(release.sums, {});
  if (!release.refusal.empty()) return;
  if (releases_.spent()) {
    release.refusal = releases_.terms().AllSpent();
    return;
  }
  AddNoise(sums);
  releases_.Fill(release);
}

void NoiseOpener::AddNoise(std::span<const std::int64_t> sums) {
  SeededBits bits(Random(seed_, Purpose::kNoise, 0, releases_.size()));
  releases_.Add(sums, NoiseFor(releases_, bits));
}

std::vector<double> NoiseOpener::Save() const {
  std::vector<double> saved;
  for (const std::uint64_t whole : releases_.came_in().Save()) {
    saved.push_back(static_cast<double>(whole >> 32U));
    saved.push_back(static_cast<double>(whole & UINT32_MAX));
  }
  return saved;
}

void NoiseOpener::Load(std::span<const double> saved) {
  const NoiseTerms& terms = releases_.terms();
  if (saved.size() % (2 * terms.numbers) != 0 ||
      saved.size() / (2 * terms.numbers) > terms.releases) {
    throw Error("saved noisy sums do not fit: they were made with other settings");
  }
  releases_ = NoisyReleases(terms);
  std::vector<std::int64_t> sums(terms.numbers);
  while (!saved.empty()) {
    for (std::int64_t& sum : sums) {
      sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(saved[0]) << 32U |
                                      static_cast<std::uint64_t>(saved[1]));
      saved = saved.subspan(2);
    }
    AddNoise(sums);
  }
}

std::unique_ptr<NoiseOpener> MakeNoiseOpener(const Algorithm& algorithm,
                                             std::size_t samples_per_event) {
  if (!NoiseTermsOf(algorithm, samples_per_event).noisy()) return nullptr;
  return std::make_unique<NoiseOpener>(algorithm, samples_per_event,
                                       algorithm.definition().problem.seed);
}

}  // namespace polykern
