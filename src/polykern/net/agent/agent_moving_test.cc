#include <array>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/federation/coordinator.h"
#include "polykern/io/folder_testing.h"
#include "polykern/net/agent/agent_rounds_internal.h"
#include "polykern/net/agent/frozen_expert.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/exported_model.h"

namespace polykern {
namespace {

using testing::HasSubstr;

/// A server's federation, as its clients meet it at a step with some model.
class FederationAtAStep {
 public:
  explicit FederationAtAStep(FederationConfiguration configuration)
      : configuration_(std::move(configuration)), algorithm_(MakeAlgorithm(configuration_)) {}

  Welcome At(std::uint64_t step) const {
    Broadcast model;
    model.step = step;
    for (std::size_t i = 0; i < algorithm_->shape().model_size(); ++i) {
      model.model.push_back(0.01F * static_cast<float>(i % 7));
    }
    std::vector<std::uint32_t> all(algorithm_->shape().blocks);
    std::iota(all.begin(), all.end(), 0U);
    return {.client = 2,
            .configuration = ToTexts(configuration_),
            .model = TakeBlocks(algorithm_->shape(), model, std::move(all))};
  }

 private:
  FederationConfiguration configuration_;
  std::unique_ptr<Algorithm> algorithm_;
};

FederationConfiguration EarlyFederation() {
  FederationConfiguration f{.algorithm = "pof-mkl"};
  f.options.kernels = 4;
  f.options.features = 2;
  f.problem = {2, 100, 1};
  f.scaling = "range";
  f.columns = {{"wind", 0, 20}, {"heat", -40, 60}};
  f.target = {"power", 0, 3000};
  return f;
}

/// One more column, and a wider range of labels.
FederationConfiguration LaterFederation(const Welcome& last) {
  FederationConfiguration f = EarlyFederation();
  f.columns = {{"gust", 0, 9}, {"wind", 0, 20}, {"heat", -40, 60}};
  f.problem.dimension = 3;
  f.target.high = 6000;
  f.from = ExportToText({last.configuration, last.model, {}});
  return f;
}

/// An agent that has learnt for some steps.
void LearnFor(AgentRounds& rounds, const FederationAtAStep& meeting, std::uint64_t steps) {
  for (std::uint64_t step = 0; step < steps; ++step) {
    if (step > 0) rounds.Take(meeting.At(step).model);
    rounds.Predict(std::array{0.1F * static_cast<float>(step % 9), -0.3F});
    EXPECT_TRUE(rounds.Learn(0.9, {.line = step + 2}, {}).learnt);
  }
}

TEST(AnAgentThatMoves, BeginsWithWhatItHasLearnt) {
  const FederationAtAStep early(EarlyFederation());
  AgentRounds rounds;
  rounds.Take(early.At(0));
  LearnFor(rounds, early, 30);
  const std::vector<float> x = {0.4F, 0.2F};
  const FederationAtAStep later(LaterFederation(early.At(29)));
  EXPECT_THROW(rounds.Take(later.At(0)), Superseded);
  const double before = rounds.Predict(x).value;

  rounds.Move();
  EXPECT_FALSE(rounds.has_model());
  EXPECT_EQ(rounds.hello().next_step, 0U);
  EXPECT_EQ(rounds.position().line, 31U) << "lines are not learnt again";
  rounds.Take(later.At(0));
  ASSERT_TRUE(rounds.has_model());
  const std::vector<float> same = {0.7F, x[0], x[1]};
  EXPECT_EQ(rounds.Predict(same).value, static_cast<double>(static_cast<float>(before / 2)));

  AgentRounds fresh;
  fresh.Take(later.At(0));
  EXPECT_NE(fresh.Predict(same).value, rounds.Predict(same).value) << "its weights are its own";
  EXPECT_TRUE(rounds.Learn(0.45, {}, {}).learnt);
}

TEST(AnAgentThatMoves, ResumesWhereItWasKilled) {
  const FederationAtAStep early(EarlyFederation());
  AgentRounds rounds;
  rounds.Take(early.At(0));
  LearnFor(rounds, early, 10);
  const FederationAtAStep later(LaterFederation(early.At(9)));
  EXPECT_THROW(rounds.Take(later.At(0)), Superseded);
  rounds.Move();
  rounds.Take(later.At(0));
  std::optional<AgentState> kept;
  const std::vector<float> x = {0.1F, 0.2F, 0.3F};
  rounds.Predict(x);
  EXPECT_TRUE(rounds.Learn(0.3, {}, [&](const AgentState& state) { kept = state; }).learnt);
  ASSERT_TRUE(kept);
  AgentRounds again(*kept, "state");
  rounds.Take(later.At(1).model);
  EXPECT_EQ(again.Take(later.At(1)), "");
  EXPECT_EQ(again.Predict(x).value, rounds.Predict(x).value);
}

TEST(AnAgentThatMoves, WantsNoFederationButOneThatBeganFromItsOwn) {
  const FederationAtAStep early(EarlyFederation());
  AgentRounds rounds;
  rounds.Take(early.At(0));
  LearnFor(rounds, early, 3);
  FederationConfiguration other = EarlyFederation();
  other.problem.seed = 9;
  const FederationAtAStep stranger(LaterFederation(FederationAtAStep(other).At(5)));
  EXPECT_THROW(rounds.Take(stranger.At(0)), WrongFederation);
  const FederationAtAStep later(LaterFederation(early.At(3)));
  EXPECT_THROW(rounds.Take(later.At(0)), Superseded);
  rounds.Move();
  EXPECT_THAT(MessageOf([&] { rounds.Take(stranger.At(0)); }), HasSubstr("did not begin from"));
  EXPECT_NO_THROW(rounds.Take(later.At(0)));
}

TEST(AFederationFromAnother, IsRefusedByAgentsIfItsModelCannotBeRead) {
  FederationConfiguration f = LaterFederation(FederationAtAStep(EarlyFederation()).At(0));
  f.from[f.from.size() / 2] ^= 1;
  AgentRounds rounds;
  EXPECT_THAT(MessageOf([&] { rounds.Take(FederationAtAStep(f).At(0)); }),
              HasSubstr("a damaged model"));
  for (const char* const text : {"AAAA", "=", "A===", "====", "####"}) {
    f.from = text;
    EXPECT_THROW(MakeClientAlgorithm(f), Error) << text;
  }
}

}  // namespace
}  // namespace polykern
