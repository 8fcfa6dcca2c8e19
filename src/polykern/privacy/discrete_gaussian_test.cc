#include "polykern/privacy/discrete_gaussian.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "polykern/core/random.h"

namespace polykern {
namespace {

/// With which probability a draw is at most b: the definition, summed up; above a thousand standard
/// deviations' worth of integers the normal law, which differs by less than 1 / (24 variance).
class Exact {
 public:
  explicit Exact(std::uint64_t variance) : sigma_(std::sqrt(static_cast<double>(variance))) {
    if (sigma_ > 1000) return;
    last_ = static_cast<std::int64_t>(12 * sigma_) + 12;
    double sum = 0;
    for (std::int64_t k = -last_; k <= last_; ++k) {
      const auto x = static_cast<double>(k);
      below_.push_back(sum += std::exp(-x * x / (2 * static_cast<double>(variance))));
    }
    for (double& below : below_) below /= sum;
  }
  double AtMost(std::int64_t b) const {
    if (below_.empty()) {
      return std::erfc(-(static_cast<double>(b) + 0.5) / sigma_ / std::sqrt(2)) / 2;
    }
    if (b < -last_) return 0;
    return below_[static_cast<std::size_t>(std::min(b, last_) + last_)];
  }

 private:
  double sigma_;
  std::int64_t last_ = 0;
  std::vector<double> below_;
};

/// What n draws are like: how many are in each cell of width sigma / 8 (at least 1) up to 8 sigma,
/// the first and the last with all beyond them; and their sums.
struct Tally {
  Tally(std::uint64_t v, BitSource& bits, std::size_t n)
      : variance(v), sigma(static_cast<std::int64_t>(std::sqrt(static_cast<double>(v)))) {
    DiscreteGaussian gaussian(variance, bits);
    const std::int64_t last = (first * -2) / width;
    counts.resize(static_cast<std::size_t>(last) + 1);
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t draw = gaussian.Draw();
      const std::int64_t cell = draw < first ? 0 : (draw - first) / width;
      counts[static_cast<std::size_t>(cell < last ? cell : last)] += 1;
      const auto x = static_cast<double>(draw);
      sum += x;
      squares += x * x;
    }
    all = static_cast<double>(n);
  }
  /// The last integer of a cell.
  std::int64_t EndOf(std::size_t cell) const {
    return first + static_cast<std::int64_t>(cell + 1) * width - 1;
  }

  std::uint64_t variance;
  std::int64_t sigma;
  std::int64_t width = std::max<std::int64_t>(1, sigma / 8);
  std::int64_t first = -8 * sigma - 8;
  std::vector<double> counts;
  double all = 0;
  double sum = 0;
  double squares = 0;
};

/// Chi-square against the exact law, in bins of whole cells in which at least 20 draws are
/// expected: at most five of its standard deviations, sqrt(2 (bins - 1)), from its mean.
void ExpectExact(const Tally& tally) {
  const Exact exact(tally.variance);
  double chi_square = 0;
  int bins = 0;
  double before = 0;  // the probability of all bins so far
  double count = 0;
  for (std::size_t cell = 0; cell < tally.counts.size(); ++cell) {
    count += tally.counts[cell];
    double below = exact.AtMost(tally.EndOf(cell));
    if (cell + 1 == tally.counts.size()) below = 1;
    const bool few_left = tally.all * (1 - below) < 20 && below < 1;
    if (tally.all * (below - before) < 20 || few_left) continue;  // the last bin takes the rest
    const double expected = tally.all * (below - before);
    chi_square += (count - expected) * (count - expected) / expected;
    ++bins;
    before = below;
    count = 0;
  }
  EXPECT_EQ(before, 1);
  EXPECT_GE(bins, 7) << tally.variance;
  EXPECT_NEAR(chi_square, bins - 1, 5 * std::sqrt(2.0 * (bins - 1)))
      << tally.variance << ": " << bins << " bins";
}

/// Mean and variance: of n draws the mean has a standard deviation of sigma / sqrt(n), the mean
/// square one of variance sqrt(2 / n), of which five are allowed. That the discrete law has less
/// variance than its name says, by 4 pi^2 variance^2 exp(-2 pi^2 variance) or so, cannot be seen.
void ExpectMoments(const Tally& tally, double deviations = 5) {
  const auto variance = static_cast<double>(tally.variance);
  EXPECT_NEAR(tally.sum / tally.all, 0, deviations * std::sqrt(variance / tally.all));
  EXPECT_NEAR(tally.squares / tally.all, variance,
              deviations * variance * std::sqrt(2 / tally.all));
}

// The smallest, one whose root is no integer, the largest, and some between.
constexpr std::uint64_t kVariances[] = {
    1, 2, 37, 100, 12'345, 1'000'000, 9'876'543'210, DiscreteGaussian::kMostVariance};

TEST(DiscreteGaussian, HasItsExactLaw) {
  for (const std::uint64_t variance : kVariances) {
    SeededBits bits(Random(1, Purpose::kTest, variance));
    const Tally tally(variance, bits, 100'000);
    ExpectExact(tally);
    ExpectMoments(tally);
  }
}

TEST(LongDiscreteGaussian, HasItsExactLawInTenMillionDraws) {
  for (const std::uint64_t variance : kVariances) {
    SeededBits bits(Random(2, Purpose::kTest, variance));
    const Tally tally(variance, bits, 10'000'000);
    ExpectExact(tally);
    ExpectMoments(tally);
  }
}

TEST(DiscreteGaussian, OfTheSystemsBitsHasItsMeanAndVariance) {
  for (const std::uint64_t variance : {std::uint64_t{3}, std::uint64_t{1} << 40U}) {
    SystemBits bits;
    // Other draws in every run: it fails once in 10^9 of them.
    ExpectMoments(Tally(variance, bits, 20'000), 6.5);
  }
}

// What gave floating-point noise away elsewhere: its low digits. The remainder of a law so wide is
// uniform to exp(-2 pi^2 variance / 256^2); chi-square as everywhere.
TEST(DiscreteGaussian, HasEvenLowDigits) {
  SeededBits bits(Random(3, Purpose::kTest));
  std::vector<double> counts(256);
  constexpr int kDraws = 200'000;
  DiscreteGaussian gaussian(std::uint64_t{1} << 40U, bits);
  for (int i = 0; i < kDraws; ++i) counts[static_cast<std::uint64_t>(gaussian.Draw()) % 256] += 1;
  double chi_square = 0;
  for (const double count : counts) {
    chi_square += (count - kDraws / 256.0) * (count - kDraws / 256.0) / (kDraws / 256.0);
  }
  EXPECT_NEAR(chi_square, 255, 5 * std::sqrt(2 * 255.0));
}

TEST(DiscreteGaussian, IsTheSameForTheSameSeedAlone) {
  const auto drawn = [](std::uint64_t seed, std::uint64_t kind) {
    SeededBits bits(Random(seed, Purpose::kTest, kind));
    DiscreteGaussian gaussian(1'000'000, bits);
    std::vector<std::int64_t> draws(100);
    for (std::int64_t& draw : draws) draw = gaussian.Draw();
    return draws;
  };
  EXPECT_EQ(drawn(1, 1), drawn(1, 1));
  EXPECT_NE(drawn(1, 1), drawn(2, 1));
  EXPECT_NE(drawn(1, 1), drawn(1, 2));
}

/// The slow twin: the paper's three algorithms with the same bits, its uniform numbers as intervals
/// that are halved until they are on one side of the probability.
class SlowGaussian {
 public:
  SlowGaussian(std::uint64_t variance, BitSource& bits) : variance_(variance), bits_(bits) {
    while (scale_ * scale_ <= variance_) ++scale_;
  }
  std::int64_t Draw() {
    while (true) {
      const std::int64_t y = Laplace();
      const auto off =
          std::abs(y) * static_cast<std::int64_t>(scale_) - static_cast<std::int64_t>(variance_);
      const auto square = static_cast<std::uint64_t>(off * off);
      if (Exp(square, 2 * variance_ * scale_ * scale_)) return y;
    }
  }

 private:
  __extension__ using Wide = unsigned __int128;

  std::uint64_t Take(unsigned count) {
    if (unused_.size() < count) {
      unused_.clear();
      for (std::uint64_t word = bits_.Bits(), i = 0; i < 64; ++i, word /= 2) {
        unused_.push_back(word % 2);
      }
    }
    std::uint64_t taken = 0;
    for (unsigned i = 0; i < count; ++i) {
      taken += unused_.front() << i;
      unused_.erase(unused_.begin());
    }
    return taken;
  }
  bool Bernoulli(Wide over, Wide under) {
    Wide low = 0;  // the uniform number is in [low, low + 1) / parts
    Wide parts = 1;
    while (true) {
      if ((low + 1) * under <= over * parts) return true;
      if (low * under >= over * parts) return false;
      low = 2 * low + Take(1);
      parts *= 2;
    }
  }
  bool Exp(std::uint64_t over, std::uint64_t under) {
    for (std::uint64_t whole = over > 0 ? (over - 1) / under : 0; whole > 0; --whole) {
      if (!Exp(1, 1)) return false;
      over -= under;
    }
    int k = 1;
    while (Bernoulli(over, Wide{under} * static_cast<unsigned>(k))) ++k;
    return k % 2 == 1;
  }
  std::int64_t Laplace() {
    unsigned width = 0;
    while ((std::uint64_t{1} << width) < scale_) ++width;
    while (true) {
      const std::uint64_t low = Take(width);
      if (low >= scale_ || !Exp(low, scale_)) continue;
      auto size = static_cast<std::int64_t>(low);
      while (Exp(1, 1)) size += static_cast<std::int64_t>(scale_);
      const bool negative = Take(1) == 1;
      if (!negative || size > 0) return negative ? -size : size;
    }
  }

  std::uint64_t variance_;
  std::uint64_t scale_ = 1;
  BitSource& bits_;
  std::vector<std::uint64_t> unused_;
};

TEST(DiscreteGaussian, IsItsSlowTwinDrawByDraw) {
  for (const std::uint64_t variance : {1U, 2U, 3U, 4U, 10U, 100U, 5000U}) {
    SeededBits bits(Random(4, Purpose::kTest, variance));
    SeededBits same(Random(4, Purpose::kTest, variance));
    DiscreteGaussian fast(variance, bits);
    SlowGaussian slow(variance, same);
    for (int i = 0; i < 1500; ++i) ASSERT_EQ(fast.Draw(), slow.Draw()) << variance << ' ' << i;
  }
}

class NoBits final : public BitSource {
 public:
  std::uint64_t Bits() override { throw std::out_of_range("no bits"); }
};

TEST(DiscreteGaussian, PassesOnThatThereAreNoBits) {
  NoBits none;
  DiscreteGaussian gaussian(100, none);
  EXPECT_THROW(gaussian.Draw(), std::out_of_range);
}

TEST(SystemBits, AreNewEachTime) {
  SystemBits a;
  SystemBits b;
  std::vector<std::uint64_t> words;
  for (int i = 0; i < 1000; ++i) {
    words.push_back(a.Bits());
    words.push_back(b.Bits());
  }
  std::ranges::sort(words);
  // Two of 2000 words are alike with a probability of 1e-13.
  EXPECT_EQ(std::ranges::adjacent_find(words), words.end());
  double ones = 0;
  for (const std::uint64_t word : words) ones += std::popcount(word);
  // 128,000 bits: standard deviation sqrt(128000) / 2 = 179; six of them.
  EXPECT_NEAR(ones, 64'000, 6 * 179);
}

}  // namespace
}  // namespace polykern
