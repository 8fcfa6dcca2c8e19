#pragma once

#include <cstdint>

#include "polykern/privacy/noise_terms.h"

namespace polykern {

// What a message or a helper's log may say of releases.

inline constexpr std::uint32_t kMostKinds = 65536;       ///< of sums
inline constexpr std::uint64_t kMostNumbers = 1U << 22;  ///< in a release

bool CanBeRing(std::uint32_t bits, double unit);

/// Is it a promise of noise that a server or a helper may make?
bool CanBeTerms(const NoiseTerms& terms);

}  // namespace polykern
