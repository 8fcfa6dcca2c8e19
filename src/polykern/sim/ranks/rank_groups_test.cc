#include "polykern/sim/ranks/rank_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

TEST(RankGroups, AreAsManyAsChainsWhereClientsAreFew) {
  EXPECT_EQ(RankGroups(20, 40, 4, 0), 4U);  // nothing to exchange
  EXPECT_EQ(RankGroups(2, 40, 4, 0), 2U);   // no group without a chain
  EXPECT_EQ(RankGroups(1, 40, 4, 0), 1U);
}

TEST(RankGroups, AreFewWhereOneRankCouldNotHoldAllClients) {
  EXPECT_EQ(RankGroups(20, 1'000'000, 4, 0), 1U);
  EXPECT_EQ(RankGroups(20, 1 << 17, 4, 0), 2U);  // 2^16 of a rank
}

TEST(RankGroups, DivideTheRanks) {
  for (std::size_t ranks = 1; ranks <= 12; ++ranks) {
    for (const std::size_t chains : {1U, 3U, 7U, 50U}) {
      for (const std::size_t clients : {1U, 1000U, 100000U}) {
        EXPECT_EQ(ranks % RankGroups(chains, clients, ranks, 0), 0U);
      }
    }
  }
}

TEST(RankGroups, AreThoseWishedForIfTheyDivideTheRanks) {
  EXPECT_EQ(RankGroups(1, 1'000'000, 6, 3), 3U);
  EXPECT_EQ(MessageOf([] { RankGroups(1, 1, 6, 4); }),
            "rank_groups is 4, which does not divide 6 ranks");
}

}  // namespace
}  // namespace polykern
