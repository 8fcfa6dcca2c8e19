#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>

#include "polykern/io/folder_testing.h"
#include "polykern/net/agent/agent_rounds_testing.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/wire.h"

namespace polykern {
namespace {

using testing::HasSubstr;

TEST_F(AgentRoundsTest, BeginWithoutAModel) {
  const AgentRounds rounds;
  EXPECT_FALSE(rounds.has_model());
  EXPECT_FALSE(rounds.HasStep());
  EXPECT_TRUE(rounds.IsCounted());  // nothing waits to be
  EXPECT_EQ(rounds.hello().next_step, 0U);
  EXPECT_EQ(rounds.hello().version, kProtocolVersion);
  EXPECT_FALSE(rounds.status().ready);
}

TEST_F(AgentRoundsTest, PredictAndLearnAsAClientOfTheFederationDoes) {
  AgentRounds rounds;
  EXPECT_EQ(rounds.Take(WelcomeAt(0)), "");
  Clients client(*algorithm, 7, 1);
  ClientRound twin(*algorithm);
  double squared_error = 0;
  for (std::uint64_t step = 0; step < 20; ++step) {
    if (step > 0) rounds.Take(Change(step));
    const Broadcast model = ModelOf(step);
    std::array<float, 3> x = kX;
    x[0] = 0.05F * static_cast<float>(step);
    const double y = 0.5 + 0.02 * static_cast<double>(step);

    const AgentPrediction prediction = rounds.Predict(x);
    twin.Predict(model, client, 0, x, std::array<std::uint8_t, 1>{1});
    EXPECT_EQ(prediction.step, step);
    EXPECT_EQ(prediction.value, algorithm->loss().Predicted(twin.predictions()[0]));
    EXPECT_EQ(rounds.Learn(y, {}, {}).update, Encode(twin.Learn(std::array{y})));
    squared_error += std::pow(prediction.value - y, 2);
  }
  const AgentStatus status = rounds.status();
  EXPECT_EQ(status.learnt, 20U);
  EXPECT_EQ(status.unlearnt, 0U);
  EXPECT_EQ(status.client, 7U);
  EXPECT_EQ(status.report.predictions, 20U);
  EXPECT_NEAR(status.report.squared_error, squared_error / 20, 1e-12);
}

TEST_F(AgentRoundsTest, AnswerAStepOnce) {
  AgentRounds rounds;
  rounds.Take(WelcomeAt(5));
  EXPECT_TRUE(rounds.HasStep());
  EXPECT_EQ(StepOf(Answer(rounds)), 5U);
  EXPECT_EQ(rounds.hello().next_step, 6U);
  EXPECT_FALSE(rounds.HasStep());
  EXPECT_FALSE(rounds.IsCounted());
  rounds.Predict(kX);
  EXPECT_FALSE(rounds.Learn(0.5, {}, {}).learnt);
  EXPECT_EQ(rounds.status().unlearnt, 1U);
  rounds.Take(Change(6));
  EXPECT_TRUE(rounds.HasStep());
  EXPECT_TRUE(rounds.IsCounted());
  EXPECT_EQ(StepOf(Answer(rounds)), 6U);
}

TEST_F(AgentRoundsTest, LearnWithTheModelThatPredictedWhateverCameMeanwhile) {
  AgentRounds rounds;
  AgentRounds twin;
  rounds.Take(WelcomeAt(1));
  twin.Take(WelcomeAt(1));
  const AgentPrediction prediction = rounds.Predict(kX);
  rounds.Take(Change(2));
  EXPECT_EQ(prediction.step, 1U);
  EXPECT_EQ(rounds.Learn(0.5, {}, {}).update, Answer(twin));
  EXPECT_TRUE(rounds.HasStep());  // the second step is not answered
}

TEST_F(AgentRoundsTest, EndWithTheFederation) {
  AgentRounds rounds;
  rounds.Take(WelcomeAt(1));
  Answer(rounds);
  rounds.Take(Change(2, true));
  EXPECT_TRUE(rounds.status().finished);
  EXPECT_TRUE(rounds.HasStep());
  EXPECT_TRUE(rounds.IsCounted());
  rounds.Predict(kX);
  EXPECT_FALSE(rounds.Learn(0.5, {}, {}).learnt);
}

TEST_F(AgentRoundsTest, RefuseSamplesOfAnotherSize) {
  AgentRounds rounds;
  rounds.Take(WelcomeAt(0));
  EXPECT_EQ(MessageOf([&] {
              rounds.Predict(std::array{1.0F, 2.0F});
            }),
            "a sample has 2 inputs, the federation works with 3");
}

TEST_F(AgentRoundsTest, TakeBackWhatCannotBeLearntFrom) {
  AgentRounds rounds;
  AgentRounds twin;
  rounds.Take(WelcomeAt(0));
  twin.Take(WelcomeAt(0));
  rounds.Predict(kX);
  for (const double bad : {1e300, std::numeric_limits<double>::infinity(), std::nan("")}) {
    EXPECT_THROW(rounds.Learn(bad, {}, {}), UnusableSample) << bad;
    EXPECT_THAT(MessageOf([&] { rounds.Learn(bad, {}, {}); }),
                HasSubstr("its label cannot be learnt from: "));
  }
  EXPECT_EQ(rounds.status().learnt, 0U);
  EXPECT_EQ(rounds.hello().next_step, 0U);
  // The same sample may get another label, as if nothing had happened.
  EXPECT_EQ(rounds.Learn(0.5, {}, {}).update, Answer(twin));
}

TEST_F(AgentRoundsTest, LearnNothingThatIsNotKept) {
  AgentRounds rounds;
  AgentRounds twin;
  rounds.Take(WelcomeAt(0));
  twin.Take(WelcomeAt(0));
  rounds.Predict(kX);
  const auto no_room = [](const AgentState&) { throw Error("the disk is full"); };
  EXPECT_FALSE(rounds.Learn(0.5, {}, no_room).learnt);
  EXPECT_EQ(rounds.status().not_learnt, "the disk is full");
  EXPECT_EQ(rounds.status().unlearnt, 1U);
  EXPECT_EQ(rounds.hello().next_step, 0U);
  EXPECT_EQ(Answer(rounds), Answer(twin));
  EXPECT_EQ(rounds.status().not_learnt, "");
}

TEST_F(AgentRoundsTest, DoNotBlameASampleForABadModel) {
  for (const bool ranged : {false, true}) {
    configuration.labels = ranged ? "range" : "none";
    AgentRounds rounds;
    AgentRounds twin;
    rounds.Take(WelcomeAt(0));
    twin.Take(WelcomeAt(0));
    ModelChange bad = Change(1);
    for (float& value : bad.values) value = 1e6F;
    rounds.Take(bad);
    EXPECT_GT(std::abs(rounds.Predict(kX).value), 1000);
    EXPECT_FALSE(rounds.Learn(0.5, {}, {}).learnt);
    EXPECT_THAT(rounds.status().not_learnt, HasSubstr("the model of step 1 predicts up to "));
    EXPECT_EQ(rounds.hello().next_step, 0U);
    rounds.Take(Change(2));  // a good one: everything is as if that step had not been there
    twin.Take(Change(2));
    EXPECT_EQ(Answer(rounds), Answer(twin));
    EXPECT_EQ(rounds.status().not_learnt, "");
    // With a range no honest label is outside it.
    rounds.Take(Change(3));
    rounds.Predict(kX);
    if (!ranged) continue;
    EXPECT_THROW(rounds.Learn(200, {}, {}), UnusableSample);
  }
}

TEST_F(AgentRoundsTest, ResumeFromWhatWasKept) {
  AgentRounds first;
  AgentState kept;
  const auto keep = [&](const AgentState& state) { kept = state; };
  first.Take(WelcomeAt(0));
  first.Predict(kX);
  const std::string update = first.Learn(0.9, {.line = 4, .bytes = 40, .sum = 400}, keep).update;
  EXPECT_EQ(kept.update, update);
  EXPECT_EQ(kept.next_step, 1U);

  AgentRounds second(kept, "a.state");
  EXPECT_TRUE(second.has_model());  // it can predict before it is connected
  EXPECT_FALSE(second.HasStep());
  EXPECT_EQ(second.position().line, 4U);
  EXPECT_EQ(second.position().bytes, 40U);
  EXPECT_EQ(second.hello().next_step, 1U);
  EXPECT_EQ(second.configuration().problem.dimension, 3U);
  first.Take(Change(1));
  second.Take(WelcomeAt(1, 1));
  EXPECT_EQ(Answer(second), Answer(first));  // with the private state of the first
}

TEST_F(AgentRoundsTest, HaveIntervalsThatResumeFromWhatWasKept) {
  AgentRounds first;
  first.Cover(0.9);
  first.Take(WelcomeAt(0));
  EXPECT_FALSE(first.Predict(kX).interval);
  AgentState kept;
  first.Learn(0.9, {}, [&](const AgentState& state) { kept = state; });
  first.Take(Change(1));
  const auto interval = first.Predict(kX).interval;
  ASSERT_TRUE(interval);
  EXPECT_EQ(kept.interval.size(), IntervalTracker(0.9, 3).StateSize());

  AgentRounds second(kept, "a.state");
  EXPECT_FALSE(second.Predict(kX).interval);  // nobody asked for one
  second.Take(WelcomeAt(1, 1));
  second.Cover(0.9);
  EXPECT_EQ(second.Predict(kX).interval, interval);
  second.Cover(0.8);  // of another coverage nothing is known
  EXPECT_FALSE(second.Predict(kX).interval);
  EXPECT_THROW(second.Cover(1), Error);

  kept.interval = {0.9, 0.25, 0, 7};  // as older agents kept them
  AgentRounds third(kept, "a.state");
  third.Cover(0.9);
  const AgentPrediction old = third.Predict(kX);
  EXPECT_EQ(old.interval, (Interval{old.value - 0.25, old.value + 0.25}));
}

TEST_F(AgentRoundsTest, MoveTheirIntervalByWhatWasToldAndByLabelsThatAreNotLearnt) {
  AgentRounds rounds;
  rounds.Cover(0.9);
  rounds.Take(WelcomeAt(0));
  IntervalTracker twin(0.9, 3);
  const auto expect_same = [&] {
    const AgentPrediction made = rounds.Predict(kX);
    EXPECT_EQ(made.interval, twin.Around(made.value, kX));
  };
  rounds.Predict(kX);
  rounds.Learn(0.5, {}, {}, false, AgentPrediction{0.25, 0, std::nullopt});
  twin.Take(0.5, 0.25, kX, std::nullopt);
  expect_same();
  const Interval told = {0.9, 1.1};
  EXPECT_FALSE(rounds.Learn(0.5, {}, {}, false, AgentPrediction{1, 0, told}).learnt);
  twin.Take(0.5, 1, kX, told);
  expect_same();
  rounds.Take(Change(1));
  rounds.Predict(kX);
  EXPECT_THROW(rounds.Learn(1e300, {}, {}), UnusableSample);
  expect_same();
}

TEST_F(AgentRoundsTest, DoNotResumeFromNonsense) {
  AgentRounds rounds;
  AgentState kept;
  rounds.Take(WelcomeAt(0));
  rounds.Predict(kX);
  rounds.Learn(0.5, {}, [&](const AgentState& state) { kept = state; });
  AgentState bad = kept;
  bad.model = Encode(Busy{});
  EXPECT_EQ(MessageOf([&] { AgentRounds(bad, "a.state"); }),
            "a.state: damaged; remove it to start over");
  bad = kept;
  bad.private_state.pop_back();
  EXPECT_THROW(AgentRounds(bad, "a.state"), Error);
  bad = kept;
  bad.configuration.erase("algorithm");
  EXPECT_THROW(AgentRounds(bad, "a.state"), Error);
}

TEST_F(AgentRoundsTest, SendAnUpdateAgainThatIsNotCounted) {
  AgentRounds rounds;
  rounds.Take(WelcomeAt(3));
  const std::string update = Answer(rounds);
  EXPECT_EQ(rounds.Take(WelcomeAt(3, 3)), update);        // the step is still open
  EXPECT_EQ(rounds.Take(WelcomeAt(3, 4)), "");            // it counts already
  EXPECT_EQ(rounds.Take(WelcomeAt(4, 3)), "");            // too late: of no use
  EXPECT_EQ(rounds.Take(WelcomeAt(4, 3, true)), update);  // unless late ones count
}

TEST_F(AgentRoundsTest, WaitForTheLastUpdateWhereLateOnesCount) {
  AgentRounds rounds;
  rounds.Take(WelcomeAt(3, 0, true));
  Answer(rounds);
  rounds.Take(Change(9));
  EXPECT_FALSE(rounds.HasStep());  // a newer model is not enough
  EXPECT_FALSE(rounds.IsCounted());
  EXPECT_EQ(rounds.Take(Verdict{.step = 3, .accepted = true}), "");
  EXPECT_TRUE(rounds.HasStep());
  EXPECT_TRUE(rounds.IsCounted());
  EXPECT_EQ(StepOf(Answer(rounds)), 9U);
}

TEST_F(AgentRoundsTest, CountWhatTheServerRejects) {
  AgentRounds rounds;
  rounds.Take(WelcomeAt(3, 0, true));
  Answer(rounds);
  EXPECT_EQ(rounds.Take(Verdict{.step = 3, .accepted = false, .reason = "too large"}),
            "the server rejected the update of step 3: too large");
  EXPECT_EQ(rounds.status().rejected, 1U);
  rounds.Take(Change(4));
  EXPECT_TRUE(rounds.HasStep());  // it does not wait for what will never be counted
}

TEST_F(AgentRoundsTest, BeginAgainWhereAServerIsThatWentBackToAnOldCopy) {
  AgentRounds rounds;
  rounds.Take(WelcomeAt(8));
  Answer(rounds);
  EXPECT_EQ(rounds.Take(WelcomeAt(2, 2)), "");
  EXPECT_EQ(rounds.hello().next_step, 2U);
  EXPECT_EQ(StepOf(Answer(rounds)), 2U);
}

TEST_F(AgentRoundsTest, WantNoOtherFederation) {
  AgentRounds rounds;
  Welcome other = WelcomeAt(0);
  other.version = kProtocolVersion + 1;
  EXPECT_THROW(rounds.Take(other), WrongFederation);
  EXPECT_THAT(MessageOf([&] { rounds.Take(other); }), HasSubstr("update the older side"));
  other.version = 0;
  EXPECT_THROW(rounds.Take(other), WrongFederation);

  other = WelcomeAt(0);
  other.configuration["algorithm"] = "telepathy";
  EXPECT_THROW(rounds.Take(other), WrongFederation);
  EXPECT_FALSE(rounds.has_model());

  rounds.Take(WelcomeAt(0));
  other = WelcomeAt(1);
  other.client = 8;
  EXPECT_THAT(MessageOf([&] { rounds.Take(other); }),
              HasSubstr("(client: 7 -> 8); use another state file"));
  configuration.problem.seed += 1;
  other = WelcomeAt(1);
  EXPECT_THROW(rounds.Take(other), WrongFederation);
  EXPECT_THAT(MessageOf([&] { rounds.Take(other); }), HasSubstr("seed: "));
  EXPECT_EQ(rounds.status().step, 0U);
}

TEST_F(AgentRoundsTest, KeepTheirModelWhenAChangeDoesNotFit) {
  AgentRounds rounds;
  rounds.Take(WelcomeAt(1));
  ModelChange bad = Change(2);
  bad.values[0] = std::numeric_limits<float>::infinity();
  EXPECT_THROW(rounds.Take(bad), Error);
  bad = Change(2);
  bad.blocks[0] = 99;
  EXPECT_THROW(rounds.Take(bad), Error);
  EXPECT_EQ(rounds.status().step, 1U);
  AgentRounds twin;
  twin.Take(WelcomeAt(1));
  EXPECT_EQ(rounds.Predict(kX).value, twin.Predict(kX).value);
}

}  // namespace
}  // namespace polykern
