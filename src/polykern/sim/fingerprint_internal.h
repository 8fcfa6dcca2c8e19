#pragma once

#include <cstdint>

namespace polykern {

/// A well-mixed 64-bit number (the finaliser of SplitMix64): what fingerprints are sums of.
inline std::uint64_t Mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

}  // namespace polykern
