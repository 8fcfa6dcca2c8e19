#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "polykern/core/random.h"

namespace polykern {

/// Uniform random bits. One thread.
class BitSource {
 public:
  BitSource() = default;
  BitSource(const BitSource&) = delete;
  BitSource& operator=(const BitSource&) = delete;
  virtual ~BitSource() = default;

  /// The next 64.
  virtual std::uint64_t Bits() = 0;
};

/// From the system's cryptographic generator, by OpenSSL: what protects people. Forgets what it
/// gave. Bits() throws Error if there are none.
class SystemBits final : public BitSource {
 public:
  SystemBits() = default;
  ~SystemBits() override;
  std::uint64_t Bits() override;

 private:
  std::array<std::uint64_t, 64> words_{};
  std::size_t left_ = 0;
};

/// The same bits for the same seed: for simulations and tests. Who has the seed has the noise.
class SeededBits final : public BitSource {
 public:
  explicit SeededBits(const Random& random) : random_(random) {}
  std::uint64_t Bits() override { return random_.Bits(); }

 private:
  Random random_;
};

/// The discrete Gaussian: an integer k with probability proportional to exp(-k^2 / (2 variance)),
/// exactly, by integers alone (Canonne, Kamath and Steinke, The Discrete Gaussian for Differential
/// Privacy, 2020, algorithms 1 to 3). One thread.
/// How long a draw takes depends on what is drawn. So noise is drawn before the request that it
/// answers, and no one can time one draw.
class DiscreteGaussian {
 public:
  static constexpr std::uint64_t kMostSigma = std::uint64_t{1} << 26;
  static constexpr std::uint64_t kMostVariance = kMostSigma * kMostSigma;

  /// 1 <= variance <= kMostVariance: of the continuous Gaussian, and to within 1e-6 its own too.
  /// `bits` must outlive it.
  DiscreteGaussian(std::uint64_t variance, BitSource& bits);
  ~DiscreteGaussian();
  DiscreteGaussian(const DiscreteGaussian&) = delete;
  DiscreteGaussian& operator=(const DiscreteGaussian&) = delete;

  /// Throws what the source of bits does.
  std::int64_t Draw();

 private:
  __extension__ using Wide = unsigned __int128;

  std::uint64_t Take(unsigned count);
  bool Bernoulli(Wide over, Wide under);
  bool BernoulliExp(Wide over, Wide under);
  std::int64_t DrawLaplace();

  std::uint64_t variance_;
  std::uint64_t scale_;  // of the Laplace law that is drawn first
  BitSource& bits_;
  std::uint64_t word_ = 0;
  unsigned left_ = 0;  // bits of the word
};

}  // namespace polykern
