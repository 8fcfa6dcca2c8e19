#include "polykern/net/server/membership.h"

#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace polykern {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

class AMembership : public testing::Test {
 protected:
  Membership Make(const std::vector<StoredClient>& stored = {}, std::uint64_t step = 0) {
    return {options_, stored, step};
  }
  static StoredClient Stored(const std::string& name, std::uint64_t next_step) {
    return {.name = name, .next_step = next_step};
  }
  static RoundsStatus StatusOf(const Membership& members) {
    RoundsStatus status;
    members.Describe(status);
    return status;
  }

  RoundsOptions options_;
  RoundsTime now_{seconds(1000)};
};

TEST_F(AMembership, NumbersTheStoresClientsAndThenTheRosters) {
  options_.roster = {"b", "a", "c"};
  Membership members = Make({Stored("b", 4), Stored("a", 0)}, 4);
  EXPECT_EQ(members.size(), 3U);
  EXPECT_EQ(members.Find("b"), 0U);
  EXPECT_EQ(members.Find("c"), 2U);
  EXPECT_EQ(members.Find("d"), std::nullopt);
  EXPECT_EQ(members[0].next_step, 4U);
  EXPECT_EQ(members[0].stored_next_step, 4U);
  EXPECT_TRUE(members[1].stored);
  EXPECT_FALSE(members[2].stored);
  EXPECT_EQ(members.MarkStored(1).front().name, "c");
  EXPECT_TRUE(members[2].stored);
}

TEST_F(AMembership, ExpectsWhoIsConnectedOrHasAnswered) {
  Membership members = Make({Stored("a", 3), Stored("b", 0)}, 3);
  EXPECT_EQ(StatusOf(members).needed, 1U) << "b was there once, and sent nothing";
  EXPECT_THAT(StatusOf(members).missing, ElementsAre("a"));
  members.Connect(1, 10);
  EXPECT_EQ(StatusOf(members).needed, 2U);
  members.Disconnect(1);
  EXPECT_EQ(StatusOf(members).needed, 1U);
  members.Connect(members.Enrol("c"), 11);
  EXPECT_EQ(StatusOf(members).needed, 2U);
  EXPECT_EQ(StatusOf(members).connected, 1U);
}

TEST_F(AMembership, IsCompleteWhenEverybodyHasAnswered) {
  options_.roster = {"a", "b", "c"};
  options_.quorum.count = 2;
  Membership members = Make();
  members.Connect(0, 10);
  members.Connect(1, 11);
  EXPECT_FALSE(members.IsComplete());
  members.Count(0, 0);
  EXPECT_FALSE(members.HasQuorum());
  members.Count(1, 0);
  EXPECT_TRUE(members.HasQuorum());
  EXPECT_TRUE(members.IsComplete()) << "the third is not connected";
  members.Connect(2, 12);
  EXPECT_FALSE(members.IsComplete());
  members.Disconnect(2);
  EXPECT_TRUE(members.IsComplete());
}

TEST_F(AMembership, WaitsNoMoreForWhoLetAStepPassUntilItIsHeardOf) {
  options_.roster = {"a", "b"};
  options_.quorum.count = 1;
  Membership members = Make();
  members.Connect(0, 10);
  members.Connect(1, 11);
  const std::vector<CountedUpdate> counted = {{.client = 0, .step = 0}};
  members.Count(0, 0);
  members.EndCollecting();
  EXPECT_FALSE(members.HasQuorum()) << "of the step that collects now";
  members.BeginStep(1, counted);
  EXPECT_EQ(members[0].stored_next_step, 1U);
  EXPECT_FALSE(members[1].awaited);
  members.Count(0, 1);
  EXPECT_TRUE(members.IsComplete());
  members.Await(1);
  EXPECT_FALSE(members.IsComplete());
}

TEST_F(AMembership, BansWhoBreaksTooManyRules) {
  options_.most_violations = 2;
  options_.ban = seconds(60);
  Membership members = Make({Stored("a", 0)});
  EXPECT_FALSE(members.Reject(0, now_));
  EXPECT_EQ(members.Refusal("a", now_), std::nullopt);
  EXPECT_TRUE(members.Reject(0, now_));
  EXPECT_EQ(members.Refusal("a", now_)->kind, Ending::Kind::kBusy);
  EXPECT_EQ(members.Refusal("a", now_ + seconds(60)), std::nullopt);
  EXPECT_FALSE(members.Reject(0, now_ + seconds(60))) << "it begins anew";
  const auto rejected = members.EndCollecting();
  ASSERT_EQ(rejected.size(), 1U);
  EXPECT_EQ(rejected[0].count, 3U);
  EXPECT_TRUE(members.EndCollecting().empty());
}

TEST_F(AMembership, HasNoRoomForEverybody) {
  options_.most_clients = 2;
  options_.most_connected = 1;
  options_.quorum.count = 1;
  Membership members = Make();
  members.Connect(members.Enrol("a"), 10);
  EXPECT_THAT(members.Refusal("b", now_)->reason, HasSubstr("the server is full"));
  EXPECT_EQ(members.Refusal("a", now_), std::nullopt) << "it takes its own place";
  members.Disconnect(0);
  EXPECT_EQ(members.Refusal("b", now_), std::nullopt);
  members.Enrol("b");
  EXPECT_THAT(members.Refusal("c", now_)->reason, HasSubstr("no room for another"));
  options_.roster = {"a", "b"};
  EXPECT_EQ(members.Refusal("c", now_)->kind, Ending::Kind::kRefused);
}

}  // namespace
}  // namespace polykern
