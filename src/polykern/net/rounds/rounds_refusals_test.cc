// Whom the rounds turn away, and what they do not take.
#include <chrono>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/error.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/rounds/rounds_testing.h"
#include "polykern/net/wire.h"

namespace polykern {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST_F(RoundsOfAFederation, AnswerBadUpdatesAndSendTheirSenderAway) {
  options_.most_violations = 3;
  options_.ban = seconds(60);
  Start();
  const TestClient a = Join("a");
  Expect<Welcome>(a);
  Answer(a, 7);
  EXPECT_THAT(Expect<Verdict>(a).reason, HasSubstr("the server is at step 0"));
  Answer(a, 0, 4);
  EXPECT_THAT(Expect<Verdict>(a).reason, HasSubstr("no kernel 4"));
  EXPECT_EQ(EndOf(a), std::nullopt);
  Answer(a, 0, 0, 1e9F);
  EXPECT_THAT(Expect<Verdict>(a).reason, HasSubstr("above 512"));
  EXPECT_EQ(Expect<Busy>(a).latest_milliseconds, 30000U);
  EXPECT_EQ(EndOf(a)->kind, Ending::Kind::kBusy);
  const TestClient back = Join("a");
  Expect<Busy>(back);
  EXPECT_EQ(EndOf(back)->kind, Ending::Kind::kBusy);
  Answer(back, 0);
  EXPECT_EQ(rounds_->status().accepted, 0U);
  now_ += seconds(60);
  const TestClient later = Join("a");
  Expect<Welcome>(later);
  Answer(later, 0);
  EXPECT_EQ(rounds_->status().accepted, 1U);
}

TEST_F(RoundsOfAFederation, LetInOnlyWhoMayTakePart) {
  Start();
  EXPECT_EQ(EndOf(Join("d"))->kind, Ending::Kind::kRefused);
  EXPECT_EQ(EndOf(Join("a", {.version = kProtocolVersion + 1, .next_step = 0}))->kind,
            Ending::Kind::kVersion);
  EXPECT_EQ(rounds_->status().connected, 0U);
  options_.roster.clear();
  options_.most_clients = 4;
  Start();
  EXPECT_EQ(Expect<Welcome>(Join("d")).client, 3U);
  const TestClient e = Join("e");
  EXPECT_THAT(Expect<Busy>(e).reason, HasSubstr("no room"));
  EXPECT_EQ(EndOf(e)->kind, Ending::Kind::kBusy);
}

TEST_F(RoundsOfAFederation, SendAwayClientsThatSendNoiseBeforeAHello) {
  options_.roster.clear();
  options_.most_violations = 2;
  Start();
  for (const char* name : {"a", "stranger"}) {
    rounds_->Broken(name, "noise", now_);
    EXPECT_FALSE(rounds_->IsBanned(name, now_));
    rounds_->Broken(name, "noise", now_);
    EXPECT_TRUE(rounds_->IsBanned(name, now_));
    EXPECT_FALSE(rounds_->IsBanned(name, now_ + seconds(60)));
  }
  EXPECT_EQ(rounds_->status().rejected, 4U);
  const TestClient stranger = Join("stranger");
  EXPECT_EQ(Expect<Busy>(stranger).reason, kBanned);
  EXPECT_EQ(EndOf(stranger)->kind, Ending::Kind::kBusy);
  EXPECT_FALSE(rounds_->IsBanned("b", now_));
}

TEST_F(RoundsOfAFederation, EndTheConnectionOfAClientThatSendsNoiseOnAnother) {
  options_.most_violations = 1;
  Start();
  const TestClient a = Join("a");
  Expect<Welcome>(a);
  rounds_->Broken("a", "noise", now_);
  Expect<Busy>(a);
  EXPECT_EQ(EndOf(a)->kind, Ending::Kind::kBusy);
}

TEST_F(RoundsOfAFederation, NoticeAStoreThatIsBehindItsClients) {
  options_.quorum.count = 1;
  options_.deadline = seconds(0);
  Start();
  Join("a", {.next_step = 1});  // its answer to step 0 may have died with the server
  EXPECT_EQ(rounds_->status().trouble, "");
  const TestClient b = Join("b", {.next_step = 3});
  EXPECT_EQ(rounds_->status().trouble,
            "step 2 was answered, and the store is at step 0: was it lost, or rolled back?");
  for (std::uint64_t step = 0; step < 2; ++step) {
    Answer(b, step);
    Write();
  }
  EXPECT_EQ(rounds_->status().trouble, "") << "it has caught up";
}

TEST_F(RoundsOfAFederation, CountWhatIsRejectedByTheRuleThatWasBroken) {
  options_.most_violations = 100;
  Start();
  const TestClient a = Join("a");
  const auto send = [&](Updates updates) { rounds_->Receive(a.session, std::move(updates), now_); };
  Updates good;
  good.clients = {0};
  good.first = {0, 1};
  good.blocks = {0};
  good.values.assign(4, 1);
  Updates bad = good;
  bad.values[1] = std::numeric_limits<float>::quiet_NaN();
  send(bad);
  bad.values[1] = 1e30F;
  send(bad);
  bad = good;
  bad.blocks = {4};
  send(bad);
  bad.blocks = {1, 1};
  bad.first = {0, 2};
  bad.values.assign(8, 1);
  send(bad);
  bad.blocks = {0, 1, 2};
  bad.first = {0, 3};
  bad.values.assign(12, 1);
  send(bad);
  bad = good;
  bad.values.pop_back();
  send(bad);
  bad = good;
  bad.step = 7;
  send(bad);
  send(good);
  send(good);
  rounds_->Broken(a.session, "noise", now_);
  Write();
  const std::map<std::string, std::uint64_t> wanted = {
      {"numbers", 2}, {"kernels", 3}, {"lengths", 1}, {"step", 1}, {"twice", 1}, {"message", 1}};
  EXPECT_EQ(rounds_->status().rejected_for, wanted);
  EXPECT_EQ(rounds_->status().rejected, 9U);
}

TEST_F(RoundsOfAFederation, CountBadLossesByTheirRule) {
  configuration_.algorithm = "fomd-oms";
  algorithm_ = MakeAlgorithm(configuration_);
  Start();
  const TestClient a = Join("a");
  Updates updates;
  updates.clients = {0};
  updates.first = {0, 2};
  updates.blocks = {0, 1};
  updates.values.assign(8, 1);
  updates.losses = {0.5F, -0.5F};
  rounds_->Receive(a.session, updates, now_);
  Write();
  EXPECT_THAT(rounds_->status().rejected_for, ElementsAre(Pair("losses", 1)));
}

TEST_F(RoundsOfAFederation, PutOutWhoIsExpelledAndWhoSendsNonsense) {
  options_.quorum.count = 1;
  Start();
  const std::vector<TestClient> clients = {Join("a"), Join("b"), Join("c")};
  for (const auto& client : clients) Expect<Welcome>(client);
  Answer(clients[0], 0);
  rounds_->Expel("b", "revoked", now_);
  Write();
  EXPECT_EQ(EndOf(clients[1])->reason, "revoked");
  EXPECT_EQ(step(), 0U);
  rounds_->Broken(clients[2].session, "noise", now_);
  Write();
  Expect<Verdict>(clients[2]);
  EXPECT_EQ(EndOf(clients[2])->kind, Ending::Kind::kBroken);
  EXPECT_EQ(step(), 1U) << "no other client is connected";
}

TEST_F(RoundsOfAFederation, TellWhoFindsNoRoomWhenToComeBack) {
  options_.quorum.count = 1;
  options_.most_connected = 2;
  options_.retry_earliest = milliseconds(500);
  Start();
  const std::vector<TestClient> clients = {Join("a"), Join("b"), Join("c")};
  const auto busy = Expect<Busy>(clients[2]);
  EXPECT_EQ(busy.earliest_milliseconds, 500U);
  EXPECT_EQ(busy.latest_milliseconds, 30000U);
  EXPECT_EQ(EndOf(clients[2])->kind, Ending::Kind::kBusy);
  Expect<Welcome>(Join("b"));  // takes its own place
  EXPECT_EQ(rounds_->status().connected, 2U);
  Leave(clients[0]);
  Expect<Welcome>(Join("c"));
}

TEST_F(RoundsOfAFederation, KeepOutWhoWouldPutAQuorumOutOfReach) {
  options_.roster = {};
  options_.most_connected = 2;
  Start();
  const TestClient a = Join("a");
  const TestClient b = Join("b");
  Answer(a, 0);
  Answer(b, 0);
  EXPECT_EQ(step(), 1U);
  Leave(a);
  EXPECT_THAT(Expect<Busy>(Join("c")).reason, HasSubstr("a quorum could no longer be connected"));
  Expect<Welcome>(Join("a"));
}

TEST_F(RoundsOfAFederation, RefuseAQuorumThatCanNeverAnswer) {
  options_.quorum.count = 4;
  EXPECT_THROW(Start(), Error);  // there are three
  options_.roster = {};
  EXPECT_NO_THROW(Start());
  options_.most_clients = 3;
  EXPECT_THROW(Start(), Error);
  options_.most_clients = 4;
  options_.most_connected = 3;
  EXPECT_THROW(Start(), Error);
  options_.roster = {"a", "b", "c", "d"};
  options_.quorum = Quorum::All();
  EXPECT_THROW(Start(), Error);
}

TEST_F(RoundsOfAFederation, RefuseAStoreWhoseClientsHaveOtherNumbers) {
  Start();
  for (const std::vector<std::string>& roster :
       std::vector<std::vector<std::string>>{{"b", "a", "c"},
                                             {"a", "b"},
                                             {"a", "bb", "c"},
                                             {"a", "b", "c", "c"},
                                             {"a", "b", "c", " d"}}) {
    options_.roster = roster;
    EXPECT_THROW(Start(), Error);
    EXPECT_EQ(store_->Contents().clients.size(), 3U) << "nobody is enrolled by mistake";
  }
  options_.roster = {"a", "b", "c", "d"};
  EXPECT_NO_THROW(Start());
}

}  // namespace
}  // namespace polykern
