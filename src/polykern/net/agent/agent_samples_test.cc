// Rounds of an agent that keeps its samples: what is sent with the next answer, and what again.
#include <initializer_list>
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/error.h"
#include "polykern/net/agent/agent_rounds_testing.h"

namespace polykern {
namespace {

/// An agent of pof-gram, which keeps its samples.
class KeepingRoundsTest : public AgentRoundsTest {
 protected:
  KeepingRoundsTest() {
    configuration.algorithm = "pof-gram";
    configuration.options.experts = Experts::kFederated;
    algorithm = MakeAlgorithm(configuration);
  }
  ModelChange Turn(std::uint64_t step, std::uint64_t counted) const {
    ModelChange change = TakeBlocks(algorithm->shape(), ModelOf(step), {0, 1, 2, 3});
    change.turn = {1};
    change.counted = counted;
    return change;
  }
  Welcome WelcomeTo(std::uint64_t step) const {
    Welcome welcome = WelcomeAt(0);
    welcome.model = Turn(step, 0);
    return welcome;
  }
  static Updates Sent(const std::string& update) {
    return std::get<Updates>(DecodeClientMessage(update));
  }
  /// Labels that come while there is no step to answer.
  static void LearnMore(AgentRounds& rounds, std::initializer_list<double> labels) {
    for (const double y : labels) {
      rounds.Predict(kX);
      const auto [learnt, update] = rounds.Learn(y, {}, {});
      EXPECT_TRUE(learnt);
      EXPECT_EQ(update, "");
    }
  }
};

TEST_F(KeepingRoundsTest, SendHowManyLabelsWereClippedSinceTheLastAnswer) {
  AgentRounds rounds;
  rounds.Take(WelcomeTo(0));
  const auto learn = [&](bool clipped) {
    rounds.Predict(kX);
    return rounds.Learn(1, {}, {}, clipped).update;
  };
  EXPECT_EQ(Sent(learn(true)).clipped, std::vector<std::uint64_t>{1});
  for (const bool clipped : {true, false, true}) EXPECT_EQ(learn(clipped), "");
  rounds.Take(Turn(1, 1));
  EXPECT_EQ(Sent(learn(true)).clipped, std::vector<std::uint64_t>{3});
  rounds.Take(Turn(2, 2));
  EXPECT_TRUE(Sent(learn(false)).clipped.empty());
  EXPECT_EQ(rounds.status().clipped, 4U);
}

TEST_F(KeepingRoundsTest, SendLabelsThatCameFasterThanStepsWithTheNextAnswer) {
  AgentRounds rounds;
  rounds.Take(WelcomeTo(0));
  EXPECT_EQ(Sent(Answer(rounds)).samples, std::vector<std::uint64_t>{1});
  LearnMore(rounds, {0.2, 0.4, 0.9});
  rounds.Take(Turn(1, 1));
  const Updates sent = Sent(Answer(rounds));
  EXPECT_EQ(sent.samples, std::vector<std::uint64_t>{4});
  EXPECT_EQ(sent.fresh[0].samples, 4U);
  EXPECT_EQ(rounds.status().learnt, 5U);
  EXPECT_EQ(rounds.status().unlearnt, 0U);
}

TEST_F(KeepingRoundsTest, SendAgainWhatTheServerDidNotCount) {
  AgentRounds rounds;
  rounds.Take(WelcomeTo(0));
  Answer(rounds, 0.3);
  rounds.Take(Turn(1, 0));  // it came too late
  const Updates sent = Sent(Answer(rounds, 0.6));
  EXPECT_EQ(sent.samples, std::vector<std::uint64_t>{2});
  rounds.Take(Turn(2, 2));
  EXPECT_EQ(Sent(Answer(rounds, 0.6)).samples, std::vector<std::uint64_t>{1});
}

TEST_F(KeepingRoundsTest, SendAgainWhatWasRejectedWhereLateUpdatesCount) {
  AgentRounds rounds;
  Welcome welcome = WelcomeTo(0);
  welcome.uses_late = true;
  rounds.Take(welcome);
  Answer(rounds, 0.3);
  rounds.Take(Turn(1, 0));
  LearnMore(rounds, {0.1});  // its fate is not known yet
  rounds.Take(Verdict{0, false, "no"});
  EXPECT_EQ(Sent(Answer(rounds, 0.6)).samples, std::vector<std::uint64_t>{3});
  rounds.Take(Turn(2, 0));
  rounds.Take(Verdict{1, true});
  EXPECT_EQ(Sent(Answer(rounds, 0.6)).samples, std::vector<std::uint64_t>{1});
}

TEST_F(KeepingRoundsTest, ContinueWithTheirSamplesAfterAStop) {
  AgentRounds whole;
  whole.Take(WelcomeTo(0));
  AgentState kept;
  whole.Predict(kX);
  whole.Learn(0.4, {}, [&](const AgentState& state) { kept = state; });
  EXPECT_FALSE(whole.Unkept());
  EXPECT_EQ(kept.samples.y, std::vector<double>{0.4});
  LearnMore(whole, {0.1, 0.8});
  ASSERT_TRUE(whole.Unkept());
  EXPECT_EQ(whole.Unkept()->samples.y, (std::vector<double>{0.4, 0.1, 0.8}));
  AgentRounds again(*whole.Unkept(), "state");
  Welcome welcome = WelcomeTo(1);
  welcome.answered = 1;
  EXPECT_EQ(again.Take(welcome), "");
  whole.Take(Turn(1, 1));
  EXPECT_EQ(Answer(again, 0.5), Answer(whole, 0.5));
}

TEST_F(KeepingRoundsTest, AreAsIfNothingHadHappenedWhenAStateCannotBeWritten) {
  AgentRounds rounds;
  rounds.Take(WelcomeTo(0));
  const auto no_room = [](const AgentState&) { throw Error("the disk is full"); };
  for (int n = 0; n < 2; ++n) {
    rounds.Predict(kX);
    EXPECT_FALSE(rounds.Learn(0.5, {}, no_room).learnt);
  }
  rounds.Predict(kX);
  EXPECT_EQ(Sent(rounds.Learn(0.5, {}, {}).update).samples, std::vector<std::uint64_t>{1});
}

}  // namespace
}  // namespace polykern
