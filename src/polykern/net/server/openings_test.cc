#include "polykern/net/server/openings.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "polykern/net/server/server_call_internal.h"

namespace polykern {
namespace {

/// Calls that are only told apart.
class TheOpenings : public testing::Test {
 protected:
  static std::shared_ptr<ServerCall> Call() {
    const auto owner = std::make_shared<int>();
    return {owner, reinterpret_cast<ServerCall*>(owner.get())};
  }
};

TEST_F(TheOpenings, AreRememberedWithWhereTheyCameFrom) {
  Openings openings(10, 10);
  const auto a = Call();
  EXPECT_EQ(openings.Add("1.2.3.4", a), nullptr);
  EXPECT_EQ(openings.size(), 1U);
  EXPECT_EQ(openings.Remove(*a), "1.2.3.4");
  EXPECT_EQ(openings.Remove(*a), "");
  EXPECT_EQ(openings.size(), 0U);
  EXPECT_EQ(openings.TakeOldest(), nullptr);
}

TEST_F(TheOpenings, OfOneAddressMakeWayForItsNewest) {
  Openings openings(10, 2);
  const auto a = Call();
  const auto b = Call();
  const auto c = Call();
  const auto other = Call();
  openings.Add("here", a);
  openings.Add("there", other);
  openings.Add("here", b);
  EXPECT_EQ(openings.Add("here", c), a);
  EXPECT_EQ(openings.size(), 3U);
  EXPECT_EQ(openings.Remove(*b), "here");
  EXPECT_EQ(openings.Add("here", a), nullptr);
  EXPECT_EQ(openings.Remove(*other), "there");
}

TEST_F(TheOpenings, AreBoundedInAllAndTheOldestGoesFirst) {
  Openings openings(3, 10);
  std::vector<std::shared_ptr<ServerCall>> calls;
  for (const char* address : {"a", "b", "c", "d", "e"}) {
    calls.push_back(Call());
    const auto gone = openings.Add(address, calls.back());
    EXPECT_EQ(gone, calls.size() > 3 ? calls[calls.size() - 4] : nullptr);
  }
  EXPECT_EQ(openings.size(), 3U);
  EXPECT_EQ(openings.TakeOldest(), calls[2]);
  EXPECT_EQ(openings.size(), 2U);
}

}  // namespace
}  // namespace polykern
