#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "polykern/algorithms/algorithm.h"
#include "polykern/privacy/accounting.h"

namespace polykern {

/// What a federation promises of the noise in its sums, which are of one kind. Everyone must agree
/// on all of it before the first sample. A plain value.
struct NoiseTerms {
  double epsilon = 0;  ///< that all releases together may cost a row; 0: there is no noise
  double delta = 1e-6;
  std::size_t releases = 64;  ///< at most
  std::size_t samples_per_event = 1;
  std::size_t numbers = 0;  ///< of a release
  Ring ring = {};

  bool noisy() const { return epsilon > 0; }
  bool operator==(const NoiseTerms&) const = default;

  NoisePlan plan() const;
  /// Of the noise. Throws Error as LeastSigma does.
  std::uint64_t Sigma() const { return LeastSigma(plan(), epsilon, delta); }
  /// What a row of the first release has lost after so many, as epsilon at delta.
  double EpsilonSpent(std::uint64_t sigma, std::size_t done) const;
  /// Why there is no further release, in words.
  std::string AllSpent() const;
};

/// Of an algorithm's options and shape; without noise where they ask for none.
/// `samples_per_event`: see NoisePlan.
NoiseTerms NoiseTermsOf(const Algorithm& algorithm, std::size_t samples_per_event);

/// Bytes that two sides bind their masks to (PairTerms::further): masks of sums for which noise was
/// promised come off by no one who was told of another promise. Empty: no noise.
std::string BindingOf(const NoiseTerms& terms);

}  // namespace polykern
