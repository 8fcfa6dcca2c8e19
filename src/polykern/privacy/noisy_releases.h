#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "polykern/algorithms/algorithm.h"
#include "polykern/privacy/correlated_noise.h"
#include "polykern/privacy/noise_terms.h"

namespace polykern {

/// The noisy sums of a federation, release after release, as what computes its model has them:
/// what came in, masked or not, and what noise and weights made of it. One thread at a time.
class NoisyReleases {
 public:
  /// Throws Error if no noise is large enough for the terms.
  explicit NoisyReleases(const NoiseTerms& terms);

  const NoiseTerms& terms() const { return terms_; }
  std::uint64_t sigma() const { return sigma_; }
  std::size_t size() const { return released_.size(); }  ///< releases so far
  bool spent() const { return size() == terms_.releases; }
  double EpsilonSpent() const { return spent_; }
  const ReleaseHistory& came_in() const { return came_in_; }

  /// One more, which must not be one too many: `added` to the weighted sums of what came in. That
  /// is noise; or where these sums are masked, noise less the same of the masks.
  void Add(std::span<const std::int64_t> sums, std::span<const std::uint64_t> added);
  /// Puts what all of them say in place of a release's sums.
  void Fill(Release& release) const;

  /// All of it in numbers that are exact as doubles, and back. Throws Error, and changes nothing,
  /// if these are not whole releases.
  std::vector<double> Save() const;
  void Load(std::span<const double> saved);

 private:
  NoiseTerms terms_;
  std::uint64_t sigma_;
  ReleaseWeights weights_;
  ReleaseHistory came_in_;
  ReleaseHistory released_;
  double spent_ = 0;
};

/// Noise for one release, from these bits.
std::vector<std::uint64_t> NoiseFor(const NoisyReleases& releases, BitSource& bits);

}  // namespace polykern
