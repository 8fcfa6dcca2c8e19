#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "polykern/privacy/correlated_noise.h"
#include "polykern/privacy/noise_terms.h"

namespace polykern {

/// A helper's noise for its next answer, drawn before anybody asks, so that nobody can time it. In
/// memory alone: noise whose answer is not in the log has not left, and is drawn anew.
/// One thread at a time.
class HelperNoise {
 public:
  HelperNoise() = default;
  ~HelperNoise() { Forget(); }
  HelperNoise(const HelperNoise&) = delete;
  HelperNoise& operator=(const HelperNoise&) = delete;

  /// Draws some under these terms, unless it is there. Throws Error if there cannot be any.
  void Prepare(const NoiseTerms& terms);
  bool IsReady(const NoiseTerms& terms) const { return terms_ == terms; }

  /// All that may be told of the streams of an epoch's releases, of which the last is the one that
  /// is asked for: their weighted sum, less the noise, which is gone then. It must be ready.
  std::vector<std::uint64_t> Answer(const ReleaseHistory& streams);

 private:
  void Forget();

  std::optional<NoiseTerms> terms_;  // what the noise is for; none: there is none
  std::vector<std::uint64_t> noise_;
};

/// In words.
std::string WordsOf(const NoiseTerms& terms);
std::string EpsilonWords(double epsilon, double delta);

}  // namespace polykern
