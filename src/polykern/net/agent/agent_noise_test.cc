// What an agent does where sums get noise.
#include <array>
#include <memory>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/io/folder_testing.h"
#include "polykern/net/agent/agent_rounds_internal.h"
#include "polykern/net/configuration_texts.h"

namespace polykern {
namespace {

using testing::HasSubstr;

constexpr std::array<float, 3> kNoisyX = {0.2F, 0, 0};

class AgentWithNoise : public testing::Test {
 protected:
  AgentWithNoise() {
    configuration.algorithm = "pof-gram";
    configuration.options.epsilon = 1;
    configuration.problem = {3, 100, 1};
    algorithm = MakeAlgorithm(configuration);
  }

  ModelChange Change(std::uint64_t step, std::uint64_t counted = 0) const {
    Broadcast model;
    model.step = step;
    model.model.resize(algorithm->shape().model_size());
    model.turn = {0};
    ModelChange change = TakeBlocks(algorithm->shape(), model, {0});
    change.counted = counted;
    return change;
  }
  Welcome WelcomeAt(std::uint64_t step, std::uint64_t answered = 0) const {
    return {.client = 7,
            .configuration = ToTexts(configuration),
            .model = Change(step, answered),
            .answered = answered};
  }
  static Updates Answer(AgentRounds& rounds, bool clipped = false,
                        const AgentRounds::Keep& keep = {}) {
    rounds.Predict(kNoisyX);
    const auto learnt = rounds.Learn(0.7, {}, keep, clipped);
    EXPECT_FALSE(learnt.update.empty());
    return std::get<Updates>(DecodeClientMessage(learnt.update));
  }

  FederationConfiguration configuration;
  std::unique_ptr<Algorithm> algorithm;
};

TEST_F(AgentWithNoise, TellsNothingOfItsSamplesButTheirNumberBesideSums) {
  AgentRounds rounds;
  rounds.Take(WelcomeAt(0));
  const Updates sent = Answer(rounds, true);
  EXPECT_TRUE(sent.clipped.empty()) << "how many labels were clipped is not told";
  EXPECT_EQ(sent.samples, std::vector<std::uint64_t>{1});
  EXPECT_EQ(sent.unknowns, std::vector<std::uint64_t>{4}) << "nor that inputs are 0";
  EXPECT_EQ(sent.new_unknowns, std::vector<std::uint64_t>{4});
  EXPECT_EQ(sent.fresh, (std::vector<SampleCount>{{1, 4}}));
  EXPECT_EQ(rounds.status().clipped, 1U);
}

TEST_F(AgentWithNoise, SendsTheSameBytesForTheSameStepAndNothingElseTwice) {
  AgentRounds rounds;
  rounds.Take(WelcomeAt(0));
  std::optional<AgentState> kept;
  const Updates first = Answer(rounds, false, [&](const AgentState& state) { kept = state; });
  ASSERT_TRUE(kept) << "before it is sent";
  EXPECT_EQ(rounds.Take(WelcomeAt(0)), kept->update) << "the connection was lost";
  AgentRounds restarted(*kept, "state");
  EXPECT_EQ(restarted.Take(WelcomeAt(0)), kept->update);
  // The step ended without it: it is lost.
  for (AgentRounds* each : {&rounds, &restarted}) {
    EXPECT_EQ(each->Take(WelcomeAt(1)), "");
    const Updates next = Answer(*each);
    EXPECT_EQ(next.samples, std::vector<std::uint64_t>{1});
    EXPECT_EQ(next.step, 1U);
  }
  // The server is restored from a backup, and asks for the first step again.
  EXPECT_EQ(rounds.Take(WelcomeAt(0)), "");
  const Updates again = Answer(rounds);
  EXPECT_EQ(again.step, 0U);
  EXPECT_EQ(again.samples, std::vector<std::uint64_t>{1}) << "a new sample alone";
}

TEST_F(AgentWithNoise, NeedsAStateAndItsNewestOne) {
  AgentRounds forgets;
  forgets.Forget();
  EXPECT_THAT(MessageOf([&] { forgets.Take(WelcomeAt(0)); }),
              HasSubstr("after a restart what has"));

  AgentRounds rounds;
  rounds.Take(WelcomeAt(0));
  std::optional<AgentState> old;
  Answer(rounds, false, [&](const AgentState& state) { old = state; });
  rounds.Take(Change(1, 1));
  Answer(rounds);
  AgentRounds restored(*old, "state");
  EXPECT_THAT(MessageOf([&] { restored.Take(WelcomeAt(2, 2)); }),
              HasSubstr("has answered step 1, of which its state has no record"));
  AgentRounds lost;
  EXPECT_THAT(MessageOf([&] { lost.Take(WelcomeAt(2, 2)); }), HasSubstr("give it a new name"));
  AgentRounds fresh;
  EXPECT_EQ(fresh.Take(WelcomeAt(2)), "");
}

TEST_F(AgentWithNoise, DoesNotReport) {
  AgentRounds rounds;
  rounds.RefusePrivacy();
  EXPECT_THAT(MessageOf([&] { rounds.Take(WelcomeAt(0)); }),
              HasSubstr("report tells the server what the noise hides"));
}

}  // namespace
}  // namespace polykern
