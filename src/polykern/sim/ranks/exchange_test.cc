#include "polykern/sim/ranks/exchange.h"

#include <array>
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/io/folder_testing.h"
#include "polykern/sim/ranks/thread_ranks_testing.h"

namespace polykern {
namespace {

using testing::ElementsAre;

TEST(SumOverRanks, AddsUpEveryPartOnEveryRank) {
  RunRanks(3, [](Communicator& rank) {
    std::vector<std::int64_t> first = {static_cast<std::int64_t>(rank.rank()), -1};
    std::vector<std::int64_t> second = {INT64_MAX};
    std::vector<std::int64_t> scratch = {7};  // what was left there does not matter
    for (int again = 0; again < 2; ++again) {
      first[0] = static_cast<std::int64_t>(rank.rank());
      const std::array<std::span<std::int64_t>, 2> parts = {first, second};
      SumOverRanks(rank, parts, "", scratch);
      EXPECT_EQ(first[0], 0 + 1 + 2);
    }
    EXPECT_EQ(first[1], -9);  // twice times three
    // Modulo 2^64.
    EXPECT_EQ(static_cast<std::uint64_t>(second[0]), 9 * static_cast<std::uint64_t>(INT64_MAX));
  });
}

TEST(SumOverRanks, ThrowsTheLowestRanksFailureOnAllRanks) {
  RunRanks(4, [](Communicator& rank) {
    std::vector<std::int64_t> numbers = {1};
    std::vector<std::int64_t> scratch;
    const std::array<std::span<std::int64_t>, 1> parts = {numbers};
    const std::string failure = rank.rank() < 2 ? "" : "rank " + std::to_string(rank.rank());
    EXPECT_EQ(MessageOf([&] { SumOverRanks(rank, parts, failure, scratch); }), "rank 2");
    EXPECT_EQ(MessageOf([&] { SumOverRanks(rank, parts, "", scratch); }), "no Error was thrown");
  });
}

TEST(BroadcastFromOwner, KeepsEveryBitOfNumbersThatAreNone) {
  const std::vector<double> numbers = {0.1, -0.0, std::numeric_limits<double>::infinity(),
                                       std::nan("1"), 5e-324};
  RunRanks(3, [&](Communicator& rank) {
    std::vector<double> own(numbers.size());
    if (rank.rank() == 1) own = numbers;
    BroadcastFromOwner(rank, own);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      EXPECT_EQ(std::bit_cast<std::uint64_t>(own[i]), std::bit_cast<std::uint64_t>(numbers[i]));
    }
  });
}

TEST(TextOf, IsTheTextThatWordsWereMadeOf) {
  for (const std::string& text : {std::string(), std::string("a\0\n\x7f", 4)}) {
    EXPECT_EQ(TextOf(WordsOf(text)), text);
  }
}

}  // namespace
}  // namespace polykern
