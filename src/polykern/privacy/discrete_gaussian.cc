#include "polykern/privacy/discrete_gaussian.h"

#include <bit>
#include <cassert>
#include <cstdlib>

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include "polykern/privacy/crypto_internal.h"

namespace polykern {
namespace {

/// The largest integer whose square is at most n.
std::uint64_t RootBelow(std::uint64_t n) {
  std::uint64_t root = 0;
  for (std::uint64_t bit = std::uint64_t{1} << 31U; bit > 0; bit >>= 1U) {
    if ((root + bit) * (root + bit) <= n) root += bit;
  }
  return root;
}

// The Laplace law gives as much with a probability below exp(-1000), and that is then accepted with
// one below exp(-10^5): as good as never, and products stay within 128 bits.
constexpr std::int64_t kFarthest = std::int64_t{1} << 36U;

}  // namespace

SystemBits::~SystemBits() {
  OPENSSL_cleanse(words_.data(), sizeof words_);
}

std::uint64_t SystemBits::Bits() {
  if (left_ == 0) {
    auto* const bytes = reinterpret_cast<unsigned char*>(words_.data());
    RequireCrypto(RAND_priv_bytes(bytes, sizeof words_) == 1, "get random bytes from the system");
    left_ = words_.size();
  }
  std::uint64_t& word = words_[--left_];
  const std::uint64_t bits = word;
  OPENSSL_cleanse(&word, sizeof word);
  return bits;
}

DiscreteGaussian::DiscreteGaussian(std::uint64_t variance, BitSource& bits)
    : variance_(variance), scale_(RootBelow(variance) + 1), bits_(bits) {
  assert(variance > 0 && variance <= kMostVariance);
}

DiscreteGaussian::~DiscreteGaussian() {
  OPENSSL_cleanse(&word_, sizeof word_);
}

std::uint64_t DiscreteGaussian::Take(unsigned count) {
  assert(count < 64);
  if (left_ < count) {  // what is left of the word before is not used
    word_ = bits_.Bits();
    left_ = 64;
  }
  const std::uint64_t taken = word_ & ((std::uint64_t{1} << count) - 1);
  word_ >>= count;
  left_ -= count;
  return taken;
}

/// True with probability over / under <= 1: is a uniform number below it? Both are compared binary
/// digit by digit, so it takes two bits on average, and no division.
bool DiscreteGaussian::Bernoulli(Wide over, Wide under) {
  assert(over <= under);
  if (over == under) return true;
  while (over > 0) {
    over *= 2;
    const bool digit = over >= under;
    if (digit) over -= under;
    if ((Take(1) == 1) != digit) return digit;
  }
  return false;  // all its further digits are 0
}

/// True with probability exp(-over / under): algorithm 1.
bool DiscreteGaussian::BernoulliExp(Wide over, Wide under) {
  for (; over > under; over -= under) {
    if (!BernoulliExp(1, 1)) return false;
  }
  Wide k = 1;
  while (Bernoulli(over, under * k)) ++k;
  return k % 2 == 1;
}

/// k with probability proportional to exp(-|k| / scale): algorithm 2.
std::int64_t DiscreteGaussian::DrawLaplace() {
  const auto width = static_cast<unsigned>(std::bit_width(scale_ - 1));
  while (true) {
    const std::uint64_t low = Take(width);
    if (low >= scale_ || !BernoulliExp(low, scale_)) continue;
    std::uint64_t high = 0;
    while (BernoulliExp(1, 1)) ++high;
    const auto size = static_cast<std::int64_t>(low + scale_ * high);
    const bool negative = Take(1) == 1;
    if (negative && size == 0) continue;  // or 0 would come twice as often
    return negative ? -size : size;
  }
}

/// Algorithm 3: a Laplace draw y, taken with probability
/// exp(-(|y| - variance / scale)^2 / (2 variance)).
std::int64_t DiscreteGaussian::Draw() {
  const Wide under = 2 * Wide{variance_} * scale_ * scale_;
  while (true) {
    const std::int64_t y = DrawLaplace();
    if (std::abs(y) >= kFarthest) continue;
    const Wide reached = Wide{static_cast<std::uint64_t>(std::abs(y))} * scale_;
    const Wide off = reached > variance_ ? reached - variance_ : variance_ - reached;
    if (BernoulliExp(off * off, under)) return y;
  }
}

}  // namespace polykern
