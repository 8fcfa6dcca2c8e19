#include "polykern/privacy/noisy_releases.h"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/random.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::HasSubstr;

constexpr std::size_t kFewNumbers = 5;

NoiseTerms FewTerms(std::size_t releases = 6) {
  return {.epsilon = 4, .releases = releases, .numbers = kFewNumbers, .ring = {64, 0x1p-16}};
}

std::vector<std::int64_t> FewSums(std::uint64_t seed) {
  Random random(seed, Purpose::kTest);
  std::vector<std::int64_t> sums;
  for (std::size_t i = 0; i < kFewNumbers; ++i) {
    sums.push_back(static_cast<std::int64_t>(random.Below(1U << 24U)) - (1 << 23));
  }
  return sums;
}

TEST(NoisyReleases, WithoutNoiseEstimateAllThatCameIn) {
  NoisyReleases releases(FewTerms());
  std::vector<double> truth(kFewNumbers);
  for (std::uint64_t r = 0; r < 6; ++r) {
    const auto sums = FewSums(r);
    releases.Add(sums, std::vector<std::uint64_t>(kFewNumbers));
    Release release{.sums = sums};
    releases.Fill(release);
    EXPECT_TRUE(release.sums.empty());
    for (std::size_t i = 0; i < kFewNumbers; ++i) {
      truth[i] += static_cast<double>(sums[i]) * 0x1p-16;
      EXPECT_NEAR(release.estimate[i], truth[i], 1e-9 * (1 + std::abs(truth[i])));
    }
  }
  EXPECT_TRUE(releases.spent());
  EXPECT_LE(releases.EpsilonSpent(), 4);
  EXPECT_GT(releases.EpsilonSpent(), 3.99);
}

// What a helper does: of masks that it knows it gives away nothing but the weighted sums of all of
// them, less noise.
TEST(NoisyReleases, OfMaskedSumsAreThoseOfPlainOnes) {
  SeededBits bits(Random(3, Purpose::kTest));
  Random random(4, Purpose::kTest);
  NoisyReleases plain(FewTerms());
  NoisyReleases masked(FewTerms());
  ReleaseHistory masks(kFewNumbers);
  const ReleaseWeights weights(6);
  for (std::uint64_t r = 0; r < 6; ++r) {
    auto sums = FewSums(r);
    const auto noise = NoiseFor(plain, bits);
    plain.Add(sums, noise);
    std::vector<std::uint64_t> mask(kFewNumbers);
    for (std::uint64_t& number : mask) number = random.Bits();
    masks.Add(mask);
    std::vector<std::uint64_t> told(kFewNumbers);
    Correlate(weights, masks, told);
    for (std::size_t i = 0; i < kFewNumbers; ++i) {
      sums[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(sums[i]) + mask[i]);
      told[i] = noise[i] - told[i];
    }
    masked.Add(sums, told);
    Release one;
    Release other;
    plain.Fill(one);
    masked.Fill(other);
    EXPECT_EQ(one.estimate, other.estimate);
    EXPECT_EQ(one.deviation, other.deviation);
  }
}

TEST(NoisyReleases, AreSavedAndComeBack) {
  SeededBits bits(Random(3, Purpose::kTest));
  NoisyReleases releases(FewTerms());
  EXPECT_FALSE(releases.Save().empty()) << "who keeps nothing yet still keeps something";
  for (std::uint64_t r = 0; r < 4; ++r) {
    auto sums = FewSums(r);
    sums[0] = r % 2 == 0 ? INT64_MIN : INT64_MAX;  // as masks make them
    releases.Add(sums, NoiseFor(releases, bits));
  }
  NoisyReleases back(FewTerms());
  std::vector<double> saved = releases.Save();
  back.Load(saved);
  EXPECT_EQ(back.size(), 4U);
  EXPECT_EQ(back.Save(), saved);
  const auto next = FewSums(9);
  const std::vector<std::uint64_t> noise(kFewNumbers, 7);
  releases.Add(next, noise);
  back.Add(next, noise);
  Release one;
  Release other;
  releases.Fill(one);
  back.Fill(other);
  EXPECT_EQ(one.estimate, other.estimate);

  saved = back.Save();
  NoisyReleases fewer(FewTerms(4));
  EXPECT_THAT(MessageOf([&] { fewer.Load(saved); }), HasSubstr("other settings"));
  EXPECT_EQ(fewer.size(), 0U);
  for (const auto& wrong : {std::vector<double>{}, std::vector<double>{-1}, std::vector<double>{1},
                            std::vector<double>{NAN}}) {
    EXPECT_THAT(MessageOf([&] { back.Load(wrong); }), HasSubstr("other settings"));
  }
  EXPECT_EQ(back.Save(), saved);
}

}  // namespace
}  // namespace polykern
