#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace polykern {

/// How noise is correlated over the releases of one kind of sums. With x_t what has come in between
/// two releases, release t = 0, 1, .. is
///   y_t = sum_j c_j x_{t-j} + z_t,   c_k = round(16 (1/2 3/4 5/6 .. (2k-1)/2k)),
/// z_t fresh noise. c are the coefficients of 16 (1 - q)^(-1/2), of which the square sums up: so of
/// x_0 + .. + x_t, which is what anyone wants to know, the noise grows like the logarithm of t.
/// Immutable: threads may share it.
class ReleaseWeights {
 public:
  static constexpr std::size_t kMostReleases = 4096;

  /// Of the first releases, 1 .. kMostReleases.
  explicit ReleaseWeights(std::size_t releases);

  std::size_t releases() const { return weights_.size(); }
  /// c: from 16 downwards to 0.
  const std::vector<std::uint64_t>& weights() const { return weights_; }
  /// b, with which x_0 + .. + x_t = sum_j b_j (y_{t-j} - z_{t-j}): the power series of
  /// 1 / ((1 - q) c(q)), so exact for these integers c.
  const std::vector<double>& decoding() const { return decoding_; }
  /// The sum of c_k^2, k < `count` <= releases(): by how much rho grows with the releases that
  /// something that came in is part of.
  std::uint64_t SquaresOf(std::size_t count) const;
  /// The standard deviation of x_0 + .. + x_t after `count` releases, for noise of deviation 1.
  double RunningDeviation(std::size_t count) const;

 private:
  std::vector<std::uint64_t> weights_;
  std::vector<double> decoding_;
};

}  // namespace polykern
