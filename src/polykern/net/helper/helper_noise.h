#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "polykern/privacy/correlated_noise.h"
#include "polykern/privacy/noise_terms.h"

namespace polykern {

/// A helper's noise for one answer. In memory alone: noise whose answer is not in the log has not
/// left, and is drawn again. One thread at a time.
class HelperNoise {
 public:
  /// Draws it, from the system's generator. The time this takes reveals something of the noise, so
  /// keep it from those who must not know. Throws Error if no noise is large enough for the terms.
  explicit HelperNoise(const NoiseTerms& terms);
  ~HelperNoise();
  HelperNoise(const HelperNoise&) = delete;
  HelperNoise& operator=(const HelperNoise&) = delete;

  const NoiseTerms& terms() const { return terms_; }

  /// All that may be told of the streams of an epoch's releases, of which the last is the one that
  /// is asked for: their weighted sum, less the noise, which must not be used again.
  std::vector<std::uint64_t> Answer(const ReleaseHistory& streams) const;

 private:
  const NoiseTerms terms_;
  std::vector<std::uint64_t> noise_;
};

/// In words.
std::string WordsOf(const NoiseTerms& terms);
std::string EpsilonWords(double epsilon, double delta);

}  // namespace polykern
