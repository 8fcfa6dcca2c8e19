#include "polykern/net/rounds/membership.h"

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

  RoundsOptions options_{.quorum = Quorum::All()};
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

TEST_F(AMembership, CountsAShareOfThoseThatAreThere) {
  options_.quorum = {};
  std::vector<StoredClient> stored;
  for (int k = 0; k < 30; ++k) stored.push_back(Stored("c" + std::to_string(k), 3));
  Membership members = Make(stored, 3);
  EXPECT_EQ(StatusOf(members).needed, 2U) << "the least, while nobody is there";
  for (std::uint64_t k = 0; k < 10; ++k) members.Connect(k, 10 + k);
  EXPECT_EQ(StatusOf(members).needed, 8U) << "whoever left for good does not count";
  EXPECT_EQ(StatusOf(members).missing.size(), 5U);
  members.Count(0, 3);
  members.Disconnect(0);
  EXPECT_EQ(StatusOf(members).needed, 8U) << "its answer counts, and so does it";
  members.Disconnect(1);
  members.Disconnect(2);
  EXPECT_EQ(StatusOf(members).needed, 7U) << "of eight";
}

TEST_F(AMembership, HasNoStepBelowTheLeastUnlessFewerAreNamed) {
  options_.quorum = {};
  {
    Membership members = Make();
    members.Connect(members.Enrol("a"), 10);
    members.Count(0, 0);
    EXPECT_FALSE(members.HasQuorum()) << "one is none";
    members.Connect(members.Enrol("b"), 11);
    members.Count(1, 0);
    EXPECT_TRUE(members.HasQuorum());
  }
  options_.roster = {"a"};
  Membership members = Make();
  members.Connect(0, 10);
  members.Count(0, 0);
  EXPECT_TRUE(members.HasQuorum());
}

TEST_F(AMembership, CountsAShareOfThoseThatAreNamedWhileRangesAreLearnt) {
  options_.roster = {"a", "b", "c", "d", "e"};
  options_.quorum = {};
  Membership members = Make();
  members.LearnRanges();
  EXPECT_EQ(StatusOf(members).needed, 5U) << "everybody, unless somebody says otherwise";
  options_.quorum.share = 0.6;
  EXPECT_EQ(StatusOf(members).needed, 3U);
  members.BeginSteps();
  EXPECT_EQ(StatusOf(members).needed, 2U) << "nobody is there";
}

TEST_F(AMembership, StopsWaitingForTheSilentWhereAShareCounts) {
  options_.roster = {"a", "b", "c", "d", "e"};
  options_.quorum = {};
  Membership members = Make();
  for (std::uint64_t k = 0; k < 5; ++k) members.Connect(k, 10 + k);
  members.Count(0, 0);
  members.Count(1, 0);
  EXPECT_FALSE(members.HasQuorum());
  members.StopWaiting();
  EXPECT_TRUE(members.HasQuorum());
  EXPECT_TRUE(members.IsComplete());
  members.Await(2);
  EXPECT_EQ(StatusOf(members).needed, 3U) << "of three: it is heard of again";
  options_.quorum = Quorum::All();
  members.StopWaiting();
  EXPECT_FALSE(members.HasQuorum()) << "all means all";
}

TEST_F(AMembership, DoesNotExpectWhoIsGone) {
  options_.roster = {"a", "b", "c"};
  options_.most_clients = 3;
  Membership members = Make({Stored("a", 2), Stored("b", 2), Stored("c", 2)}, 2);
  members.Connect(0, 10);
  members.Connect(1, 11);
  EXPECT_EQ(StatusOf(members).needed, 3U);
  members.SetGone(2, true);
  members.SetGone(2, true);
  EXPECT_EQ(StatusOf(members).needed, 2U);
  EXPECT_THAT(StatusOf(members).missing, ElementsAre("a", "b"));
  members.SetGone(1, true);
  EXPECT_FALSE(members[1].gone) << "it is connected";
  members.Count(1, 2);
  members.Disconnect(1);
  members.SetGone(1, true);
  EXPECT_EQ(StatusOf(members).needed, 2U) << "its answer is in the open step";
  EXPECT_FALSE(members.HasQuorum());
  members.Count(0, 2);
  EXPECT_TRUE(members.HasQuorum());
  members.EndCollecting();
  members.BeginStep(3, {});
  EXPECT_EQ(StatusOf(members).needed, 1U);
  members.Connect(2, 12);
  EXPECT_FALSE(members[2].gone) << "it has come back";
  EXPECT_EQ(StatusOf(members).needed, 2U);
  options_.roster = {};
  EXPECT_EQ(members.Refusal("d", now_), std::nullopt) << "in the place of who is gone";
}

TEST(AQuorum, IsReadFromItsText) {
  EXPECT_TRUE(ParseQuorum("all").all());
  EXPECT_EQ(ParseQuorum("3").count, 3U);
  EXPECT_EQ(ParseQuorum("80%"), Quorum{});
  EXPECT_TRUE(ParseQuorum("100%").all());
  for (const char* text : {"", "0", "1.5", "-1", "0%", "101%", "all of them", "nan%", "1e10"}) {
    EXPECT_THROW(ParseQuorum(text), Error) << text;
  }
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
