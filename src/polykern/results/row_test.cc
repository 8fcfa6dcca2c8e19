#include "polykern/results/row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/data/synthetic.h"

namespace polykern {
namespace {

using testing::ElementsAre;

TEST(WeightPlan, TakesEveryoneOfAFewAndSpreadsOverMany) {
  const SyntheticFleet few({.clients = 3, .steps = 2});
  const WeightPlan all(few);
  EXPECT_EQ(all.clients.size(), 3U);
  EXPECT_EQ(all.traced, all.clients);
  EXPECT_THAT(all.steps, ElementsAre(1, 2));

  const SyntheticFleet many({.clients = 4000, .steps = 1000000});
  const WeightPlan some(many);
  EXPECT_EQ(some.clients.size(), WeightPlan::kMostClients);
  EXPECT_EQ(some.steps.size(), WeightPlan::kMostSteps);
  EXPECT_EQ(some.steps.back(), 1000000U);
  ASSERT_EQ(some.traced.size(), WeightPlan::kMostTraced);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(many.SiteOf(some.traced[i]), i);  // one a site
}

TEST(WeightPlan, OrdersItsClientsBySiteAndNamesEachOnce) {
  const SyntheticFleet fleet({.clients = 130, .steps = 7});
  const WeightPlan plan(fleet);
  std::vector<bool> seen(130);
  std::size_t before = 0;
  for (const std::size_t client : plan.clients) {
    EXPECT_FALSE(seen[client]) << client;
    seen[client] = true;
    EXPECT_GE(fleet.SiteOf(client), before);
    before = fleet.SiteOf(client);
  }
  EXPECT_THAT(plan.steps, ElementsAre(1, 2, 3, 4, 5, 6, 7));
}

TEST(Traffic, AddsUpEverythingButTheLargest) {
  Traffic sum;
  sum.Add({1, 2, 3, 4, 7});
  sum.Add({10, 20, 30, 40, 5});
  EXPECT_EQ(sum.messages, 11U);
  EXPECT_EQ(sum.up_numbers, 22U);
  EXPECT_EQ(sum.up_bytes, 33U);
  EXPECT_EQ(sum.down_bytes, 44U);
  EXPECT_EQ(sum.largest_up, 7U);
}

}  // namespace
}  // namespace polykern
