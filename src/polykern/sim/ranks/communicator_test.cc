#include "polykern/sim/ranks/communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace polykern {
namespace {

using testing::ElementsAre;

TEST(RunAlone, IsARankOfOneThatHasAllItGives) {
  const auto alone = RunAlone();
  EXPECT_EQ(alone->rank(), 0U);
  EXPECT_EQ(alone->size(), 1U);
  EXPECT_EQ(alone->local_size(), 1U);
  EXPECT_EQ(alone->local_rank(), 0U);
  std::vector<std::int64_t> numbers = {1, -2};
  alone->Sum(numbers);
  EXPECT_THAT(numbers, ElementsAre(1, -2));
  std::vector<Words> from;
  const std::vector<Words> to = {{1, 2}};
  alone->Exchange(to, from);
  EXPECT_EQ(from, to);
  alone->AllGather({3}, from);
  EXPECT_THAT(from, ElementsAre(Words{3}));
  EXPECT_THAT(alone->Gather(std::vector<double>{0.5}), ElementsAre(0.5));
  EXPECT_THAT(alone->Gather(std::string("a")), ElementsAre("a"));
  EXPECT_EQ(alone->Split(1)->size(), 1U);
  EXPECT_EQ(alone->bytes(), 0U);
}

TEST(OwnClients, AreDisjointNeighboursThatAreAllClients) {
  for (const std::size_t clients : {1U, 7U, 64U, 1000U}) {
    for (const std::size_t ranks : {1U, 2U, 3U, 5U, 9U}) {
      std::size_t next = 0;
      for (std::size_t r = 0; r < ranks; ++r) {
        const ClientRange own = OwnClients(clients, r, ranks);
        EXPECT_EQ(own.first, next);
        EXPECT_LE(own.count, clients / ranks + 1);
        next += own.count;
      }
      EXPECT_EQ(next, clients);
    }
  }
}

}  // namespace
}  // namespace polykern
