#include "polykern/algorithms/gram/noisy_server.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/gram/gram_grid.h"
#include "polykern/algorithms/gram/noisy_testing.h"
#include "polykern/algorithms/registry.h"
#include "polykern/algorithms/shared/twin_testing.h"
#include "polykern/core/error.h"
#include "polykern/core/random.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using twin::Vector;

/// Clients that answer whatever a server asks for, and somebody who opens without noise.
class NoisyServer : public Noisy {
 protected:
  Updates Answer(std::uint64_t k) {
    Updates updates;
    updates.clients = {k};
    updates.first = {0, 1};
    updates.blocks = {0};
    const LearntSamples samples = NoisySamples(20, 100 * step_ + k);
    all_.x.insert(all_.x.end(), samples.x.begin(), samples.x.end());
    all_.y.insert(all_.y.end(), samples.y.begin(), samples.y.end());
    updates.integers = Sums(samples);
    updates.samples = {20};
    updates.unknowns = {80};
    updates.fresh = {{20, 80}};
    updates.new_unknowns = {80};
    return updates;
  }
  void Commit(Server& server, std::size_t clients) {
    std::vector<std::unique_ptr<Inbox>> inboxes;
    for (int i = 0; i < 2; ++i) inboxes.push_back(server.NewInbox());
    const bool asked = !server.broadcast().turn.empty();
    for (std::uint64_t k = 0; asked && k < clients; ++k) inboxes[k % 2]->Add(Answer(k));
    server.Commit(inboxes, clients);
    ++step_;
  }
  /// What a release adds to those before it.
  void Estimate(Release& release) {
    running_.resize(release.sums.size());
    for (std::size_t i = 0; i < running_.size(); ++i) {
      running_[i] += static_cast<double>(release.sums[i]) * grid_.unit();
    }
    release.estimate = running_;
    release.deviation = 0.01;
  }
  void Step(Server& server, std::size_t clients = 5) {
    Commit(server, clients);
    for (Release& release : server.releases()) Estimate(release);
    server.Open();
  }
  std::unique_ptr<Server> NewServer(std::size_t releases = 64) {
    return NewNoisyGramServer(grid_, {.ridge = 0.01, .schedule = {.releases = releases}});
  }
  void ExpectSolutionOfAll(const Server& server) {
    const double samples = static_cast<double>(all_.y.size());
    const auto theta = SolveNoisy(grid_, running_, samples, 0.01, 0.01);
    for (std::size_t j = 0; j < kNoisyFeatures; ++j) {
      EXPECT_FLOAT_EQ(server.broadcast().model[j], static_cast<float>(theta[2 * j]));
      EXPECT_FLOAT_EQ(server.broadcast().model[kNoisyFeatures + j],
                      static_cast<float>(theta[2 * j + 1]));
    }
    const Vector exact = Numbers(all_);
    for (std::size_t i = 0; i < exact.size(); ++i) {
      // Each of the messages was rounded by half a unit, of at most 10 releases of 5.
      EXPECT_NEAR(running_[i], exact[i], 26 * grid_.unit());
    }
  }

  std::uint64_t step_ = 0;
  LearntSamples all_;
  Vector running_;
};

TEST_F(NoisyServer, LearnsFromWhatIsReleased) {
  const auto server = NewServer();
  for (int i = 0; i < 12; ++i) Step(*server);
  EXPECT_EQ(server->broadcast().releases, 8U);
  ExpectSolutionOfAll(*server);
  EXPECT_THAT(server->discarded(), IsEmpty());
}

TEST_F(NoisyServer, HoldsSumsOverFewSamplesUntilThereAreMore) {
  const auto server = NewServer();
  Step(*server, 1);
  EXPECT_THAT(running_, IsEmpty());
  EXPECT_THAT(server->broadcast().turn, ElementsAre(0));
  Step(*server, 1);
  EXPECT_EQ(server->broadcast().releases, 1U);
  ExpectSolutionOfAll(*server);
}

TEST_F(NoisyServer, GoesOnPredictingWhenAllReleasesAreSpent) {
  const auto server = NewServer(2);
  Step(*server);
  Step(*server);
  const auto model = server->broadcast().model;
  for (int i = 0; i < 30; ++i) {
    EXPECT_THAT(server->broadcast().turn, IsEmpty());
    Step(*server);
  }
  EXPECT_EQ(server->broadcast().releases, 2U);
  EXPECT_EQ(server->broadcast().model, model);
}

TEST_F(NoisyServer, LearnsNothingWithoutNoise) {
  const auto server = NewServer();
  Commit(*server, 5);
  try {
    server->Open();
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("without noise"));
  }
  EXPECT_EQ(server->broadcast().model, std::vector<float>(kNoisyWidth));
}

TEST_F(NoisyServer, LeavesTheModelAsItIsIfAReleaseIsRefused) {
  const auto server = NewServer();
  Step(*server);
  const auto model = server->broadcast().model;
  Commit(*server, 5);
  ASSERT_THAT(server->releases(), SizeIs(1));
  server->releases()[0].refusal = "too few clients";
  server->Open();
  EXPECT_EQ(server->broadcast().model, model);
  ASSERT_THAT(server->discarded(), SizeIs(1));
  EXPECT_THAT(server->discarded()[0], HasSubstr("too few clients"));
}

TEST_F(NoisyServer, DoesNotCountAReleaseWhoseNumberIsTaken) {
  const auto server = NewServer();
  Step(*server);
  for (int i = 0; i < 3; ++i) {  // a server whose store was restored can ask as often as it likes
    Commit(*server, 5);
    ASSERT_THAT(server->releases(), SizeIs(1));
    EXPECT_EQ(server->releases()[0].number, 1U);
    server->releases()[0].refusal = "it is another's";
    server->releases()[0].number_taken = true;
    server->Open();
    ASSERT_THAT(server->discarded(), SizeIs(1));
    EXPECT_EQ(server->broadcast().releases, 1U);
  }
}

TEST_F(NoisyServer, LearnsNothingMoreFromSumsThatNoSamplesHave) {
  const auto server = NewServer();
  Step(*server);
  const auto model = server->broadcast().model;
  for (const double wrong : {1e15, -1e15, 1e3}) {
    Commit(*server, 5);
    ASSERT_THAT(server->releases(), SizeIs(1));
    Estimate(server->releases()[0]);
    server->releases()[0].estimate[7] += wrong;
    server->Open();
    EXPECT_EQ(server->broadcast().model, model);
    ASSERT_THAT(server->discarded(), SizeIs(1));
    EXPECT_THAT(server->discarded()[0], HasSubstr("no samples can have these sums"));
  }
}

TEST_F(NoisyServer, LearnsNothingFromNumbersOfWhichEachAloneCouldBe) {
  // What a client that hides behind masks may add: three times its share to every number.
  const auto server = NewServer();
  Step(*server);
  const auto model = server->broadcast().model;
  Commit(*server, 5);
  ASSERT_THAT(server->releases(), SizeIs(1));
  Release& release = server->releases()[0];
  Estimate(release);
  const double most = 40 / (2 * std::sqrt(static_cast<double>(kNoisyFeatures)));
  for (double& number : release.estimate) {
    number *= 3;
    ASSERT_LT(std::abs(number), most * 5) << "it is not for its size that it is found";
  }
  server->Open();
  EXPECT_EQ(server->broadcast().model, model);
  EXPECT_THAT(server->discarded(), ElementsAre(HasSubstr("no samples can have these sums")));
}

TEST_F(NoisyServer, NeverRefusesHonestSums) {
  Random random(11, Purpose::kTest);
  for (int round = 0; round < 10'000; ++round) {
    const std::size_t count = 1 + random.Below(60);
    LearntSamples samples = NoisySamples(count, 7 + random.Below(1000));
    const std::uint64_t extreme = random.Below(4);
    for (double& label : samples.y) {
      if (extreme == 1) label = 1;
      if (extreme == 2) label = random.Below(2) == 0 ? -5 : 5;
    }
    if (extreme == 3) samples.x.assign(samples.x.size(), 0);
    Vector estimate = Numbers(samples);
    const double times = std::pow(10.0, 5 * random.Uniform());  // so many alike
    const double deviation = 0.01 * std::pow(10.0, 4 * random.Uniform());
    for (double& number : estimate) number = times * number + deviation * random.Normal();
    ASSERT_TRUE(CanBeNoisy(grid_, estimate, times * static_cast<double>(count), times, deviation))
        << round;
  }
}

TEST_F(NoisyServer, ResumesWhereItWasSaved) {
  const auto server = NewServer();
  for (int i = 0; i < 9; ++i) {
    const auto other = NewServer();
    other->Load(server->broadcast().step, server->Save());
    EXPECT_EQ(other->Save(), server->Save());
    EXPECT_EQ(other->broadcast().turn, server->broadcast().turn);
    Commit(*server, i == 0 ? 1 : 5);
    const auto closing = NewServer();
    closing->Load(server->broadcast().step, server->Save());
    ASSERT_EQ(closing->releases().size(), server->releases().size());
    for (std::size_t r = 0; r < server->releases().size(); ++r) {
      EXPECT_EQ(closing->releases()[r].number, server->releases()[r].number);
      EXPECT_EQ(closing->releases()[r].sums, server->releases()[r].sums);
      EXPECT_EQ(closing->releases()[r].count, server->releases()[r].count);
      Estimate(server->releases()[r]);
      closing->releases()[r].estimate = server->releases()[r].estimate;
      closing->releases()[r].deviation = server->releases()[r].deviation;
    }
    server->Open();
    closing->Open();
    EXPECT_EQ(closing->Save(), server->Save());
  }
  auto saved = server->Save();
  saved.pop_back();
  EXPECT_THROW(NewServer()->Load(9, saved), Error);
}

TEST(NoisyPofGram, ChoosesItsSizeByTheBudget) {
  AlgorithmOptions options;
  options.epsilon = 1;
  EXPECT_EQ(FeaturesOf("pof-gram", options), 30U);
  options.burst = 1;
  EXPECT_EQ(FeaturesOf("pof-gram", options), 21U);
  options.budget = 300;
  EXPECT_EQ(FeaturesOf("pof-gram", options), 10U);
  options.budget = 200;
  EXPECT_THROW(CheckAlgorithm("pof-gram", options), Error);
  EXPECT_THAT(ExpertNames("pof-gram", {.epsilon = 1}, 1), SizeIs(1));
}

TEST(NoisyPofGram, SendsASampleOnceEvenIfItDidNotCount) {
  AlgorithmOptions options;
  options.epsilon = 1;
  options.experts = Experts::kFederated;
  const auto algorithm = MakeAlgorithm("pof-gram", options, twin::kEndless);
  const auto step = algorithm->NewCpuStep();
  Vector state(algorithm->state_size());
  twin::History history;
  Broadcast broadcast;
  broadcast.model.resize(algorithm->shape().model_size());
  broadcast.turn = {0};
  const std::uint64_t ids[] = {0};
  double* const states[] = {state.data()};
  for (int i = 0; i < 4; ++i) {
    const float x[] = {0.1F * static_cast<float>(i), 0.5F, 0};
    step->Predict(broadcast, {ids, x, states, {}, &history});
    history.Add(0, x, 0.3);
    const Updates& sent = step->Learn(Vector{0.3}, {.last_counted = false});
    EXPECT_EQ(sent.samples, std::vector<std::uint64_t>{1});
    EXPECT_EQ(sent.integers.size(), GramGrid::Noisy(30).NumbersOf(0));
    EXPECT_NO_THROW(algorithm->CheckContents(sent, broadcast));
  }
}

}  // namespace
}  // namespace polykern
