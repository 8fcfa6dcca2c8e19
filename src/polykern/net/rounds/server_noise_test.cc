#include "polykern/net/rounds/server_noise.h"

#include <cmath>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace polykern {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

NoiseTerms ThreeReleases() {
  return {.epsilon = 1, .releases = 3, .numbers = 500, .ring = {64, 0x1p-16}};
}

Release SumsOfZeros() {
  return {.sums = std::vector<std::int64_t>(500)};
}

TEST(ServerNoise, IsAddedUntilItIsSpent) {
  ServerNoise noise(ThreeReleases());
  EXPECT_FALSE(noise.masked());
  double spent = 0;
  for (std::size_t r = 1; r <= 3; ++r) {
    Release release = SumsOfZeros();
    EXPECT_THAT(noise.Open(release, {}), IsEmpty());
    EXPECT_THAT(release.refusal, IsEmpty());
    EXPECT_THAT(release.sums, IsEmpty());
    double squares = 0;
    for (const double number : release.estimate) squares += number * number / 500;
    // The mean of 500 squares is off by 1 +- sqrt(2 / 500) of one deviation: eight of them.
    EXPECT_NEAR(squares / (release.deviation * release.deviation), 1, 8 * std::sqrt(2.0 / 500));
    const auto status = noise.status().noise;
    ASSERT_TRUE(status);
    EXPECT_EQ(status->releases, r);
    EXPECT_EQ(status->releases_left, 3 - r);
    EXPECT_GT(status->spent, spent);
    spent = status->spent;
  }
  EXPECT_LE(spent, 1);
  EXPECT_GT(spent, 0.999);
  Release more = SumsOfZeros();
  EXPECT_THAT(noise.Open(more, {}), IsEmpty());
  EXPECT_THAT(more.refusal, HasSubstr("all 3 releases are spent"));
  EXPECT_THAT(more.sums, IsEmpty());
  EXPECT_EQ(noise.status().noise->spent, spent);
}

TEST(ServerNoise, IsNeverTheSameTwice) {
  std::set<std::vector<double>> seen;
  for (int i = 0; i < 5; ++i) {
    ServerNoise noise(ThreeReleases());
    Release release = SumsOfZeros();
    noise.Open(release, {});
    EXPECT_TRUE(seen.insert(release.estimate).second);
  }
}

TEST(ServerNoise, ResumesWhereItWas) {
  ServerNoise noise(ThreeReleases());
  Release release = SumsOfZeros();
  noise.Open(release, {});
  ServerNoise again(ThreeReleases());
  again.Load(noise.Save());
  EXPECT_EQ(again.Save(), noise.Save());
  EXPECT_EQ(again.status().noise->spent, noise.status().noise->spent);
}

}  // namespace
}  // namespace polykern
