#include "polykern/data/synthetic.h"

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

}  // namespace
}  // namespace polykern
