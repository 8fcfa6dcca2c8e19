// Whether a row took part, guessed from all that pof-gram releases with noise by somebody who knows
// all other rows: the attack that nothing beats.

#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "polykern/algorithms/gram/gram_grid.h"
#include "polykern/algorithms/gram/gram_sums.h"
#include "polykern/algorithms/registry.h"
#include "polykern/core/random.h"
#include "polykern/privacy/accounting.h"
#include "polykern/privacy/correlated_noise.h"
#include "polykern/privacy/discrete_gaussian.h"
#include "polykern/privacy/release_weights.h"

namespace polykern {
namespace {

/// A federation with noise, and what one of its clients sends.
class GuessedFederation {
 public:
  GuessedFederation() {
    AlgorithmOptions options;
    options.epsilon = 1;
    options.releases = 2;
    options.budget = 300;
    options.burst = 1;  // so the smallest kernel
    algorithm_ = MakeAlgorithm("pof-gram", options, {kDimension, 100, 3});
    plan_ = {.unit = algorithm_->shape().ring.unit,
             .numbers = algorithm_->shape().sums[0],
             .releases = options.releases};
  }

  const NoisePlan& plan() const { return plan_; }

  /// The integers of a message over some rows; `more`: that of one more, whose label is as far from
  /// the middle as can be.
  std::vector<std::int64_t> Sums(bool more) const {
    const KernelBank& bank = *algorithm_->definition().bank;
    const GramGrid grid = GramGrid::Noisy(bank.features());
    const QuarteredKernels kernels(bank);
    Random random(5, Purpose::kTest);
    LearntSamples rows;
    for (int row = 0; row < (more ? 41 : 40); ++row) {
      for (std::size_t j = 0; j < kDimension; ++j) {
        rows.x.push_back(static_cast<float>(random.Uniform()));
      }
      rows.y.push_back(row == 40 ? 1 : random.Uniform());
    }
    std::vector<std::uint64_t> integers;
    GramSums(grid, kernels).Append(0, rows, std::vector<double>{1}, integers);
    return {integers.begin(), integers.end()};
  }

 private:
  static constexpr std::size_t kDimension = 5;
  std::unique_ptr<Algorithm> algorithm_;
  NoisePlan plan_;
};

/// The share of trials in which the likelihood ratio is right. The row is in the first release, and
/// by the weights in all later ones.
double GuessedThroughFeatures(const GuessedFederation& gram, std::uint64_t sigma, int trials) {
  const std::vector<std::int64_t> without = gram.Sums(false);
  const std::vector<std::int64_t> with = gram.Sums(true);
  const ReleaseWeights weights(gram.plan().releases);
  Random random(8, Purpose::kTest);
  SeededBits bits(Random(9, Purpose::kTest));
  DiscreteGaussian gaussian(std::max<std::uint64_t>(sigma * sigma, 1), bits);
  std::vector<std::uint64_t> noise(without.size());
  int right = 0;
  for (int trial = 0; trial < trials; ++trial) {
    const bool there = random.Below(2) == 1;
    const std::vector<std::int64_t>& sent = there ? with : without;
    double ratio = 0;  // of what is released, less what the others give
    for (std::size_t t = 0; t < gram.plan().releases; ++t) {
      const auto weight = static_cast<double>(weights.weights()[t]);
      if (sigma > 0) DrawNoise(gaussian, noise);
      for (std::size_t i = 0; i < noise.size(); ++i) {
        const double mark = weight * static_cast<double>(with[i] - without[i]);
        const double off = weight * static_cast<double>(sent[i] - without[i]) +
                           static_cast<double>(static_cast<std::int64_t>(noise[i]));
        ratio += 2 * off * mark - mark * mark;
      }
    }
    right += (ratio > 0) == there ? 1 : 0;
  }
  return static_cast<double>(right) / trials;
}

double ShareOf(double rho) {
  return std::erfc(-std::sqrt(rho / 2) / std::sqrt(2)) / 2;
}

/// Of `trials` the share has a standard deviation of 0.5 / sqrt(trials): three of them, and the
/// little that a row is shorter than the plan allows for, which makes it harder to guess.
void CheckGuesses(int trials) {
  const GuessedFederation gram;
  const double tolerance = 1.5 / std::sqrt(trials) + 0.0005;
  const std::uint64_t sigma = LeastSigma(gram.plan(), 1, 1e-6);
  const double rho = RhoSpent(gram.plan(), sigma, gram.plan().releases);
  EXPECT_NEAR(ShareOf(rho), 0.544, 0.0005);
  EXPECT_NEAR(GuessedThroughFeatures(gram, sigma, trials), ShareOf(rho), tolerance);
  const double halved = GuessedThroughFeatures(gram, sigma / 2, trials);
  EXPECT_NEAR(ShareOf(4 * rho), 0.587, 0.001);
  EXPECT_NEAR(halved, ShareOf(4 * rho), tolerance);
  EXPECT_GT(halved, ShareOf(rho) + tolerance) << "the test must notice half of the noise";
  EXPECT_GT(GuessedThroughFeatures(gram, 0, 500), 0.99);
}

TEST(MembershipThroughFeatures, IsGuessedAsOftenAsEpsilonSays) {
  CheckGuesses(5000);
}

TEST(LongMembershipThroughFeatures, IsGuessedAsOftenAsEpsilonSaysInTwentyThousandTrials) {
  CheckGuesses(20'000);
}

TEST(MembershipThroughFeatures, IsOfARowNoLongerThanThePlanAllowsFor) {
  const GuessedFederation gram;
  const std::vector<std::int64_t> without = gram.Sums(false);
  const std::vector<std::int64_t> with = gram.Sums(true);
  double square = 0;
  for (std::size_t i = 0; i < with.size(); ++i) {
    const auto change = static_cast<double>(with[i] - without[i]);
    square += change * change;
  }
  EXPECT_LE(std::sqrt(square), EventLength(gram.plan()));
  EXPECT_GT(std::sqrt(square), 0.99 * EventLength(gram.plan()));
}

}  // namespace
}  // namespace polykern
