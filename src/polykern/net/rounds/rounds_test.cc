#include "polykern/net/rounds/rounds.h"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

/// What matters most, on the disk as well as in memory.
class RoundsOnEveryStore : public RoundsOfAFederation, public testing::WithParamInterface<bool> {
 protected:
  RoundsOnEveryStore() { on_disk_ = GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(Stores, RoundsOnEveryStore, testing::Bool(), [](const auto& test) {
  return std::string(test.param ? "Disk" : "Memory");
});

TEST_F(RoundsOfAFederation, WelcomeAClientWithItsNumberAndTheWholeModel) {
  Start();
  const TestClient b = Join("b");
  EXPECT_GT(b.peer->wakes, 0);
  const auto welcome = Expect<Welcome>(b);
  EXPECT_EQ(welcome.client, 1U);
  EXPECT_EQ(welcome.configuration, ToTexts(configuration_));
  EXPECT_THAT(welcome.model.blocks, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(Next(b), std::nullopt);
}

TEST_P(RoundsOnEveryStore, EndAStepWhenEverybodyHasAnsweredAndSendWhatChanged) {
  Start();
  const std::vector<TestClient> clients = {Join("a"), Join("b"), Join("c")};
  for (const auto& client : clients) Expect<Welcome>(client);
  Answer(clients[0], 0, 1, 3);
  Answer(clients[2], 0, 2, 3);
  EXPECT_EQ(step(), 0U);
  now_ += seconds(100000);  // all means all, whatever the deadline
  rounds_->Commit(now_);
  EXPECT_EQ(step(), 0U);
  Answer(clients[1], 0, 1, 3);
  EXPECT_EQ(step(), 1U);
  for (const auto& client : clients) {
    const auto change = Expect<ModelChange>(client);
    EXPECT_EQ(change.step, 1U);
    EXPECT_THAT(change.blocks, ElementsAre(1, 2));
    EXPECT_THAT(change.values, ElementsAre(-2, -2, -2, -2, -1, -1, -1, -1));  // means of three
    EXPECT_EQ(Next(client), std::nullopt);
  }
}

TEST_F(RoundsOfAFederation, GiveASlowClientTheNewestModelAndNoQueue) {
  options_.quorum.count = 1;
  options_.deadline = milliseconds(0);
  Start();
  const TestClient fast = Join("a");
  const TestClient slow = Join("b");
  Expect<Welcome>(slow);
  for (std::uint32_t t = 0; t < 3; ++t) Answer(fast, t, t);
  const auto change = Expect<ModelChange>(slow);
  EXPECT_EQ(change.step, 3U);
  EXPECT_THAT(change.blocks, ElementsAre(0, 1, 2));
  EXPECT_EQ(Next(slow), std::nullopt);
}

TEST_F(RoundsOfAFederation, EndAStepAtTheDeadlineWithAQuorum) {
  options_.quorum.share = 0.6;  // two of three that are there
  options_.deadline = seconds(10);
  Start();
  const std::vector<TestClient> clients = {Join("a"), Join("b"), Join("c")};
  Answer(clients[0], 0);
  now_ += seconds(11);
  rounds_->Commit(now_);
  EXPECT_EQ(step(), 0U) << "one is no quorum";
  Answer(clients[1], 0);
  EXPECT_EQ(step(), 1U) << "the deadline has passed";
  Answer(clients[2], 0);
  EXPECT_EQ(rounds_->status().late, 1U);
  EXPECT_EQ(rounds_->status().rejected, 0U);
  Answer(clients[0], 1);
  Answer(clients[1], 1);
  rounds_->Commit(now_ + seconds(9));
  EXPECT_EQ(step(), 1U);
  rounds_->Commit(now_ + seconds(10));
  EXPECT_EQ(step(), 2U);
}

TEST_F(RoundsOfAFederation, LastTwoDeadlinesWhenMostFallSilentAtOnce) {
  options_.roster = {};
  options_.quorum = {};
  options_.deadline = seconds(10);
  Start();
  std::vector<TestClient> clients;
  for (int k = 0; k < 6; ++k) clients.push_back(Join("c" + std::to_string(k)));
  Answer(clients[0], 0);
  Answer(clients[1], 0);
  rounds_->Commit(now_ + seconds(19));
  EXPECT_EQ(step(), 0U) << "two of six are no 80 %";
  rounds_->Commit(now_ + seconds(20));
  EXPECT_EQ(step(), 1U);
  Answer(clients[0], 1);
  EXPECT_EQ(step(), 1U) << "one is too few, whoever is silent";
  Answer(clients[1], 1);
  EXPECT_EQ(step(), 2U) << "nobody waits for the silent any more";
  Leave(clients[1]);
  Answer(clients[0], 2);
  rounds_->Commit(now_ + seconds(1000));
  EXPECT_EQ(step(), 2U);
}

TEST_P(RoundsOnEveryStore, DoNotWaitForWhoCameAndWentWithoutAnAnswer) {
  options_.roster = {};
  Start();
  const TestClient a = Join("a");
  const TestClient mistaken = Join("b");
  Join("b");  // a second connection takes the place of the first
  Answer(a, 0);
  EXPECT_EQ(step(), 0U) << "all means all who are here";
  EXPECT_EQ(rounds_->status().needed, 2U);
  EXPECT_THAT(rounds_->status().missing, ElementsAre("b"));
  Leave(mistaken);
  EXPECT_EQ(step(), 0U);
  const TestClient again = Join("b");
  Leave(again);
  EXPECT_EQ(step(), 1U);
  Start();  // nor when the server starts again
  const TestClient now = Join("a");
  Answer(now, 1);
  EXPECT_EQ(step(), 2U);
  const TestClient b = Join("b");
  Answer(b, 2);
  Answer(now, 2);
  EXPECT_EQ(step(), 3U);
  Leave(b);
  Answer(now, 3);
  EXPECT_EQ(step(), 3U) << "who has answered once is waited for";
  EXPECT_THAT(rounds_->status().missing, ElementsAre("b"));
}

TEST_F(RoundsOfAFederation, WaitForASilentClientOnceAndForOneThatAnswersLateAgain) {
  options_.quorum.count = 1;
  options_.deadline = seconds(10);
  Start();
  const TestClient a = Join("a");
  const TestClient b = Join("b");
  Answer(a, 0);
  EXPECT_EQ(step(), 0U);  // b may still answer
  now_ += seconds(10);
  rounds_->Commit(now_);
  EXPECT_EQ(step(), 1U);
  Answer(a, 1);
  EXPECT_EQ(step(), 2U);  // b did not, and costs nothing any more
  Leave(b);
  const TestClient again = Join("b");  // nor does a new connection
  Answer(a, 2);
  EXPECT_EQ(step(), 3U);
  Answer(again, 1);  // late, but it is there
  Answer(a, 3);
  EXPECT_EQ(step(), 3U);
  Answer(again, 3);
  EXPECT_EQ(step(), 4U);
  EXPECT_EQ(rounds_->status().late, 1U);
}

TEST_F(RoundsOfAFederation, DoNotWaitForThoseWhoLeft) {
  options_.quorum.count = 2;
  Start();
  const std::vector<TestClient> clients = {Join("a"), Join("b"), Join("c")};
  Answer(clients[0], 0);
  Answer(clients[1], 0);
  EXPECT_EQ(step(), 0U);
  Leave(clients[2]);
  EXPECT_EQ(step(), 1U);
}

TEST_F(RoundsOfAFederation, CountAnAnswerOnceWhateverTheConnection) {
  Start();
  const TestClient first = Join("a");
  Answer(first, 0);
  const TestClient again = Join("a");
  EXPECT_EQ(EndOf(first)->kind, Ending::Kind::kReplaced);
  Expect<Welcome>(again);
  Answer(again, 0);  // it cannot know that the first one arrived
  EXPECT_EQ(Next(again), std::nullopt);
  EXPECT_EQ(rounds_->status().duplicates, 1U);
  Answer(again, 0);  // but now it could
  EXPECT_THAT(Expect<Verdict>(again).reason, HasSubstr("was answered before"));
  EXPECT_EQ(rounds_->status().accepted, 1U);
  Leave(first);
  EXPECT_EQ(rounds_->status().connected, 1U);
}

TEST_P(RoundsOnEveryStore, ResumeAfterARestartAndAskForOpenAnswersAgain) {
  Start();
  for (const char* name : {"a", "b", "c"}) Answer(Join(name), 0);
  const TestClient a = Join("a");
  Answer(a, 1, 0, 5);
  Start();
  EXPECT_EQ(step(), 1U);
  const std::vector<TestClient> clients = {Join("a"), Join("b"), Join("c")};
  EXPECT_EQ(Expect<Welcome>(clients[0]).model.step, 1U);
  Expect<Welcome>(clients[1]);
  for (const auto& client : clients) Answer(client, 1, 0, 5);
  EXPECT_EQ(step(), 2U);
  EXPECT_THAT(Expect<ModelChange>(clients[1]).values, ElementsAre(-6, -6, -6, -6));
  for (const StoredClient& client : store_->Contents().clients) EXPECT_EQ(client.accepted, 2U);
}

/// Writes down what it hears.
class ListeningObserver final : public RoundsObserver {
 public:
  void Event(const std::string& client, const std::string& event,
             const std::string& detail) override {
    heard.push_back(client + " " + event);
    if (event == "joined") joined.push_back(detail);
  }
  void StepEnded(std::uint64_t step, std::size_t participants, Rounds::Time first) override {
    heard.push_back("step " + std::to_string(step) + " of " + std::to_string(participants));
    firsts.push_back(first);
  }
  std::vector<std::string> heard;
  std::vector<std::string> joined;
  std::vector<Rounds::Time> firsts;
};

TEST_F(RoundsOfAFederation, TellTheirObserverWhatHappens) {
  ListeningObserver observer;
  options_.roster = {"a", "b"};
  options_.observer = &observer;
  Start();
  const TestClient a = Join("a");
  const TestClient b = Join("b");
  Join("stranger");
  Answer(a, 0, 9);  // there is no such kernel
  Answer(a, 0);
  const Rounds::Time first = now_;
  now_ += seconds(3);
  Answer(b, 0);
  rounds_->Refused("c", "revoked");
  Leave(b);
  Join("b");
  EXPECT_THAT(observer.heard, ElementsAre("a joined", "b joined", "stranger refused", "a rejected",
                                          "step 1 of 2", "c refused", "b left", "b joined"));
  EXPECT_THAT(observer.joined, ElementsAre("at step 0", "at step 0", "at step 1"));
  EXPECT_THAT(observer.firsts, ElementsAre(first));
  EXPECT_EQ(rounds_->status().refused, 2U);
  rounds_.reset();  // before its observer
}

TEST_F(RoundsOfAFederation, CountClippedLabelsAndTellOfEachClientOnce) {
  ListeningObserver observer;
  options_.roster = {"a", "b"};
  options_.observer = &observer;
  Start();
  const TestClient a = Join("a");
  const TestClient b = Join("b");
  for (std::uint64_t step = 0; step < 3; ++step) {
    Answer(a, step, 0, 1, step + 1);
    Answer(a, step, 0, 1, 50);  // again, which does not count
    Answer(b, step, 0, 1, step == 2 ? 4 : 0);
  }
  EXPECT_EQ(rounds_->status().clipped, 1 + 2 + 3 + 4U);
  EXPECT_THAT(observer.heard,
              ElementsAre("a joined", "b joined", "a clipped", "a rejected", "step 1 of 2",
                          "a rejected", "step 2 of 2", "a rejected", "b clipped", "step 3 of 2"));
  rounds_.reset();  // before its observer
}

TEST_F(RoundsOfAFederation, PutReportsTogetherByHowManyPredictionsTheyAreAbout) {
  Start();
  const TestClient a = Join("a");
  const TestClient b = Join("b");
  EXPECT_EQ(rounds_->status().reporting, 0U);
  rounds_->Note(a.session, {10, 0.5, 4});
  rounds_->Note(a.session, {30, 0.1, 5});  // takes the place of the one before
  rounds_->Note(b.session, {10, 0.5, -1});
  Leave(b);
  rounds_->Note(b.session, {99, 9, 9});  // of nobody
  const RoundsStatus status = rounds_->status();
  EXPECT_EQ(status.reporting, 2U);
  EXPECT_DOUBLE_EQ(status.reported_squared_error, (30 * 0.1 + 10 * 0.5) / 40);
  EXPECT_DOUBLE_EQ(status.reported_regret, 2);
  EXPECT_EQ(status.reported_skill, std::nullopt);  // nobody has told what a guess costs
  rounds_->Note(a.session, {30, 0.1, 5, 0.4});
  EXPECT_DOUBLE_EQ(rounds_->status().reported_skill.value(), 0.75);
}

TEST_P(RoundsOnEveryStore, EndWhenTheyShouldAndSaySo) {
  options_.steps = 1;
  options_.roster = {"a"};
  Start();
  const TestClient a = Join("a");
  EXPECT_FALSE(Expect<Welcome>(a).model.finished);
  Answer(a, 0);
  EXPECT_TRUE(Expect<ModelChange>(a).finished);
  Answer(a, 1);
  EXPECT_THAT(Expect<Verdict>(a).reason, HasSubstr("ended"));
  EXPECT_THAT(rounds_->status().rejected_for, ElementsAre(Pair("ended", 1)));
  Start();
  EXPECT_TRUE(Expect<Welcome>(Join("a")).model.finished);
}

TEST(AQuorum, IsANumberOrAShareOfThoseThatCount) {
  EXPECT_EQ(Quorum{}.Of(8), 7U);
  EXPECT_EQ(Quorum::All().Of(8), 8U);
  EXPECT_EQ(Quorum{}.Of(0), 1U);
  EXPECT_EQ((Quorum{.count = 3}.Of(8)), 3U);
  EXPECT_EQ((Quorum{.count = 0, .share = 0.5}.Of(7)), 4U);
  EXPECT_EQ((Quorum{.count = 0, .share = 0.01}.Of(7)), 1U);
}

}  // namespace
}  // namespace polykern
