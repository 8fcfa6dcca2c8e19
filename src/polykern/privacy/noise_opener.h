#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "polykern/algorithms/algorithm.h"
#include "polykern/federation/sealing.h"
#include "polykern/privacy/noisy_releases.h"

namespace polykern {

/// Adds noise to sums from a seed: for who plays every part, as a simulation does. A federation
/// must not use it: who has the seed has the noise. Masks come off first. One thread.
class NoiseOpener final : public Opener {
 public:
  /// As much noise as the algorithm's options epsilon, delta and releases ask for; it has one kind
  /// of sums. `samples_per_event`: see NoisePlan. Throws Error if no noise is large enough.
  NoiseOpener(const Algorithm& algorithm, std::size_t samples_per_event, std::uint64_t seed);

  /// Fills in `estimate` and `deviation`, and empties `sums`. Refuses a release after the last.
  void Open(Release& release) override;

  /// What the first release's samples have lost of their privacy so far, at the options' delta.
  double EpsilonSpent() const { return releases_.EpsilonSpent(); }

  /// What came in, in whole numbers below 2^32, and back: noise is drawn again. Throws Error, and
  /// changes nothing, if these are not whole releases.
  std::vector<double> Save() const;
  void Load(std::span<const double> saved);

 private:
  void AddNoise(std::span<const std::int64_t> sums);

  std::uint64_t seed_;
  NoisyReleases releases_;
};

/// Of an algorithm whose options ask for noise, from its problem's seed; null for any other. Throws
/// what the constructor does.
std::unique_ptr<NoiseOpener> MakeNoiseOpener(const Algorithm& algorithm,
                                             std::size_t samples_per_event);

}  // namespace polykern
