// An agent whose federation learns its ranges first.
#include <array>
#include <string>
#include <variant>

#include <gmock/gmock.h>

#include "polykern/net/agent/agent_rounds_internal.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/learnt_ranges.h"

namespace polykern {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class AnAgentWithoutRanges : public testing::Test {
 protected:
  AnAgentWithoutRanges() {
    learning.options.kernels = 4;
    learning.options.features = 2;
    learning.scaling = "range";
    learning.columns = {{"u"}, {"v"}, {"w"}};
    learning.problem = {3, 100, 1};
    learning.learn_ranges = 5;
    LearntRanges ranges(learning);
    ranges.Take(0, told);
    known = ranges.Federation();
  }

  static Welcome WelcomeTo(const FederationConfiguration& federation, bool has_ranges = false) {
    const auto algorithm = MakeAlgorithm(federation);
    Broadcast model;
    model.model.assign(algorithm->shape().model_size(), 0.01F);
    return {.client = 7,
            .configuration = ToTexts(federation),
            .model = TakeBlocks(algorithm->shape(), model, {0, 1, 2, 3}),
            .has_ranges = has_ranges};
  }
  static ClientRanges RangesIn(const std::string& message) {
    return std::get<ClientRanges>(DecodeClientMessage(message));
  }

  FederationConfiguration learning, known;
  const ClientRanges told{{0, 1, 2, 3}, {4, 5, 6, 7}};
};

TEST_F(AnAgentWithoutRanges, HasNoModelUntilTheyAreKnown) {
  AgentRounds rounds;
  EXPECT_EQ(rounds.Take(WelcomeTo(learning)), "");
  ASSERT_NE(rounds.learning_ranges(), nullptr);
  EXPECT_EQ(rounds.learning_ranges()->learn_ranges, 5U);
  EXPECT_FALSE(rounds.has_model());
  EXPECT_FALSE(rounds.HasStep());
  EXPECT_TRUE(rounds.IsCounted());
  EXPECT_EQ(rounds.status().learn_ranges, 5U);
  EXPECT_EQ(RangesIn(rounds.Tell(told)).greatest, told.greatest);
  EXPECT_EQ(rounds.Take(WelcomeTo(known)), "");
  EXPECT_EQ(rounds.learning_ranges(), nullptr);
  EXPECT_EQ(rounds.status().learn_ranges, 0U);
  EXPECT_TRUE(rounds.HasStep());
  EXPECT_EQ(ToTexts(rounds.configuration()), ToTexts(known));
  rounds.Predict(std::array{0.1F, 0.2F, 0.3F});
  EXPECT_TRUE(rounds.Learn(0.5, {}, {}).learnt);
}

TEST_F(AnAgentWithoutRanges, TellsItsOwnOnceAndTheSameAgainToWhoLostThem) {
  AgentRounds rounds;
  EXPECT_EQ(rounds.Tell(told), "") << "nobody has asked";
  rounds.Take(WelcomeTo(learning));
  const std::string message = rounds.Tell(told);
  EXPECT_EQ(RangesIn(message).least, told.least);
  EXPECT_EQ(rounds.Tell({{9, 9, 9, 9}, {9, 9, 9, 9}}), "");
  EXPECT_EQ(rounds.Take(WelcomeTo(learning)), message);
  EXPECT_EQ(rounds.Take(WelcomeTo(learning, true)), "");
}

TEST_F(AnAgentWithoutRanges, TellsNothingIfTheServerHasThoseOfAnEarlierProcess) {
  AgentRounds rounds;
  rounds.Take(WelcomeTo(learning, true));
  EXPECT_EQ(rounds.Tell(told), "");
  EXPECT_EQ(RangesIn(rounds.Take(WelcomeTo(learning))).least, told.least) << "lost after all";
}

TEST_F(AnAgentWithoutRanges, SaysThatTheyWereRejected) {
  AgentRounds rounds;
  rounds.Take(WelcomeTo(learning));
  EXPECT_THAT(rounds.Take(Verdict{0, false, "too wide"}),
              HasSubstr("rejected this agent's ranges: too wide"));
  EXPECT_THROW(rounds.Take(WelcomeTo(known).model), Error) << "no welcome with ranges";
  EXPECT_FALSE(rounds.has_model());
}

TEST_F(AnAgentWithoutRanges, RefusesThoseOfAnotherFederation) {
  AgentRounds rounds;
  rounds.Take(WelcomeTo(learning));
  known.problem.seed = 2;
  EXPECT_THAT([&] { rounds.Take(WelcomeTo(known)); },
              ThrowsMessage<WrongFederation>(HasSubstr("now runs another federation")));
  AgentRounds older;
  older.Take(WelcomeTo(known));
  EXPECT_THAT([&] { older.Take(WelcomeTo(learning)); },
              ThrowsMessage<WrongFederation>(HasSubstr("learn_ranges: (not set) -> 5")));
}

}  // namespace
}  // namespace polykern
