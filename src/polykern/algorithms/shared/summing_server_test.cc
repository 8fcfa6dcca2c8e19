#include "polykern/algorithms/shared/summing_server.h"

#include <cmath>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/error.h"
#include "polykern/core/exact_sum.h"

namespace polykern {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr ModelShape kSumShape = {3, 2, 2};

/// One client's update: its blocks, one after the other, each with two values.
Updates From(std::uint64_t client, std::vector<std::uint32_t> blocks, std::vector<float> values) {
  Updates updates;
  updates.clients = {client};
  updates.first = {0, blocks.size()};
  updates.blocks = std::move(blocks);
  updates.values = std::move(values);
  return updates;
}

class SummingServer : public testing::Test {
 protected:
  SummingServer() { inboxes.push_back(server->NewInbox()); }

  const std::vector<float>& model() const { return server->broadcast().model; }

  std::unique_ptr<Server> server = NewSummingServer(kSumShape);
  std::vector<std::unique_ptr<Inbox>> inboxes;
};

TEST_F(SummingServer, StartsAtZeroBeforeTheFirstStep) {
  EXPECT_EQ(server->broadcast().step, 0U);
  EXPECT_EQ(model().size(), 6U);
  EXPECT_THAT(model(), Each(0));
}

TEST_F(SummingServer, SubtractsTheMeanStepOverAllParticipants) {
  // (13) by hand, K = 4: clients 0 and 1 send, clients 2 and 3 took part and sent nothing.
  inboxes[0]->Add(From(0, {0, 2}, {1, 2, 3, 4}));
  inboxes[0]->Add(From(1, {2}, {-1, 8}));
  server->Commit(inboxes, 4);
  EXPECT_EQ(server->broadcast().step, 1U);
  EXPECT_THAT(model(), ElementsAre(-0.25, -0.5, 0, 0, -0.5, -3));
}

TEST_F(SummingServer, ResumesFromTheModelOfTheStepBefore) {
  inboxes[0]->Add(From(0, {1}, {1, 2}));
  server->Commit(inboxes, 1);
  inboxes[0]->Add(From(0, {1}, {4, -4}));
  server->Commit(inboxes, 2);
  EXPECT_EQ(server->broadcast().step, 2U);
  EXPECT_THAT(model(), ElementsAre(0, 0, -3, 0, 0, 0));
}

TEST_F(SummingServer, EmptiesTheInboxesItCommits) {
  inboxes[0]->Add(From(0, {1}, {1, 2}));
  server->Commit(inboxes, 1);
  server->Commit(inboxes, 1);
  EXPECT_EQ(server->broadcast().step, 2U);
  EXPECT_THAT(model(), ElementsAre(0, 0, -1, -2, 0, 0));
}

TEST_F(SummingServer, OnlyCountsAStepWithoutParticipants) {
  inboxes[0]->Add(From(0, {1}, {1, 2}));
  server->Commit(inboxes, 1);
  server->Commit(inboxes, 0);
  EXPECT_EQ(server->broadcast().step, 2U);
  EXPECT_THAT(model(), ElementsAre(0, 0, -1, -2, 0, 0));
}

TEST_F(SummingServer, ForgetsAnInboxThatWasCleared) {
  inboxes[0]->Add(From(0, {1}, {1, 2}));
  inboxes[0]->Clear();
  server->Commit(inboxes, 1);
  EXPECT_THAT(model(), Each(0));
}

TEST_F(SummingServer, AddsUpSeveralInboxes) {
  inboxes.push_back(server->NewInbox());
  inboxes.push_back(server->NewInbox());
  inboxes[2]->Add(From(0, {0}, {1, 2}));
  inboxes[0]->Add(From(1, {0}, {4, 8}));
  server->Commit(inboxes, 2);
  EXPECT_THAT(model(), ElementsAre(-2.5, -5, 0, 0, 0, 0));
}

TEST_F(SummingServer, DoesNotLoseStepsTooSmallForAFloatModel) {
  inboxes[0]->Add(From(0, {0}, {512, 0}));
  server->Commit(inboxes, 1);
  for (int i = 0; i < 1 << 10; ++i) {  // 2^-16 is below half a unit in the last place of 512
    inboxes[0]->Add(From(0, {0}, {0x1p-16F, 0}));
    server->Commit(inboxes, 1);
  }
  EXPECT_EQ(model()[0], -512 - 0x1p-6F);
}

TEST_F(SummingServer, RefusesMoreParticipantsThanSumsAreExactFor) {
  EXPECT_THROW(server->Commit(inboxes, ExactSum::kMaxTerms + 1), Error);
  EXPECT_EQ(server->broadcast().step, 0U);
}

TEST_F(SummingServer, TakesTheSumsOfMoreParticipantsIfTheyWereMadeElsewhere) {
  inboxes[0]->Sums()[0][0] = 1 << 30;
  server->Commit(inboxes, std::uint64_t{1} << 26);
  EXPECT_EQ(server->broadcast().step, 1U);
  EXPECT_EQ(model()[0], -0x1p-26F);
  EXPECT_THROW(server->Commit(inboxes, std::uint64_t{1} << 26), Error);  // in the next step again
}

TEST_F(SummingServer, ResumesFromWhatWasSaved) {
  inboxes[0]->Add(From(0, {0, 1}, {0.1F, 0.2F, 0.3F, 0.4F}));
  server->Commit(inboxes, 3);
  const auto copy = NewSummingServer(kSumShape);
  std::vector<std::unique_ptr<Inbox>> copy_inboxes;
  copy_inboxes.push_back(copy->NewInbox());
  copy->Load(server->broadcast().step, server->Save());
  EXPECT_EQ(copy->broadcast().step, 1U);
  EXPECT_EQ(copy->broadcast().model, model());
  for (int step = 0; step < 20; ++step) {
    inboxes[0]->Add(From(0, {0, 2}, {0.7F, -0.9F, 1e-3F, 3}));
    copy_inboxes[0]->Add(From(0, {0, 2}, {0.7F, -0.9F, 1e-3F, 3}));
    server->Commit(inboxes, 7);
    copy->Commit(copy_inboxes, 7);
  }
  EXPECT_EQ(copy->Save(), server->Save());
  EXPECT_EQ(copy->broadcast().model, model());
  EXPECT_EQ(copy->broadcast().step, 21U);
}

TEST_F(SummingServer, RefusesASavedModelOfAnotherSizeAndKeepsItsOwn) {
  inboxes[0]->Add(From(0, {1}, {1, 2}));
  server->Commit(inboxes, 1);
  for (const std::size_t size : {0U, 5U, 7U}) {
    try {
      server->Load(8, std::vector<double>(size, 1.0));
      FAIL() << "accepted " << size;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(std::to_string(size) + " numbers"));
    }
  }
  EXPECT_EQ(server->broadcast().step, 1U);
  EXPECT_THAT(model(), ElementsAre(0, 0, -1, -2, 0, 0));
}

TEST(ServerRule, SetsTheModelBeforeTheFirstStep) {
  ServerRule rule;
  rule.start = {1, 2, 3, 4, 5, 6};
  const auto server = NewSummingServer(kSumShape, rule);
  EXPECT_EQ(server->broadcast().step, 0U);
  EXPECT_THAT(server->broadcast().model, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_TRUE(server->broadcast().weights.empty());
}

/// A server that adds the losses up and weighs its kernels by them.
std::unique_ptr<Server> WeighingServer(const ModelShape& shape) {
  ServerRule rule;
  rule.weights = 3;
  rule.weight_rate = std::log(2.0);
  rule.apply = [](const StepSums& sums, ServerState& state) {
    for (std::size_t i = 0; i < state.losses.size(); ++i) state.losses[i] += sums.losses[i];
  };
  return NewSummingServer(shape, rule);
}

TEST(ServerRule, PublishesHedgesWeightsOfTheLosses) {
  using testing::DoubleNear;
  const ModelShape per_weight = {3, 2, 2, 3};
  const auto server = WeighingServer(per_weight);
  EXPECT_THAT(server->broadcast().weights, Each(DoubleNear(1.0 / 3, 1e-12)));
  std::vector<std::unique_ptr<Inbox>> inboxes;
  inboxes.push_back(server->NewInbox());
  Updates update = From(0, {2}, {1, 1});
  update.losses = {0, 1, 0};
  inboxes[0]->Add(update);
  update.losses = {0, 0, 2};
  inboxes[0]->Add(update);
  server->Commit(inboxes, 2);  // weights 1, 1/2, 1/4
  EXPECT_THAT(server->broadcast().weights,
              ElementsAre(DoubleNear(4.0 / 7, 1e-12), DoubleNear(2.0 / 7, 1e-12),
                          DoubleNear(1.0 / 7, 1e-12)));
  EXPECT_THAT(server->broadcast().model, Each(0)) << "this rule leaves the model alone";

  const auto copy = WeighingServer(per_weight);
  copy->Load(1, server->Save());
  EXPECT_EQ(copy->broadcast().weights, server->broadcast().weights);
  EXPECT_THROW(copy->Load(1, std::vector<double>(6)), Error);
}

TEST(ServerRule, TakesLossesForWhatTheShapeSaysThatTheyAreOf) {
  for (const bool loss_per_block : {false, true}) {
    const auto server = WeighingServer({3, 2, 3, 3, loss_per_block});
    std::vector<std::unique_ptr<Inbox>> inboxes;
    inboxes.push_back(server->NewInbox());
    Updates update = From(0, {2, 1, 0}, {1, 1, 1, 1, 1, 1});
    update.losses = {0, 1, 2};
    inboxes[0]->Add(update);
    server->Commit(inboxes, 1);
    const auto& weights = server->broadcast().weights;
    EXPECT_EQ(weights[2] > weights[0], loss_per_block);
  }
}

TEST(ServerRule, KeepsAndSavesTheSquaresThatARuleAddsUp) {
  const auto make = [] {
    ServerRule rule;
    rule.squares = 2;
    rule.apply = [](const StepSums& sums, ServerState& state) {
      state.squares[1] += sums.values[0] * sums.values[0];
      state.model[5] = state.squares[1];
    };
    return NewSummingServer(kSumShape, rule);
  };
  const auto server = make();
  std::vector<std::unique_ptr<Inbox>> inboxes;
  inboxes.push_back(server->NewInbox());
  for (const float value : {2.0F, 3.0F}) {
    inboxes[0]->Add(From(0, {0}, {value, 0}));
    server->Commit(inboxes, 1);
  }
  EXPECT_THAT(server->Save(), ElementsAre(0, 0, 0, 0, 0, 13, 0, 13));
  const auto copy = make();
  copy->Load(2, server->Save());
  inboxes[0]->Add(From(0, {0}, {1, 0}));
  copy->Commit(inboxes, 1);
  EXPECT_EQ(copy->broadcast().model[5], 14);
  EXPECT_THROW(copy->Load(2, std::vector<double>(6)), Error);
}

TEST(ServerRule, GivesLossesOfSentBlocksToThoseBlocks) {
  const auto server = WeighingServer({3, 2, 2, 2, true});
  std::vector<std::unique_ptr<Inbox>> inboxes;
  inboxes.push_back(server->NewInbox());
  Updates update = From(0, {2, 0}, {1, 1, 1, 1});
  update.losses = {2, 1};
  inboxes[0]->Add(update);
  server->Commit(inboxes, 1);
  EXPECT_THAT(server->Save(), ElementsAre(0, 0, 0, 0, 0, 0, 1, 0, 2));
}

TEST(SummingServerOfIntegers, AddsThemInTheirRingAndUnit) {
  for (const unsigned bits : {32U, 64U}) {
    ModelShape shape = kSumShape;
    shape.losses_per_update = 2;
    shape.ring = {bits, 0.125};
    ServerRule rule;
    rule.weights = 2;
    rule.weight_rate = 1;
    rule.apply = [](const StepSums& sums, ServerState& state) {
      SubtractMean(sums, state);
      for (std::size_t i = 0; i < 2; ++i) state.losses[i] += sums.losses[i];
    };
    const auto server = NewSummingServer(shape, rule);
    std::vector<std::unique_ptr<Inbox>> inboxes;
    inboxes.push_back(server->NewInbox());
    inboxes.push_back(server->NewInbox());
    const auto sent = [&](std::vector<std::uint32_t> blocks, std::vector<std::int64_t> numbers) {
      Updates updates = From(0, std::move(blocks), {});
      for (const std::int64_t number : numbers) updates.integers.push_back(shape.ring.Wrap(number));
      CheckUpdates(shape, updates);
      return updates;
    };
    inboxes[0]->Add(sent({0, 2}, {8, -16, 24, 32, 1, 2}));
    inboxes[1]->Add(sent({2}, {-40, 0, 3, -6}));
    server->Commit(inboxes, 2);
    // -(1/2) of the sums times 1/8.
    EXPECT_THAT(server->Save(), ElementsAre(-0.5, 1, 0, 0, 1, -2, 0.5, -0.5)) << bits;
  }
}

TEST_F(SummingServer, GivesTheSameBitsWhicheverSideAddedUp) {
  const ModelShape shape{.blocks = 3,
                         .width = 2,
                         .blocks_per_update = 2,
                         .losses_per_update = 2,
                         .loss_per_block = false};
  const auto model_of = [&](bool apart) {
    const auto made = NewSummingServer(shape, {.weights = 2, .weight_rate = 1});
    std::vector<std::unique_ptr<Inbox>> here;
    here.push_back(made->NewInbox());
    for (std::uint64_t client = 0; client < 4; ++client) {
      Updates updates = From(client, {0, client % 2 == 0 ? 2U : 0U}, {0.1F, 0.2F, 0.3F, 0.4F});
      if (client % 2 != 0) updates = From(client, {0}, {0.7F, -0.1F});
      updates.losses = {0.25F * static_cast<float>(client), 0.5F};
      const auto elsewhere = made->NewInbox();
      (apart ? *elsewhere : *here[0]).Add(updates);
      if (apart) here[0]->Unpack(elsewhere->Pack());
    }
    made->Commit(here, 4);
    return std::pair(made->broadcast().model, made->broadcast().weights);
  };
  EXPECT_EQ(model_of(true), model_of(false));
}

TEST_F(SummingServer, RefusesSumsThatDoNotFit) {
  inboxes[0]->Add(From(0, {1}, {1, 2}));
  const std::vector<std::int64_t> good = server->NewInbox()->Pack();
  for (const std::vector<std::int64_t>& bad : {std::vector<std::int64_t>{},
                                               {4, 0, 1, 2, 3},
                                               {-1},
                                               {1, 3, 5, 5},
                                               {1, -1, 5, 5},
                                               {1, 0, 5}}) {
    EXPECT_THROW(inboxes[0]->Unpack(bad), Error);
  }
  inboxes[0]->Unpack(good);
  server->Commit(inboxes, 1);
  EXPECT_THAT(model(), ElementsAre(0, 0, -1, -2, 0, 0));
}

}  // namespace
}  // namespace polykern
