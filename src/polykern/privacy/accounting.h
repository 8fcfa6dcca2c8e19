#pragma once

#include <cstddef>
#include <cstdint>

namespace polykern {

/// What noise has to cover: numbers that everyone knows before the first sample.
///
/// Neighbours are two runs of which one lacks an event: a row of a stream, and with it the samples
/// that it enters. The counts of samples are public.
struct NoisePlan {
  double unit = 0;                    ///< what 1 stands for in the integers that are released
  std::size_t numbers = 0;            ///< of a release
  std::size_t kinds = 1;              ///< of sums; every sample enters one release of each
  std::size_t samples_per_event = 1;  ///< that an event enters: 1, and 1 for each lag
  std::size_t releases = 1;           ///< of each kind, at most
};

/// By how much an event changes what goes into the releases of one kind, as the length of a vector
/// of integers: samples_per_event x ((sqrt 3 / 2) (1 + 2^-14) / unit + sqrt(numbers)), rounded
/// upwards. A sample's products have length sqrt(1/2), those with its label 1/2 at most; features
/// are rounded to multiples of 2^-18, so a vector of 60 of them may be longer than 1 by 2^-16; and
/// what is sent is rounded once more, each number by less than 1 with it or without it. The samples
/// of an event may all be in one message, or add up over the releases they are in: so lengths add
/// up, and rho grows with the square of their number.
double EventLength(const NoisePlan& plan);

/// The zero-concentrated differential privacy that an event has lost after `done` releases of each
/// kind, if it was in the first one: kinds EventLength^2 (sum of c_k^2, k < done) / (2 sigma^2),
/// rounded upwards. All of it: done = plan.releases. See ReleaseWeights for c.
double RhoSpent(const NoisePlan& plan, std::uint64_t sigma, std::size_t done);

/// The least epsilon with which rho gives (epsilon, delta)-differential privacy, by the conversion
/// of Canonne, Kamath and Steinke (2020, proposition 12), rounded upwards. 0 < delta < 1,
/// 0 <= rho; 0 for 0.
double EpsilonOf(double rho, double delta);

/// The largest rho whose EpsilonOf is at most epsilon > 0, rounded downwards.
double RhoFor(double epsilon, double delta);

/// The least sigma of the discrete Gaussian with which all releases of the plan together cost at
/// most (epsilon, delta). Throws Error, which names the options epsilon and releases, if it is more
/// than DiscreteGaussian can draw: then the unit is too small for so much noise.
std::uint64_t LeastSigma(const NoisePlan& plan, double epsilon, double delta);

}  // namespace polykern
