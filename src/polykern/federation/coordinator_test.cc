#include "polykern/federation/coordinator.h"

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/broken_rule.h"
#include "polykern/federation/updates_testing.h"

namespace polykern {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

class CoordinatorTest : public testing::Test {
 protected:
  Updates Update(std::uint64_t client, float value = 1, std::uint32_t block = 2) const {
    return From(*algorithm, coordinator.broadcast().step, client, block, value);
  }

  /// What Receive says against the updates; empty if it takes them in.
  std::string Complaint(const Updates& updates) {
    try {
      coordinator.Receive(updates);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  std::unique_ptr<Algorithm> algorithm = NewAlgorithm();
  Coordinator coordinator{*algorithm, 4};
};

TEST_F(CoordinatorTest, StartsWithAZeroModelAndNoKnownClient) {
  EXPECT_EQ(coordinator.broadcast().step, 0U);
  EXPECT_THAT(coordinator.broadcast().model, Each(0));
  EXPECT_EQ(coordinator.participants(), 0U);
  EXPECT_EQ(coordinator.clients(), 4U);
}

TEST_F(CoordinatorTest, DividesByThoseWhoSent) {
  coordinator.Receive(Update(0, 3));
  coordinator.Receive(Update(3, 5));
  EXPECT_EQ(coordinator.participants(), 2U);
  coordinator.Commit();
  EXPECT_EQ(coordinator.broadcast().step, 1U);
  EXPECT_EQ(coordinator.participants(), 0U);
  const std::size_t width = algorithm->shape().width;
  const auto& model = coordinator.broadcast().model;
  for (std::size_t i = 0; i < model.size(); ++i) EXPECT_EQ(model[i], i / width == 2 ? -4 : 0);
}

TEST_F(CoordinatorTest, CountsAClientThatSentNoBlock) {
  Updates nothing;
  nothing.Clear();
  nothing.clients = {1};
  nothing.first = {0, 0};
  coordinator.Receive(nothing);
  coordinator.Receive(Update(0, 3));
  EXPECT_EQ(coordinator.participants(), 2U);
  coordinator.Commit();
  EXPECT_EQ(coordinator.broadcast().model[2 * algorithm->shape().width], -1.5F);
}

TEST_F(CoordinatorTest, CommitsAStepInWhichNoClientSent) {
  coordinator.Receive(Update(0, 3));
  coordinator.Commit();
  const auto before = coordinator.Save();
  coordinator.Commit();
  EXPECT_EQ(coordinator.broadcast().step, 2U);
  EXPECT_EQ(coordinator.Save(), before);
}

TEST_F(CoordinatorTest, LetsAClientAnswerEveryStepOnce) {
  for (int step = 0; step < 3; ++step) {
    EXPECT_EQ(Complaint(Update(1)), "");
    EXPECT_THAT(Complaint(Update(1)), AllOf(HasSubstr("client 1"), HasSubstr("already answered")));
    coordinator.Commit();
  }
  EXPECT_EQ(coordinator.broadcast().model[2 * algorithm->shape().width], -3);
}

TEST_F(CoordinatorTest, ChecksWithoutTakingAnythingIn) {
  coordinator.Check(Update(1));
  EXPECT_NO_THROW(coordinator.Check(Update(1))) << "to look at them is not to take them in";
  EXPECT_EQ(coordinator.participants(), 0U);
  coordinator.MarkAnswered(Update(1));
  EXPECT_THAT(Complaint(Update(1)), HasSubstr("already answered"));
  EXPECT_EQ(Complaint(Update(2)), "");
  coordinator.Commit();
  EXPECT_EQ(Complaint(Update(1)), "");
}

TEST_F(CoordinatorTest, RefusesUpdatesForAnotherStep) {
  coordinator.Commit();
  Updates early = Update(0);
  early.step = 2;
  EXPECT_THAT(Complaint(early), AllOf(HasSubstr("step 2"), HasSubstr("step 1")));
  Updates late = Update(0);
  late.step = 0;
  EXPECT_THAT(Complaint(late), AllOf(HasSubstr("step 0"), HasSubstr("step 1")));
}

TEST_F(CoordinatorTest, RefusesUnknownClientsUntilTheyJoin) {
  EXPECT_THAT(Complaint(Update(4)), AllOf(HasSubstr("client 4"), HasSubstr("not known")));
  EXPECT_THAT(Complaint(Update(UINT64_MAX)), HasSubstr("not known"));
  coordinator.AddClients(2);
  EXPECT_EQ(coordinator.clients(), 6U);
  EXPECT_EQ(Complaint(Update(4)), "");
  EXPECT_EQ(Complaint(Update(5)), "");
  EXPECT_THAT(Complaint(Update(6)), HasSubstr("not known"));
  EXPECT_EQ(coordinator.participants(), 2U);
}

TEST_F(CoordinatorTest, SaysWhichRuleIsBroken) {
  const auto broken = [&](const Updates& updates) {
    try {
      coordinator.Receive(updates);
    } catch (const BrokenRule& rejected) {
      return std::optional(rejected.rule);
    }
    return std::optional<Rule>();
  };
  Updates early = Update(0);
  early.step = 1;
  EXPECT_EQ(broken(early), Rule::kStep);
  EXPECT_EQ(broken(Update(4)), Rule::kClient);
  EXPECT_EQ(broken(Update(1, 513)), Rule::kNumbers);
  EXPECT_EQ(broken(Update(1)), std::nullopt);
  EXPECT_EQ(broken(Update(1)), Rule::kTwice);
}

TEST_F(CoordinatorTest, RemembersWhoAnsweredWhenOthersJoin) {
  coordinator.Receive(Update(0));
  coordinator.AddClients(100);
  EXPECT_THAT(Complaint(Update(0)), HasSubstr("already answered"));
}

TEST_F(CoordinatorTest, ChangesNothingByWhatItRefuses) {
  // Two coordinators take the same good updates; one is also sent everything that is wrong.
  Coordinator undisturbed(*algorithm, 4);
  coordinator.Receive(Update(0, 0.1F));
  undisturbed.Receive(Update(0, 0.1F));

  Updates other_step = Update(1, 7);
  other_step.step = 1;
  Updates not_finite = Update(1, 7);
  not_finite.values.back() = std::numeric_limits<float>::quiet_NaN();
  Updates no_lengths = Update(1, 7);
  no_lengths.first.clear();
  const std::vector<Updates> wrong = {
      other_step,
      not_finite,
      no_lengths,
      Update(0, 7),                                        // was answered before
      Update(4, 7),                                        // unknown
      Update(1, 7, 7),                                     // no such kernel
      Update(1, 513),                                      // too large
      Joined({Update(1, 7), Update(1, 7)}),                // twice in one batch
      Joined({Update(1, 7), Update(2, 7), Update(0, 7)}),  // the last one was answered before
      Joined({Update(1, 7), Update(2, 7), Update(9, 7)}),  // the last one is unknown
      Joined({Update(1, 7), not_finite}),
      Joined({Update(1, 7), Update(2, 513)})};
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    EXPECT_NE(Complaint(wrong[i]), "") << i;
    EXPECT_EQ(coordinator.participants(), 1U) << i;
  }

  // Clients 1 and 2, named in refused batches, may still send.
  const Updates one = Update(1, 0.2F);
  const Updates two = Update(2, -0.7F);
  for (Coordinator* each : {&coordinator, &undisturbed}) {
    each->Receive(one);
    each->Receive(two);
    EXPECT_EQ(each->participants(), 3U);
    each->Commit();
  }
  EXPECT_EQ(BitsOf(coordinator.Save()), BitsOf(undisturbed.Save()));
  EXPECT_EQ(coordinator.broadcast().model, undisturbed.broadcast().model);
}

TEST_F(CoordinatorTest, FindsAClientThatIsTwiceInOneBatch) {
  EXPECT_THAT(Complaint(Joined({Update(1), Update(3), Update(1)})),
              AllOf(HasSubstr("client 1"), HasSubstr("already answered")));
  EXPECT_EQ(coordinator.participants(), 0U);
}

TEST_F(CoordinatorTest, ForgetsAnOpenStepWhenItLoads) {
  coordinator.Receive(Update(0, 3));
  coordinator.Commit();
  const auto saved = coordinator.Save();
  coordinator.Receive(Update(0, 5));
  coordinator.Load(1, saved);
  EXPECT_EQ(coordinator.participants(), 0U);
  EXPECT_EQ(Complaint(Update(0, 7)), "");  // may answer again
  coordinator.Commit();
  EXPECT_EQ(coordinator.broadcast().step, 2U);
  EXPECT_EQ(coordinator.broadcast().model[2 * algorithm->shape().width], -10);
}

TEST_F(CoordinatorTest, EndsAStepOfSumsThatOthersHandedIn) {
  Coordinator elsewhere(*algorithm, 4);
  elsewhere.Receive(Update(1, 5));
  elsewhere.Receive(Update(2, 1));
  const std::vector<std::int64_t> first = elsewhere.TakePartial();
  EXPECT_EQ(elsewhere.participants(), 0U);
  EXPECT_THROW(elsewhere.Receive(Update(2, 1)), BrokenRule);  // it has answered
  elsewhere.Receive(Update(3, 2));
  coordinator.AddPartial(first, 2);
  coordinator.AddPartial(elsewhere.TakePartial(), 1);
  EXPECT_EQ(coordinator.participants(), 3U);
  coordinator.Commit();
  Coordinator alone(*algorithm, 4);
  alone.Receive(From(*algorithm, 0, 1, 2, 5));
  alone.Receive(From(*algorithm, 0, 2, 2, 1));
  alone.Receive(From(*algorithm, 0, 3, 2, 2));
  alone.Commit();
  EXPECT_EQ(coordinator.broadcast().model, alone.broadcast().model);
}

TEST_F(CoordinatorTest, ForgetsWhatIsDropped) {
  coordinator.Receive(Update(1, 5));
  coordinator.DropUpdates();
  EXPECT_EQ(coordinator.participants(), 0U);
  coordinator.Receive(Update(1, 2));
  coordinator.Commit();
  EXPECT_EQ(coordinator.broadcast().model[2 * algorithm->shape().width], -2);
}

TEST_F(CoordinatorTest, RefusesASavedModelOfAnotherSizeAndKeepsTheOpenStep) {
  coordinator.Receive(Update(0, 3));
  EXPECT_THROW(coordinator.Load(5, std::vector<double>(3)), Error);
  EXPECT_EQ(coordinator.broadcast().step, 0U);
  EXPECT_EQ(coordinator.participants(), 1U);
  EXPECT_THAT(Complaint(Update(0)), HasSubstr("already answered"));
  coordinator.Commit();
  EXPECT_EQ(coordinator.broadcast().model[2 * algorithm->shape().width], -3);
}

TEST(CoordinatorOfPofNewton, ChangesNothingByMessagesThatNoLabelGives) {
  AlgorithmOptions options;
  options.kernels = 7;
  options.features = 5;
  const auto algorithm = MakeAlgorithm("pof-newton", options, {kDimension, 100, 17});
  const auto message = [&](std::uint64_t client, float norm) {
    Updates updates = From(*algorithm, 0, client, 2, 0);
    updates.values[3] = norm;
    return updates;
  };
  Coordinator coordinator(*algorithm, 4);
  Coordinator undisturbed(*algorithm, 4);
  // e^asinh(-1/2) = 0.618 and e^asinh(1/2) = 1.618.
  for (const float norm : {0.0F, 0.6F, 1.64F, -100.0F}) {
    for (const Updates& wrong :
         {message(1, norm), Joined({message(0, 1), message(1, norm), message(2, 1)})}) {
      EXPECT_THAT([&] { coordinator.Receive(wrong); },
                  testing::ThrowsMessage<Error>(
                      AllOf(HasSubstr("client 1"), HasSubstr("kernel 2 has the norm"))));
    }
  }
  EXPECT_THROW(coordinator.Receive(message(1, std::numeric_limits<float>::quiet_NaN())), Error);
  EXPECT_EQ(coordinator.participants(), 0U);
  for (Coordinator* each : {&coordinator, &undisturbed}) {
    each->Receive(Joined({message(0, 0.6181F), message(1, -1.618F), message(2, 1)}));
    EXPECT_EQ(each->participants(), 3U);
    each->Commit();
  }
  EXPECT_EQ(BitsOf(coordinator.Save()), BitsOf(undisturbed.Save()));
  // Labels -1/2 and 1/2 (of a feature that points backwards) and 0: theta = -1 / (3 + ridge).
  EXPECT_NEAR(coordinator.broadcast().model[2 * 10 + 3], -1.0 / 3, 1e-3);
}

TEST(CoordinatorOfPofNewton, CountsLateUpdatesInTheOpenStepAndNoneTwice) {
  AlgorithmOptions options;
  options.kernels = 7;
  options.features = 5;
  const auto algorithm = MakeAlgorithm("pof-newton", options, {kDimension, 100, 17});
  const auto message = [&](std::uint64_t step, std::uint64_t client) {
    Updates updates = From(*algorithm, step, client, static_cast<std::uint32_t>(client), 0);
    updates.values[step] = 1;
    return updates;
  };
  Coordinator late(*algorithm, 2);
  late.TakeLateUpdates();
  late.Commit();
  late.Commit();
  late.Receive(message(0, 1));  // late
  EXPECT_THROW(late.Receive(message(0, 1)), Error);
  late.Receive(message(2, 1));  // and on time
  EXPECT_THROW(late.Receive(message(1, 1)), Error) << "it has answered a later one";
  EXPECT_THROW(late.Receive(message(3, 0)), Error) << "it has not begun";
  EXPECT_EQ(late.participants(), 2U);
  late.Commit();
  // The same samples on time give the same model.
  Coordinator on_time(*algorithm, 2);
  on_time.Receive(message(0, 1));
  on_time.Commit();
  on_time.Commit();
  on_time.Receive(message(2, 1));
  on_time.Commit();
  EXPECT_EQ(late.broadcast().model, on_time.broadcast().model);
  // What had been answered is known again after a restart.
  Coordinator again(*algorithm, 2);
  again.TakeLateUpdates();
  again.Load(3, late.Save(), std::vector<std::uint64_t>{0, 3});
  EXPECT_THROW(again.Receive(message(2, 1)), Error);
  again.Receive(message(2, 0));
  again.Receive(message(3, 1));
  EXPECT_EQ(again.participants(), 2U);
}

TEST(CoordinatorOfPofNewton, TakesEarlierUpdatesAfterOneThatItRefused) {
  AlgorithmOptions options;
  options.kernels = 7;
  options.features = 5;
  const auto algorithm = MakeAlgorithm("pof-newton", options, {kDimension, 100, 17});
  Coordinator coordinator(*algorithm, 2);
  coordinator.TakeLateUpdates();
  for (int step = 0; step < 3; ++step) coordinator.Commit();
  Updates good = From(*algorithm, 1, 0, 2, 0);
  good.values[3] = 1;
  Updates wrong = good;
  wrong.step = 3;
  wrong.values[3] = 0;
  EXPECT_THROW(coordinator.Receive(wrong), Error);
  EXPECT_NO_THROW(coordinator.Receive(good));
  EXPECT_EQ(coordinator.participants(), 1U);
}

TEST(CoordinatorOfPofNewton, SharesOutItsCommitWithoutChangingABit) {
  AlgorithmOptions options;
  options.kernels = 7;
  options.features = 5;
  const auto algorithm = MakeAlgorithm("pof-newton", options, {kDimension, 100, 17});
  Coordinator plain(*algorithm, 3, 2);
  Coordinator shared(*algorithm, 3, 2);
  std::vector<std::size_t> jobs;
  for (std::uint64_t step = 0; step < 4; ++step) {
    for (Coordinator* each : {&plain, &shared}) {
      for (std::uint64_t client = 0; client < 3; ++client) {
        const auto block = static_cast<std::uint32_t>(client + step);
        each->Receive(From(*algorithm, step, client, block, 0.3F), client % 2);
      }
    }
    plain.Commit();
    shared.Commit([&](std::size_t count, const auto& job) {
      jobs.push_back(count);
      for (std::size_t i = count; i-- > 0;) job(i, i % 2);  // backwards, in both lanes
    });
  }
  EXPECT_THAT(jobs, testing::ElementsAre(7, 7, 7, 7)) << "a job for each kernel";
  EXPECT_EQ(BitsOf(plain.Save()), BitsOf(shared.Save()));
  EXPECT_EQ(plain.broadcast().model, shared.broadcast().model);
}

}  // namespace
}  // namespace polykern
