#include "polykern/data/synthetic.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>

#include "polykern/core/error.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

SampleBlock ReadAll(const SyntheticFleet& fleet, std::size_t step) {
  SampleBlock block;
  fleet.Read(step, 0, fleet.clients(), block);
  return block;
}

TEST(SyntheticFleet, IsTheSameForTheSameSeed) {
  const SyntheticFleet one({.seed = 7});
  const SyntheticFleet two({.seed = 7});
  const SyntheticFleet three({.seed = 8});
  EXPECT_EQ(ReadAll(one, 3).x, ReadAll(two, 3).x);
  EXPECT_EQ(ReadAll(one, 3).y, ReadAll(two, 3).y);
  EXPECT_NE(ReadAll(one, 3).x, ReadAll(three, 3).x);
  EXPECT_NE(ReadAll(one, 3).x, ReadAll(one, 4).x);
}

TEST(SyntheticFleet, DoesNotDependOnHowClientsAreRead) {
  const SyntheticFleet fleet({.clients = 13, .drift = 1});
  const SampleBlock all = ReadAll(fleet, 5);
  SampleBlock single;
  for (std::size_t client = 0; client < 13; ++client) {
    fleet.Read(5, client, 1, single);
    EXPECT_EQ(single.y[0], all.y[client]);
    for (std::size_t j = 0; j < 8; ++j) EXPECT_EQ(single.x[j], all.x[client * 8 + j]);
  }
}

TEST(SyntheticFleet, KeepsInputsInTheUnitBallAndLabelsInTheUnitInterval) {
  for (const std::size_t dimension : {2U, 8U, 50U}) {
    const SyntheticFleet fleet({.clients = 200, .steps = 50, .dimension = dimension, .noise = 0.3});
    for (std::size_t step = 0; step < fleet.steps(); ++step) {
      const SampleBlock block = ReadAll(fleet, step);
      for (std::size_t i = 0; i < fleet.clients(); ++i) {
        double square = 0;
        for (std::size_t j = 0; j < dimension; ++j) {
          const auto value = static_cast<double>(block.x[i * dimension + j]);
          square += value * value;
        }
        ASSERT_LE(square, 1);
        ASSERT_GE(block.y[i], 0);
        ASSERT_LE(block.y[i], 1);
        ASSERT_EQ(block.present[i], 1);
      }
    }
  }
}

/// The mean length of the gradient of a site's law over the disk.
double Roughness(const SyntheticFleet& fleet, std::size_t site) {
  constexpr double kStep = 1e-4;
  double sum = 0;
  int count = 0;
  for (int i = -9; i < 10; ++i) {
    for (int j = -9; j < 10; ++j) {
      const double u = 0.1 * i;
      const double v = 0.1 * j;
      if (u * u + v * v > 1) continue;
      const double here = fleet.Law(site, u, v, 0);
      sum += std::hypot(fleet.Law(site, u + kStep, v, 0) - here,
                        fleet.Law(site, u, v + kStep, 0) - here) /
             kStep;
      ++count;
    }
  }
  return sum / count;
}

TEST(SyntheticFleet, HasSitesFromSmoothToRough) {
  for (const std::uint64_t seed : {0U, 1U, 2U}) {
    const SyntheticFleet fleet({.seed = seed});
    EXPECT_GT(Roughness(fleet, 2), 1.5 * Roughness(fleet, 1));
    EXPECT_GT(Roughness(fleet, 3), 1.5 * Roughness(fleet, 2));
    EXPECT_GT(Roughness(fleet, 3), 1.5 * Roughness(fleet, 0));
  }
}

TEST(SyntheticFleet, UsesTheLabelRangeWithoutClippingItMuch) {
  const SyntheticFleet fleet({.clients = 400});
  double sum = 0;
  double square = 0;
  int clipped = 0;
  const SampleBlock block = ReadAll(fleet, 0);
  for (const double y : block.y) {
    sum += y;
    square += y * y;
    clipped += y == 0 || y == 1 ? 1 : 0;
  }
  const double mean = sum / 400;
  EXPECT_NEAR(mean, 0.5, 0.2);
  EXPECT_GT(std::sqrt(square / 400 - mean * mean), 0.1);
  EXPECT_LT(clipped, 40);
}

TEST(SyntheticFleet, SpreadsClientsEvenlyOverSites) {
  const SyntheticFleet fleet({.clients = 8, .sites = 4});
  std::vector<std::size_t> sites;
  for (std::size_t client = 0; client < 8; ++client) sites.push_back(fleet.SiteOf(client));
  EXPECT_THAT(sites, ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
  EXPECT_THAT(fleet.site_names(), ElementsAre("site 1 (saturating)", "site 2 (gentle)",
                                              "site 3 (rippled)", "site 4 (rough)"));
}

TEST(SyntheticFleet, DrawsMostSamplesAtTheOwnSite) {
  constexpr std::size_t kDimension = 20;
  constexpr std::size_t kSteps = 2000;
  const SyntheticFleet fleet({.clients = 2, .steps = kSteps, .sites = 2, .dimension = kDimension});
  // The plane halfway between the clients' mean inputs divides the two sites' regions.
  std::vector<double> normal(kDimension, 0);
  std::vector<double> middle(kDimension, 0);
  for (std::size_t step = 0; step < kSteps; ++step) {
    const SampleBlock block = ReadAll(fleet, step);
    for (std::size_t j = 0; j < kDimension; ++j) {
      const auto first = static_cast<double>(block.x[j]);
      const auto second = static_cast<double>(block.x[kDimension + j]);
      normal[j] += (first - second) / kSteps;
      middle[j] += (first + second) / (2 * kSteps);
    }
  }
  int own = 0;
  for (std::size_t step = 0; step < kSteps; ++step) {
    const SampleBlock block = ReadAll(fleet, step);
    double side = 0;
    for (std::size_t j = 0; j < kDimension; ++j) {
      side += (static_cast<double>(block.x[j]) - middle[j]) * normal[j];
    }
    own += side > 0 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(own) / kSteps, 0.85, 0.03);
}

TEST(SyntheticFleet, TurnsTheLawSmoothlyWithDrift) {
  const SyntheticFleet still({.steps = 101});
  const SyntheticFleet turning({.steps = 101, .drift = 2});
  for (std::size_t site = 0; site < 4; ++site) {
    EXPECT_EQ(still.Law(site, 0.6, 0.2, 0), still.Law(site, 0.6, 0.2, 100));
    EXPECT_NEAR(turning.Law(site, 0.6, 0.2, 0), still.Law(site, 0.6, 0.2, 0), 1e-14);
    const double u = std::cos(2.0) * 0.6 - std::sin(2.0) * 0.2;
    const double v = std::sin(2.0) * 0.6 + std::cos(2.0) * 0.2;
    EXPECT_NEAR(turning.Law(site, 0.6, 0.2, 100), still.Law(site, u, v, 0), 1e-12);
    EXPECT_NEAR(turning.Law(site, 0.6, 0.2, 50), turning.Law(site, 0.6, 0.2, 51), 0.06);
  }
}

TEST(SyntheticFleet, KeepsItsBits) {
  // Golden numbers: the same seed must give the same fleet on every machine, for ever.
  const SampleBlock block = ReadAll(SyntheticFleet({.clients = 4}), 9);
  EXPECT_EQ(block.y[0], 0x1.1eacc40e543d3p-1);
  EXPECT_EQ(block.y[3], 0x1.205ccf187fecep-1);
  EXPECT_EQ(block.x[0], -0x1.267d1ap-3F);
}

TEST(SyntheticFleet, AllowsMoreSitesThanClients) {
  const SyntheticFleet fleet({.clients = 1, .sites = 4});
  EXPECT_EQ(fleet.SiteOf(0), 0U);
  EXPECT_EQ(ReadAll(fleet, 0).y.size(), 1U);
}

TEST(SyntheticFleet, NamesTheOptionThatMakesNoSense) {
  const auto complaint = [](const FleetOptions& options) {
    return MessageOf([&] { SyntheticFleet fleet(options); });
  };
  EXPECT_THAT(complaint({.clients = 0}), HasSubstr("raise clients"));
  EXPECT_THAT(complaint({.steps = 0}), HasSubstr("raise steps"));
  EXPECT_THAT(complaint({.sites = 0}), HasSubstr("raise the number of sites"));
  EXPECT_THAT(complaint({.dimension = 1}), HasSubstr("raise the dimension"));
  EXPECT_THAT(complaint({.noise = -1}), HasSubstr("correct noise"));
  EXPECT_THAT(complaint({.drift = NAN}), HasSubstr("correct drift"));
}

TEST(SyntheticFleet, HasTheSameFirstStepsHoweverManyFollow) {
  const SyntheticFleet shorter({.clients = 6, .steps = 3, .seed = 4});
  const SyntheticFleet longer({.clients = 6, .steps = 300, .seed = 4});
  for (std::size_t step = 0; step < 3; ++step) {
    EXPECT_EQ(ReadAll(shorter, step).x, ReadAll(longer, step).x);
    EXPECT_EQ(ReadAll(shorter, step).y, ReadAll(longer, step).y);
  }
}

TEST(SyntheticFleet, ChangesTheLabelsAloneWithNoiseAndDrift) {
  const SyntheticFleet plain({.noise = 0});
  const SyntheticFleet noisy({.noise = 0.2});
  const SyntheticFleet turning({.noise = 0, .drift = 1});
  EXPECT_EQ(ReadAll(plain, 400).x, ReadAll(noisy, 400).x);
  EXPECT_EQ(ReadAll(plain, 400).x, ReadAll(turning, 400).x);
  EXPECT_NE(ReadAll(plain, 400).y, ReadAll(noisy, 400).y);
  EXPECT_NE(ReadAll(plain, 400).y, ReadAll(turning, 400).y);
}

TEST(SyntheticFleet, AddsNoiseOfTheSizeThatIsAskedFor) {
  // Labels of the gentle site lie in 0.35 .. 0.95; noise of 0.01 clips hardly any of them.
  const SyntheticFleet plain({.clients = 4000, .sites = 1, .noise = 0});
  const SyntheticFleet noisy({.clients = 4000, .sites = 1, .noise = 0.01});
  const SampleBlock without = ReadAll(plain, 0);
  const SampleBlock with = ReadAll(noisy, 0);
  double squares = 0;
  double sum = 0;
  for (std::size_t i = 0; i < 4000; ++i) {
    const double noise = with.y[i] - without.y[i];
    sum += noise;
    squares += noise * noise;
  }
  // Deviations over 4000 draws: 0.01 / sqrt(4000) of the mean, 0.01 / sqrt(8000) of the root.
  EXPECT_NEAR(sum / 4000, 0, 5 * 1.6e-4);
  EXPECT_NEAR(std::sqrt(squares / 4000), 0.01, 5 * 1.2e-4);
}

TEST(SyntheticFleet, PutsTheLabelOfALatentPointBesideItsInputs) {
  // Without noise a label is the law at the latent point, which lies between the extremes of the
  // law over the disk, found on a fine grid.
  const SyntheticFleet fleet({.clients = 500, .sites = 1, .noise = 0});
  double low = 1;
  double high = 0;
  for (int i = -100; i <= 100; ++i) {
    for (int j = -100; j <= 100; ++j) {
      if (i * i + j * j > 100 * 100) continue;
      const double y = fleet.Law(0, 0.01 * i, 0.01 * j, 0);
      low = std::min(low, y);
      high = std::max(high, y);
    }
  }
  const SampleBlock block = ReadAll(fleet, 0);
  const auto [least, most] = std::ranges::minmax_element(block.y);
  EXPECT_GT(*least, low - 0.01);
  EXPECT_LT(*most, high + 0.01);
  EXPECT_LT(*least, low + 0.1 * (high - low));
  EXPECT_GT(*most, high - 0.1 * (high - low));
}

TEST(SyntheticFleet, TurnsByTheWholeDriftFromTheFirstToTheLastStep) {
  const double quarter = std::acos(-1.0) / 2;
  const SyntheticFleet fleet({.steps = 2, .drift = quarter});
  const SyntheticFleet back({.steps = 2, .drift = -quarter});
  const SyntheticFleet once({.steps = 1, .drift = quarter});
  for (std::size_t site = 0; site < 4; ++site) {
    EXPECT_NEAR(fleet.Law(site, 0.3, 0.4, 1), fleet.Law(site, -0.4, 0.3, 0), 1e-14);
    EXPECT_NEAR(back.Law(site, 0.3, 0.4, 1), fleet.Law(site, 0.4, -0.3, 0), 1e-14);
    EXPECT_NEAR(once.Law(site, 0.3, 0.4, 0), fleet.Law(site, 0.3, 0.4, 0), 1e-14);
  }
}

TEST(SyntheticFleet, RepeatsItsFourKindsOfSites) {
  const SyntheticFleet fleet({.clients = 3, .sites = 6});
  EXPECT_EQ(fleet.site_names()[4], "site 5 (saturating)");
  EXPECT_EQ(fleet.site_names()[5], "site 6 (gentle)");
  EXPECT_NE(fleet.Law(0, 0.5, 0.5, 0), fleet.Law(4, 0.5, 0.5, 0));  // with another law
  EXPECT_EQ(fleet.SiteOf(1), 2U);
  EXPECT_EQ(fleet.SiteOf(2), 4U);
}

TEST(SyntheticFleet, RefusesWhatLiesBeyondItsLimits) {
  const auto complaint = [](const FleetOptions& options) {
    return MessageOf([&] { SyntheticFleet fleet(options); });
  };
  EXPECT_NO_THROW(SyntheticFleet({.noise = 0, .drift = -1e6}));
  EXPECT_EQ(complaint({.drift = 1.000001e6}),
            "the synthetic fleet needs a drift of at most a million radians; correct drift");
  for (const double noise : {-1e-300, static_cast<double>(INFINITY), static_cast<double>(NAN)}) {
    EXPECT_EQ(complaint({.noise = noise}),
              "the synthetic fleet needs a finite noise of 0 or more; correct noise");
  }
}

}  // namespace
}  // namespace polykern
