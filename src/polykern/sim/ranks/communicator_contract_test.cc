// What every communicator promises, on each that there is: a process alone, threads, and the
// processes of MPI where mpirun has started this program several times (tests/e2e/mpi_test.py).

#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/random.h"
#include "polykern/sim/ranks/communicator.h"
#include "polykern/sim/ranks/launch.h"
#include "polykern/sim/ranks/thread_ranks_testing.h"

namespace polykern {
namespace {

using testing::ElementsAre;

/// How a test meets its ranks: each calls work with its communicator.
using Meeting = std::function<void(const std::function<void(Communicator&)>&)>;

struct Kind {
  std::string name;
  Meeting meet;
};

/// MPI can be joined but once in a process.
Communicator& JoinedRanks() {
  static const std::unique_ptr<Communicator> ranks = JoinRanks();
  return *ranks;
}

std::vector<Kind> Kinds() {
  if (FindLaunch().size > 1) {
    return {{"Mpi", [](const auto& work) { work(JoinedRanks()); }}};
  }
  std::vector<Kind> kinds = {{"Alone", [](const auto& work) { work(*RunAlone()); }}};
  for (const std::size_t ranks : {1U, 2U, 3U, 4U, 6U}) {
    kinds.push_back(
        {"Threads" + std::to_string(ranks), [ranks](const auto& work) { RunRanks(ranks, work); }});
  }
  return kinds;
}

class EveryCommunicator : public testing::TestWithParam<Kind> {};

/// What rank `from` has for rank `to`: numbers of both, and of some ranks nothing.
Words WordsFor(std::size_t from, std::size_t to, std::size_t round) {
  Words words((from * 7 + to * 3 + round) % 5);
  std::iota(words.begin(), words.end(), static_cast<std::uint32_t>(1000 * from + 10 * to));
  return words;
}

/// A rank's own numbers, the same wherever they are drawn; sums of them overflow.
std::vector<std::int64_t> NumbersOf(std::size_t rank, std::size_t count) {
  Random random(17 + rank, Purpose::kTest);
  std::vector<std::int64_t> numbers(count);
  for (std::int64_t& number : numbers) number = static_cast<std::int64_t>(random.Bits());
  return numbers;
}

TEST_P(EveryCommunicator, NumbersItsRanks) {
  GetParam().meet([](Communicator& ranks) {
    EXPECT_LT(ranks.rank(), ranks.size());
    EXPECT_GE(ranks.local_size(), 1U);
    EXPECT_LE(ranks.local_size(), ranks.size());
    std::vector<Words> all;
    ranks.AllGather({static_cast<std::uint32_t>(ranks.rank())}, all);
    ASSERT_EQ(all.size(), ranks.size());
    for (std::uint32_t r = 0; r < all.size(); ++r) EXPECT_THAT(all[r], ElementsAre(r));
  });
}

TEST_P(EveryCommunicator, AddsUpModulo2To64OnEveryRank) {
  GetParam().meet([](Communicator& ranks) {
    for (const std::size_t count : {0U, 1U, 1000U}) {
      std::vector<std::uint64_t> expected(count);
      for (std::size_t r = 0; r < ranks.size(); ++r) {
        const auto numbers = NumbersOf(r, count);
        for (std::size_t i = 0; i < count; ++i) {
          expected[i] += static_cast<std::uint64_t>(numbers[i]);
        }
      }
      std::vector<std::int64_t> numbers = NumbersOf(ranks.rank(), count);
      ranks.Sum(numbers);
      EXPECT_EQ(std::vector<std::uint64_t>(numbers.begin(), numbers.end()), expected);
    }
  });
}

TEST_P(EveryCommunicator, BringsEveryRankWhatWasForIt) {
  GetParam().meet([](Communicator& ranks) {
    std::vector<Words> from(9);  // what was there does not matter
    for (std::size_t round = 0; round < 6; ++round) {
      std::vector<Words> to;
      for (std::size_t r = 0; r < ranks.size(); ++r) {
        to.push_back(WordsFor(ranks.rank(), r, round));
      }
      ranks.Exchange(to, from);
      ASSERT_EQ(from.size(), ranks.size());
      for (std::size_t r = 0; r < ranks.size(); ++r) {
        EXPECT_EQ(from[r], WordsFor(r, ranks.rank(), round)) << "round " << round;
      }
    }
  });
}

TEST_P(EveryCommunicator, GathersWhatEveryRankHas) {
  GetParam().meet([](Communicator& ranks) {
    std::vector<Words> all;
    for (std::size_t round = 0; round < 4; ++round) {
      ranks.AllGather(WordsFor(ranks.rank(), 0, round), all);
      ASSERT_EQ(all.size(), ranks.size());
      for (std::size_t r = 0; r < ranks.size(); ++r) EXPECT_EQ(all[r], WordsFor(r, 0, round));
    }
  });
}

TEST_P(EveryCommunicator, GathersInOrderOnRank0Alone) {
  GetParam().meet([](Communicator& ranks) {
    const auto own = [](std::size_t rank) {
      return std::vector<double>(rank % 3, static_cast<double>(rank) + 0.5);
    };
    std::vector<double> numbers;
    std::vector<std::string> texts;
    for (std::size_t r = 0; ranks.rank() == 0 && r < ranks.size(); ++r) {
      const std::vector<double> theirs = own(r);
      numbers.insert(numbers.end(), theirs.begin(), theirs.end());
      texts.push_back(std::string(r % 2, 'a') + std::string(1, '\0'));
    }
    EXPECT_EQ(ranks.Gather(own(ranks.rank())), numbers);
    EXPECT_EQ(ranks.Gather(std::string(ranks.rank() % 2, 'a') + std::string(1, '\0')), texts);
  });
}

TEST_P(EveryCommunicator, TellsAllTheTextOfRank0) {
  GetParam().meet([](Communicator& ranks) {
    for (const std::string& said :
         {std::string(), std::string("a\0b", 3), std::string(9000, 'x')}) {
      std::string text = ranks.rank() == 0 ? said : "of rank " + std::to_string(ranks.rank());
      ranks.Broadcast(text);
      EXPECT_EQ(text, said);
    }
  });
}

TEST_P(EveryCommunicator, SplitsIntoNeighboursThatAreRanksAgain) {
  GetParam().meet([](Communicator& ranks) {
    for (std::size_t groups = 1; groups <= ranks.size(); ++groups) {
      if (ranks.size() % groups != 0) continue;
      const std::size_t together = ranks.size() / groups;
      const auto group = ranks.Split(groups);
      ASSERT_EQ(group->size(), together);
      EXPECT_EQ(group->rank(), ranks.rank() % together);
      std::vector<std::int64_t> sum = {static_cast<std::int64_t>(ranks.rank())};
      group->Sum(sum);
      std::int64_t expected = 0;
      const std::size_t first = ranks.rank() / together * together;
      for (std::size_t r = first; r < first + together; ++r) {
        expected += static_cast<std::int64_t>(r);
      }
      EXPECT_THAT(sum, ElementsAre(expected)) << groups << " groups";
    }
  });
}

TEST_P(EveryCommunicator, CountsTheNumbersOfASumOnce) {
  GetParam().meet([](Communicator& ranks) {
    const std::uint64_t before = ranks.bytes();
    std::vector<std::int64_t> numbers(100);
    ranks.Sum(numbers);
    EXPECT_EQ(ranks.bytes() - before, ranks.size() == 1 && !GetParam().name.starts_with("Threads")
                                          ? 0U
                                          : 100 * sizeof(std::int64_t));
  });
}

INSTANTIATE_TEST_SUITE_P(, EveryCommunicator, testing::ValuesIn(Kinds()),
                         [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace polykern
