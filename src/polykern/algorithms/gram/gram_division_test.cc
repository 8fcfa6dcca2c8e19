#include "polykern/algorithms/gram/gram_division.h"

#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/error.h"
#include "polykern/core/random.h"

namespace polykern {
namespace {

using testing::ElementsAre;

std::vector<std::uint64_t> GroupMembers(const GramDivision& division,
                                        const std::vector<std::uint64_t>& clients,
                                        std::size_t group) {
  std::vector<std::uint64_t> members;
  for (const std::uint64_t client : clients) {
    if (division.GroupOf(client) == group) members.push_back(client);
  }
  return members;
}

TEST(GramDivision, FindsACulpritInAsManySumsAsItTakesToHalveThem) {
  Random random(1, Purpose::kTest);
  for (const std::size_t count : {4U, 5U, 8U, 9U, 31U, 100U}) {
    std::set<std::uint64_t> drawn;
    while (drawn.size() < count) drawn.insert(random.Below(1000));
    const std::vector<std::uint64_t> clients(drawn.begin(), drawn.end());
    for (const std::uint64_t culprit : clients) {
      GramDivision division;
      division.Spoilt(clients, 2);
      int sums = 0;
      while (division.suspects().size() > 1) {
        const std::size_t group = division.GroupOf(culprit);
        for (const std::size_t each : {0U, 1U}) {
          EXPECT_GE(GroupMembers(division, clients, each).size(), 2U);
        }
        division.Passed();  // the other group's
        division.Spoilt(GroupMembers(division, clients, group), 2);
        ASSERT_LT(++sums, 9);
      }
      EXPECT_THAT(division.suspects(), ElementsAre(culprit));
    }
  }
}

TEST(GramDivision, NeedsEnoughClientsForTwoGroups) {
  GramDivision division;
  division.Spoilt({3, 1, 2, 2, 7}, 3);
  EXPECT_FALSE(division.on());
  EXPECT_EQ(division.GroupOf(1), 0U);
  division.Spoilt({3, 1, 2, 2, 7}, 2);
  EXPECT_TRUE(division.on());
  EXPECT_EQ(division.GroupOf(1), 1U);
  EXPECT_EQ(division.GroupOf(7), 0U);
  EXPECT_EQ(division.GroupOf(8), 0U) << "it came later";
}

TEST(GramDivision, EndsWhenAllIsWellForLong) {
  GramDivision division;
  division.Spoilt({1, 2, 3, 4}, 2);
  for (std::uint64_t i = 1; i < GramDivision::kReleases; ++i) division.Passed();
  EXPECT_TRUE(division.on());
  division.Spoilt({1, 2}, 2);
  for (std::uint64_t i = 1; i < GramDivision::kReleases; ++i) division.Passed();
  EXPECT_TRUE(division.on());
  division.Passed();
  EXPECT_FALSE(division.on());
  EXPECT_TRUE(division.suspects().empty());
}

TEST(GramDivision, SuspectsOthersIfNoClientWasInAllBadSums) {
  GramDivision division;
  division.Spoilt({1, 2, 3, 4}, 2);
  division.Spoilt({1, 2}, 2);
  division.Spoilt({3, 4}, 2);
  EXPECT_THAT(division.suspects(), ElementsAre(3, 4));
}

TEST(GramDivision, IsTheSameAfterAStop) {
  GramDivision division;
  division.Spoilt({5, 9, 2, 4, 11}, 2);
  division.Spoilt({2, 4}, 2);
  division.Passed();
  std::vector<double> saved;
  division.Save(saved);
  saved.push_back(-1);
  auto rest = std::span<const double>(saved);
  const GramDivision loaded = GramDivision::Load(rest);
  EXPECT_EQ(rest.size(), 1U);
  EXPECT_EQ(loaded.suspects(), division.suspects());
  for (std::uint64_t client = 0; client < 12; ++client) {
    EXPECT_EQ(loaded.GroupOf(client), division.GroupOf(client));
  }
  std::vector<double> again;
  loaded.Save(again);
  saved.pop_back();
  EXPECT_EQ(again, saved);
  for (std::size_t size = 0; size < saved.size(); ++size) {
    auto cut = std::span<const double>(saved).first(size);
    EXPECT_THROW(GramDivision::Load(cut), Error);
  }
}

}  // namespace
}  // namespace polykern
