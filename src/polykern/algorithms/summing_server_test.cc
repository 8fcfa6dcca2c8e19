#include "polykern/algorithms/summing_server.h"

#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/aggregate.h"
#include "polykern/core/error.h"

namespace polykern {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr ModelShape kShape = {3, 2, 2};

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
  explicit SummingServer(std::size_t inboxes = 1) : server_(NewSummingServer(kShape)) {
    for (std::size_t i = 0; i < inboxes; ++i) inboxes_.push_back(server_->NewInbox());
  }

  const std::vector<float>& model() const { return server_->broadcast().model; }

  std::unique_ptr<Server> server_;
  std::vector<std::unique_ptr<Inbox>> inboxes_;
};

TEST_F(SummingServer, StartsAtZeroBeforeTheFirstStep) {
  EXPECT_EQ(server_->broadcast().step, 0U);
  EXPECT_EQ(model().size(), 6U);
  EXPECT_THAT(model(), Each(0));
}

TEST_F(SummingServer, SubtractsTheMeanStepOverAllParticipants) {
  // (13) by hand, K = 4: clients 0 and 1 send, clients 2 and 3 took part and sent nothing.
  inboxes_[0]->Add(From(0, {0, 2}, {1, 2, 3, 4}));
  inboxes_[0]->Add(From(1, {2}, {-1, 8}));
  server_->Commit(inboxes_, 4);
  EXPECT_EQ(server_->broadcast().step, 1U);
  EXPECT_THAT(model(), ElementsAre(-0.25, -0.5, 0, 0, -0.5, -3));
}

TEST_F(SummingServer, GoesOnFromTheModelOfTheStepBefore) {
  inboxes_[0]->Add(From(0, {1}, {1, 2}));
  server_->Commit(inboxes_, 1);
  inboxes_[0]->Add(From(0, {1}, {4, -4}));
  server_->Commit(inboxes_, 2);
  EXPECT_EQ(server_->broadcast().step, 2U);
  EXPECT_THAT(model(), ElementsAre(0, 0, -3, 0, 0, 0));
}

TEST_F(SummingServer, EmptiesTheInboxesItCommits) {
  inboxes_[0]->Add(From(0, {1}, {1, 2}));
  server_->Commit(inboxes_, 1);
  server_->Commit(inboxes_, 1);
  EXPECT_EQ(server_->broadcast().step, 2U);
  EXPECT_THAT(model(), ElementsAre(0, 0, -1, -2, 0, 0));
}

TEST_F(SummingServer, OnlyCountsAStepWithoutParticipants) {
  inboxes_[0]->Add(From(0, {1}, {1, 2}));
  server_->Commit(inboxes_, 1);
  server_->Commit(inboxes_, 0);
  EXPECT_EQ(server_->broadcast().step, 2U);
  EXPECT_THAT(model(), ElementsAre(0, 0, -1, -2, 0, 0));
}

TEST_F(SummingServer, ForgetsAnInboxThatWasCleared) {
  inboxes_[0]->Add(From(0, {1}, {1, 2}));
  inboxes_[0]->Clear();
  server_->Commit(inboxes_, 1);
  EXPECT_THAT(model(), Each(0));
}

TEST_F(SummingServer, AddsUpSeveralInboxes) {
  inboxes_.push_back(server_->NewInbox());
  inboxes_.push_back(server_->NewInbox());
  inboxes_[2]->Add(From(0, {0}, {1, 2}));
  inboxes_[0]->Add(From(1, {0}, {4, 8}));
  server_->Commit(inboxes_, 2);
  EXPECT_THAT(model(), ElementsAre(-2.5, -5, 0, 0, 0, 0));
}

TEST_F(SummingServer, DoesNotLoseStepsTooSmallForAFloatModel) {
  inboxes_[0]->Add(From(0, {0}, {512, 0}));
  server_->Commit(inboxes_, 1);
  for (int i = 0; i < 1 << 10; ++i) {  // 2^-16 is below half a unit in the last place of 512
    inboxes_[0]->Add(From(0, {0}, {0x1p-16F, 0}));
    server_->Commit(inboxes_, 1);
  }
  EXPECT_EQ(model()[0], -512 - 0x1p-6F);
}

TEST_F(SummingServer, RefusesMoreParticipantsThanSumsAreExactFor) {
  EXPECT_THROW(server_->Commit(inboxes_, ExactSum::kMaxTerms + 1), Error);
  EXPECT_EQ(server_->broadcast().step, 0U);
}

TEST_F(SummingServer, GoesOnFromWhatWasSaved) {
  inboxes_[0]->Add(From(0, {0, 1}, {0.1F, 0.2F, 0.3F, 0.4F}));
  server_->Commit(inboxes_, 3);
  const auto copy = NewSummingServer(kShape);
  std::vector<std::unique_ptr<Inbox>> copy_inboxes;
  copy_inboxes.push_back(copy->NewInbox());
  copy->Load(server_->broadcast().step, server_->Save());
  EXPECT_EQ(copy->broadcast().step, 1U);
  EXPECT_EQ(copy->broadcast().model, model());
  for (int step = 0; step < 20; ++step) {
    inboxes_[0]->Add(From(0, {0, 2}, {0.7F, -0.9F, 1e-3F, 3}));
    copy_inboxes[0]->Add(From(0, {0, 2}, {0.7F, -0.9F, 1e-3F, 3}));
    server_->Commit(inboxes_, 7);
    copy->Commit(copy_inboxes, 7);
  }
  EXPECT_EQ(copy->Save(), server_->Save());
  EXPECT_EQ(copy->broadcast().model, model());
  EXPECT_EQ(copy->broadcast().step, 21U);
}

TEST_F(SummingServer, RefusesASavedModelOfAnotherSizeAndKeepsItsOwn) {
  inboxes_[0]->Add(From(0, {1}, {1, 2}));
  server_->Commit(inboxes_, 1);
  for (const std::size_t size : {0U, 5U, 7U}) {
    try {
      server_->Load(8, std::vector<double>(size, 1.0));
      FAIL() << "accepted " << size;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(std::to_string(size) + " numbers"));
    }
  }
  EXPECT_EQ(server_->broadcast().step, 1U);
  EXPECT_THAT(model(), ElementsAre(0, 0, -1, -2, 0, 0));
}

}  // namespace
}  // namespace polykern
