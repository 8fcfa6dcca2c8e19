#include "polykern/privacy/release_weights.h"

#include <cassert>
#include <cmath>

namespace polykern {
namespace {

constexpr double kScale = 16;

}  // namespace

ReleaseWeights::ReleaseWeights(std::size_t releases) {
  assert(releases >= 1 && releases <= kMostReleases);
  double root = 1;
  for (std::size_t k = 0; k < releases; ++k) {
    if (k > 0) root *= static_cast<double>(2 * k - 1) / static_cast<double>(2 * k);
    weights_.push_back(static_cast<std::uint64_t>(std::llround(kScale * root)));
  }
  // c(q) b(q) = 1 + q + q^2 + ..
  for (std::size_t k = 0; k < releases; ++k) {
    double left = 1;
    for (std::size_t j = 1; j <= k && weights_[j] > 0; ++j) {
      left -= static_cast<double>(weights_[j]) * decoding_[k - j];
    }
    decoding_.push_back(left / kScale);
  }
}

std::uint64_t ReleaseWeights::SquaresOf(std::size_t count) const {
  assert(count <= releases());
  std::uint64_t sum = 0;
  for (std::size_t k = 0; k < count; ++k) sum += weights_[k] * weights_[k];
  return sum;
}

double ReleaseWeights::RunningDeviation(std::size_t count) const {
  assert(count <= releases());
  double sum = 0;
  for (std::size_t k = 0; k < count; ++k) sum += decoding_[k] * decoding_[k];
  return std::sqrt(sum);
}

}  // namespace polykern
