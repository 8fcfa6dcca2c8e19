// Rounds of a federation that learns its ranges first.
#include <chrono>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/error.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/rounds/rounds_testing.h"

namespace polykern {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::ThrowsMessage;

class RoundsThatLearnRanges : public RoundsOfAFederation {
 protected:
  RoundsThatLearnRanges() {
    configuration_.scaling = "range";
    configuration_.columns = {{"u"}, {"v"}, {"w"}};
    configuration_.learn_ranges = 5;
    algorithm_ = MakeAlgorithm(configuration_);
    known_ = configuration_;
    known_.learn_ranges = 0;
    known_.columns = {{"u", -1, 11}, {"v", -1, 11}, {"w", -1, 11}};
    known_.target = {"", -10, 110};
  }

  void Tell(const TestClient& client, double least, double greatest) {
    Tell(client,
         {{least, least, least, 10 * least}, {greatest, greatest, greatest, 10 * greatest}});
  }
  void Tell(const TestClient& client, const ClientRanges& ranges) {
    rounds_->Receive(client.session, ranges, now_);
    Write();
  }
  /// As a server that is started again: it asks the store what the federation is.
  void StartAgain() {
    configuration_ = FromTexts(store_->Contents().configuration);
    Start();
  }
  ConfigurationTexts Stored() { return store_->Contents().configuration; }

  FederationConfiguration known_;  // when the clients have told 0 to 10 and labels from 0 to 100
};

TEST_F(RoundsThatLearnRanges, WelcomeEverybodyAgainWhenAllHaveTold) {
  Start();
  const TestClient a = Join("a");
  const TestClient b = Join("b");
  EXPECT_EQ(Expect<Welcome>(a).configuration, ToTexts(configuration_));
  EXPECT_FALSE(Expect<Welcome>(b).has_ranges);
  Tell(a, 0, 4);
  Tell(b, 3, 10);
  EXPECT_EQ(Next(a), std::nullopt) << "c has not told";
  EXPECT_TRUE(rounds_->status().learns_ranges);
  EXPECT_EQ(rounds_->status().answered, 2U);
  EXPECT_EQ(rounds_->status().needed, 3U);
  EXPECT_THAT(rounds_->status().missing, testing::ElementsAre("c"));
  const TestClient c = Join("c");
  Expect<Welcome>(c);
  const int woken = a.peer->wakes;
  Tell(c, 1, 2);
  EXPECT_GT(a.peer->wakes, woken);
  EXPECT_FALSE(rounds_->status().learns_ranges);
  EXPECT_EQ(Stored(), ToTexts(known_));
  for (const TestClient& client : {a, b, c}) {
    const auto welcome = Expect<Welcome>(client);
    EXPECT_EQ(welcome.configuration, ToTexts(known_));
    EXPECT_EQ(welcome.model.step, 0U);
  }
  for (const TestClient& client : {a, b, c}) Answer(client, 0, 0, 0.01F);
  EXPECT_EQ(step(), 1U);
  EXPECT_EQ(Expect<ModelChange>(a).step, 1U);
}

TEST_F(RoundsThatLearnRanges, KeepThemWhenTheServerIsStartedAgain) {
  on_disk_ = true;
  Start();
  TestClient a = Join("a");
  Tell(a, 0, 4);
  StartAgain();
  EXPECT_TRUE(rounds_->status().learns_ranges);
  a = Join("a");
  EXPECT_FALSE(Expect<Welcome>(a).has_ranges) << "what was not on the disk has to be told again";
  Tell(a, 0, 4);
  Tell(Join("b"), 0, 10);
  Tell(Join("c"), 0, 1);
  StartAgain();
  EXPECT_FALSE(rounds_->status().learns_ranges);
  EXPECT_EQ(Expect<Welcome>(Join("a")).configuration, ToTexts(known_));
}

TEST_F(RoundsThatLearnRanges, KnowWhoHasTold) {
  Start();
  const TestClient a = Join("a");
  Tell(a, 0, 4);
  Leave(a);
  const TestClient again = Join("a");
  EXPECT_TRUE(Expect<Welcome>(again).has_ranges);
  Tell(again, 0, 4);
  EXPECT_EQ(rounds_->status().duplicates, 1U);
  EXPECT_EQ(rounds_->status().answered, 1U);
}

TEST_F(RoundsThatLearnRanges, AnswerWhatCannotBeAndChangeNothing) {
  Start();
  const TestClient a = Join("a");
  Expect<Welcome>(a);
  Answer(a, 0);
  EXPECT_THAT(Expect<Verdict>(a).reason, HasSubstr("no steps before the ranges are learnt"));
  Tell(a, {{0, 0, 0}, {1, 1, 1}});
  EXPECT_THAT(Expect<Verdict>(a).reason, HasSubstr("there are 4"));
  Tell(a, 0, 1);
  EXPECT_THAT(Expect<Verdict>(a).reason, HasSubstr("twice on one connection"));
  const TestClient back = Join("a");
  Expect<Welcome>(back);
  Tell(back, std::numeric_limits<double>::quiet_NaN(), 1);
  EXPECT_THAT(Expect<Verdict>(back).reason, HasSubstr("not finite"));
  Tell(Join("a"), 0, 1);
  const TestClient liar = Join("a");
  Expect<Welcome>(liar);
  Tell(liar, 0, 2);
  EXPECT_THAT(Expect<Verdict>(liar).reason, HasSubstr("sent different ranges before"));
  EXPECT_EQ(Expect<Busy>(liar).latest_milliseconds, 30000U) << "five are too many";
  EXPECT_EQ(rounds_->status().rejected, 5U);
  Tell(Join("b"), 0, 10);
  Tell(Join("c"), 0, 10);
  EXPECT_EQ(Stored(), ToTexts(known_)) << "what was told first counts";
}

TEST_F(RoundsThatLearnRanges, ContinueWithAQuorumWhenADeadlineHasPassed) {
  options_.quorum.count = 2;
  Start();
  const TestClient a = Join("a");
  const TestClient b = Join("b");
  const TestClient c = Join("c");
  Tell(a, 0, 4);
  now_ += options_.deadline;
  Write();
  EXPECT_TRUE(rounds_->status().learns_ranges) << "no quorum";
  Tell(b, 0, 10);
  EXPECT_FALSE(rounds_->status().learns_ranges);
  Expect<Welcome>(c);
  Tell(c, 0, 50);
  EXPECT_EQ(rounds_->status().late, 1U);
  EXPECT_EQ(Stored(), ToTexts(known_));
}

TEST_F(RoundsThatLearnRanges, DoNotWaitForWhoNeverCame) {
  options_.quorum.share = 0.6;
  Start();
  const TestClient a = Join("a");
  const TestClient b = Join("b");
  Tell(a, 0, 4);
  Tell(b, 0, 10);
  EXPECT_EQ(Stored(), ToTexts(known_));
  Answer(a, 0, 0, 0.01F);
  Answer(b, 0, 0, 0.01F);
  EXPECT_EQ(step(), 1U);
}

TEST_F(RoundsThatLearnRanges, NeedToKnowWhoseSamplesCount) {
  options_.roster.clear();
  EXPECT_THAT([&] { Start(); }, ThrowsMessage<Error>(HasSubstr("clients=NAME,NAME")));
  options_.quorum.count = 2;
  Start();
  EXPECT_EQ(rounds_->longest_ranges(), LongestRanges(3));
  const TestClient a = Join("a");
  Tell(a, 0, 4);
  EXPECT_TRUE(rounds_->status().learns_ranges) << "one is no quorum";
  Leave(a);
  Tell(Join("b"), 0, 10);
  EXPECT_EQ(Stored(), ToTexts(known_));
  EXPECT_EQ(rounds_->longest_ranges(), 0U);
}

TEST_F(RoundsThatLearnRanges, AreNeverAsynchronous) {
  configuration_.algorithm = "pof-newton";
  algorithm_ = MakeAlgorithm(configuration_);
  options_.asynchronous = true;
  EXPECT_THAT([&] { Start(); }, ThrowsMessage<Error>(HasSubstr("leave out mode=async")));
}

}  // namespace
}  // namespace polykern
