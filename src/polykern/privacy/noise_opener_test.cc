#include "polykern/privacy/noise_opener.h"

#include <cmath>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/registry.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::unique_ptr<Algorithm> NoisyGram(double epsilon, std::size_t releases = 64) {
  AlgorithmOptions options;
  options.epsilon = epsilon;
  options.releases = releases;
  return MakeAlgorithm("pof-gram", options, {3, 100, 5});
}

/// Sums that a server could have closed, of either sign.
Release ClosedSum(std::uint64_t number, std::size_t numbers) {
  Random random(number, Purpose::kTest);
  Release release{.number = number};
  for (std::size_t i = 0; i < numbers; ++i) {
    release.sums.push_back(static_cast<std::int64_t>(random.Below(1U << 20U)) - (1 << 19));
  }
  return release;
}

class NoiseIsAdded : public testing::Test {
 protected:
  Release Next(NoiseOpener& opener, std::uint64_t number) const {
    Release release = ClosedSum(number, numbers_);
    opener.Open(release);
    return release;
  }

  std::unique_ptr<Algorithm> algorithm_ = NoisyGram(1);
  std::size_t numbers_ = algorithm_->shape().sums[0];
  double unit_ = algorithm_->shape().ring.unit;
};

TEST_F(NoiseIsAdded, AsMuchAsIsSaid) {
  // The mean square of n errors is that of their deviation but for a factor of 1 +- sqrt(2 / n) of
  // one deviation; the mean is 0 +- deviation / sqrt(n). Six of either.
  constexpr std::size_t kSeeds = 20;
  constexpr std::size_t kReleases = 12;
  std::vector<double> means(kReleases);
  std::vector<double> squares(kReleases);
  const auto n = static_cast<double>(kSeeds * numbers_);
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    NoiseOpener opener(*algorithm_, 1, seed);
    std::vector<double> truth(numbers_);
    for (std::size_t r = 0; r < kReleases; ++r) {
      const Release closed = ClosedSum(r, numbers_);
      const Release open = Next(opener, r);
      ASSERT_THAT(open.sums, IsEmpty());
      ASSERT_EQ(open.estimate.size(), numbers_);
      for (std::size_t i = 0; i < numbers_; ++i) {
        truth[i] += static_cast<double>(closed.sums[i]) * unit_;
        const double error = (open.estimate[i] - truth[i]) / open.deviation;
        means[r] += error / n;
        squares[r] += error * error / n;
      }
    }
  }
  for (std::size_t r = 0; r < kReleases; ++r) {
    SCOPED_TRACE(r);
    EXPECT_NEAR(means[r], 0, 6 / std::sqrt(n));
    EXPECT_NEAR(squares[r], 1, 6 * std::sqrt(2 / n));
  }
}

TEST_F(NoiseIsAdded, FromTheSeedAlone) {
  NoiseOpener one(*algorithm_, 1, 7);
  NoiseOpener same(*algorithm_, 1, 7);
  NoiseOpener other(*algorithm_, 1, 8);
  for (std::uint64_t r = 0; r < 3; ++r) {
    const std::vector<double> estimate = Next(one, r).estimate;
    EXPECT_EQ(Next(same, r).estimate, estimate);
    EXPECT_NE(Next(other, r).estimate, estimate);
  }
}

TEST_F(NoiseIsAdded, MoreForSmallerEpsilonAndForRowsInSeveralSamples) {
  NoiseOpener one(*algorithm_, 1, 7);
  const double deviation = Next(one, 0).deviation;
  NoiseOpener lagged(*algorithm_, 3, 7);
  EXPECT_NEAR(Next(lagged, 0).deviation, 3 * deviation, 1e-6 * deviation);
  NoiseOpener large(*NoisyGram(8), 1, 7);
  // sqrt(rho) at 8 and at 1: 1.0524 and 0.02436.
  EXPECT_NEAR(Next(large, 0).deviation, deviation * std::sqrt(0.02436 / 1.0524), 1e-2 * deviation);
}

TEST(NoiseOpener, SpendsEpsilonReleaseByReleaseAndRefusesOneMore) {
  const auto algorithm = NoisyGram(2, 3);
  NoiseOpener opener(*algorithm, 1, 7);
  EXPECT_EQ(opener.EpsilonSpent(), 0);
  double before = 0;
  for (std::uint64_t r = 0; r < 3; ++r) {
    Release release = ClosedSum(r, algorithm->shape().sums[0]);
    opener.Open(release);
    EXPECT_THAT(release.refusal, IsEmpty());
    EXPECT_GT(opener.EpsilonSpent(), before);
    before = opener.EpsilonSpent();
  }
  EXPECT_LE(before, 2);
  EXPECT_GT(before, 1.999);
  Release more = ClosedSum(3, algorithm->shape().sums[0]);
  opener.Open(more);
  EXPECT_THAT(more.refusal, HasSubstr("all 3 releases are spent"));
  EXPECT_THAT(more.sums, IsEmpty());
  EXPECT_THAT(more.estimate, IsEmpty());
  EXPECT_EQ(opener.EpsilonSpent(), before);
}

TEST_F(NoiseIsAdded, NotToWhatMayNotBeSeen) {
  NoiseOpener opener(*algorithm_, 1, 7);
  Release refused = ClosedSum(0, numbers_);
  refused.refusal = "too few clients";
  opener.Open(refused);
  EXPECT_THAT(refused.sums, IsEmpty());
  EXPECT_THAT(refused.estimate, IsEmpty());
  EXPECT_EQ(opener.EpsilonSpent(), 0);
}

TEST_F(NoiseIsAdded, WithTheSameBitsAfterAPause) {
  NoiseOpener whole(*algorithm_, 1, 7);
  for (std::uint64_t r = 0; r < 4; ++r) Next(whole, r);
  NoiseOpener second(*algorithm_, 1, 7);
  Next(second, 99);  // is forgotten
  std::vector<double> saved = whole.Save();
  second.Load(saved);
  EXPECT_EQ(second.EpsilonSpent(), whole.EpsilonSpent());
  EXPECT_EQ(Next(second, 4).estimate, Next(whole, 4).estimate);
  saved.pop_back();
  EXPECT_THAT(MessageOf([&] { second.Load(saved); }), HasSubstr("other settings"));
  EXPECT_EQ(second.Save(), whole.Save());
}

}  // namespace
}  // namespace polykern
