#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace polykern {

/// What random numbers are drawn for. Part of the key: two purposes never share numbers.
/// The values are part of "same seed, same bits": never renumber them.
enum class Purpose : std::uint64_t {
  kFrequencies = 1,     ///< spectral draws of a dictionary; a: kernel
  kSubset = 2,          ///< the bin a client uploads (Algorithm 1); a: client, b: step
  kShuffle = 3,         ///< order of rows before they are dealt to clients
  kFleet = 4,           ///< laws of the synthetic fleet; a: site
  kSample = 5,          ///< a sample of the synthetic fleet; a: client, b: step
  kParticipation = 6,   ///< does a client take part in a step; a: client, b: step
  kRepetition = 7,      ///< the seed of a repetition; a: repetition
  kSharedKernel = 8,    ///< the kernel that everyone uses in a step; b: step
  kOwnKernels = 9,      ///< the kernels that a client holds in a step; a: client, b: step
  kNetwork = 10,        ///< a neural network's weights at the start
  kLocalFeatures = 11,  ///< the seed of the private experts' features
  kNoise = 12,          ///< the noise of simulated releases; a: kind of sums, b: release
  kMasks = 13,          ///< keys of simulated clients; a: client
  kTest = 99,           ///< tests
};

/// Random numbers that are a pure function of (seed, purpose, a, b) and of how many were taken
/// before: Philox4x64-10 in counter mode. Nothing depends on call order elsewhere, on threads, or
/// on the standard library; only + - * / and sqrt are used, so every IEEE machine gives the same
/// bits. A small value: make one where it is needed. Never fails.
class Random {
 public:
  Random(std::uint64_t seed, Purpose purpose, std::uint64_t a = 0, std::uint64_t b = 0);

  /// 64 uniform bits.
  std::uint64_t Bits();
  /// Uniform on [0, 1), 53 bits.
  double Uniform();
  /// Uniform on {0, .., n-1}; n > 0.
  std::uint64_t Below(std::uint64_t n);
  /// Standard normal, by inversion.
  double Normal();
  /// Exponential with mean 1.
  double Exponential();
  /// Gamma with the given shape > 0 and scale 1.
  double Gamma(double shape);

  /// Puts the items in random order (Fisher-Yates).
  template <typename T>
  void Shuffle(std::vector<T>& items) {
    for (std::size_t left = items.size(); left > 1; --left) {
      std::swap(items[left - 1], items[Below(left)]);
    }
  }

 private:
  /// Uniform on (0, 1), symmetric about 1/2 and never equal to it.
  double OpenUniform();

  std::array<std::uint64_t, 4> counter_;
  std::uint64_t seed_;
  std::array<std::uint64_t, 4> block_{};
  int used_ = 4;
};

/// The quantile of the standard normal law at u in (0, 1), to about 1e-15 relative.
double NormalQuantile(double u);

}  // namespace polykern
