#include <algorithm>

#include <gmock/gmock.h>

#include "polykern/algorithms/gram/gram_server_testing.h"
#include "polykern/core/error.h"

namespace polykern {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using twin::Vector;

TEST_F(GramServers, SolveTheRidgeRegressionOfAllSamples) {
  const auto server = NewGramServer(grid_, rule_);
  Step(*server, Answers({1, 5}));
  EXPECT_THAT(server->discarded(), IsEmpty());
  for (const std::size_t expert : {0U, 1U, 3U, 4U, 5U}) {
    std::vector<twin::Weighted> all;
    for (const LearntSamples& own : samples_) {
      for (std::size_t i = 0; i < own.y.size(); ++i) {
        all.push_back({Z(expert, std::span(own.x).subspan(i * twin::kDimension, twin::kDimension)),
                       own.y[i] - 0.5});
      }
    }
    Vector expected = twin::RidgeSolution(all, kGramRidge, grid_.WidthOf(expert));
    // The model is for features of the bank's length.
    for (double& each : expected) {
      each *= std::sqrt(21.0 / static_cast<double>(grid_.SizeOf(expert)));
    }
    // Features are off by 2^-19 of 0.22, and the ridge makes that 1 / (2 sqrt(0.01)) times 10.
    EXPECT_LT(twin::RelativeError(Theta(*server, expert), expected), 2e-3) << expert;
  }
  EXPECT_THAT(Theta(*server, 2), testing::Each(0)) << "it had no turn";
}

TEST_F(GramServers, ForgetWhatIsOld) {
  rule_.forgetting = 0.5;
  const auto server = NewGramServer(grid_, rule_);
  const auto once = NewGramServer(grid_, rule_);
  Step(*server, {Answer(0, {0}), Answer(1, {0})});
  for (int step = 0; step < 60; ++step) Step(*server, Answers({3}));
  Step(*server, {Answer(2, {0}), Answer(3, {0})});
  Step(*once, {Answer(2, {0}), Answer(3, {0})});
  EXPECT_THAT(Theta(*server, 0), testing::ElementsAreArray(Theta(*once, 0)));
}

TEST_F(GramServers, HaveTheSameBitsInAnyOrderAndInboxes) {
  const auto one = NewGramServer(grid_, rule_);
  const auto other = NewGramServer(grid_, rule_);
  std::vector<Updates> updates = Answers({0, 2, 4});
  Step(*one, updates);
  std::ranges::reverse(updates);
  Step(*other, updates, 3);
  EXPECT_EQ(one->Save(), other->Save());
  EXPECT_EQ(one->broadcast().model, other->broadcast().model);
}

TEST_F(GramServers, AddUpWhatOthersHold) {
  const auto one = NewGramServer(grid_, rule_);
  const auto other = NewGramServer(grid_, rule_);
  for (int step = 0; step < 3 || one->broadcast().turn.empty(); ++step) {
    ASSERT_LT(step, 20) << "there is no turn";
    Step(*one, Answers(one->broadcast().turn));
    Step(*other, Answers(other->broadcast().turn));
  }
  const std::vector<std::uint32_t> turn = one->broadcast().turn;
  std::vector<std::unique_ptr<Inbox>> here;
  here.push_back(one->NewInbox());
  std::vector<std::unique_ptr<Inbox>> there;
  there.push_back(one->NewInbox());
  const auto updates = Answers(turn);
  for (std::size_t i = 0; i < updates.size(); ++i) (i < 2 ? here : there)[0]->Add(updates[i]);
  const auto sums = here[0]->Sums();
  const auto more = there[0]->Sums();
  ASSERT_EQ(sums.size(), more.size());
  for (std::size_t s = 0; s < sums.size(); ++s) {
    for (std::size_t i = 0; i < sums[s].size(); ++i) sums[s][i] += more[s][i];
  }
  one->Commit(here, updates.size());
  one->Open();
  Step(*other, updates);
  EXPECT_EQ(one->Save(), other->Save());
}

TEST_F(GramServers, HoldFirstSumsOfFewerSamplesThanTheyCountedOn) {
  rule_.schedule.disclosure = 0.5;
  rule_.expected = {20 * kClients, 80 * kClients};
  const auto server = NewGramServer(grid_, rule_);
  const auto turn = server->broadcast().turn;
  EXPECT_THAT(turn, testing::ElementsAre(0, 3));  // 144 numbers, and half of 400 unknowns
  const auto all = NewGramServer(grid_, rule_);
  Step(*all, Answers(turn));
  EXPECT_NE(all->broadcast().model, server->broadcast().model);
  Step(*server, {Answer(0, turn), Answer(1, turn), Answer(2, turn)});  // half of 240
  EXPECT_THAT(server->broadcast().model, testing::Each(0));
  EXPECT_EQ(server->broadcast().turn, turn);
  EXPECT_THAT(server->discarded(), IsEmpty());
  Step(*server, {Answer(4, turn), Answer(3, turn)});
  EXPECT_EQ(server->broadcast().model, all->broadcast().model);
}

TEST_F(GramServers, HoldTheSameSumsAfterAStop) {
  rule_.schedule.disclosure = 0.5;
  rule_.expected = {20 * kClients, 80 * kClients};
  const auto whole = NewGramServer(grid_, rule_);
  const auto turn = whole->broadcast().turn;
  Step(*whole, {Answer(0, turn), Answer(1, turn)});
  const auto stopped = NewGramServer(grid_, rule_);
  const std::vector<double> saved = whole->Save();
  stopped->Load(1, saved);
  EXPECT_EQ(stopped->Save(), saved);
  for (const auto& server : {whole.get(), stopped.get()}) Step(*server, Answers(turn));
  EXPECT_THAT(whole->broadcast().model, testing::Contains(testing::Ne(0)));
  EXPECT_EQ(whole->Save(), stopped->Save());

  // The numbers of one message less.
  const std::vector<double> cut(saved.begin(), saved.end() - 1);
  EXPECT_THAT([&] { stopped->Load(1, cut); },
              testing::ThrowsMessage<Error>(HasSubstr("other settings")));
}

TEST_F(GramServers, NameWhoIsInASumThatIsClosed) {
  const auto server = NewGramServer(grid_, rule_);
  std::vector<Updates> updates = Answers({1, 5});
  for (Updates& each : updates) {
    each.releases = 7;
    each.nonces = {{static_cast<std::uint8_t>(each.clients[0] + 100), 3}};
  }
  std::ranges::reverse(updates);
  Commit(*server, updates, 2);
  const auto releases = server->releases();
  ASSERT_EQ(releases.size(), 2U);
  EXPECT_EQ(releases[0].number, 0U);
  EXPECT_EQ(releases[1].number, 1U);
  EXPECT_EQ(releases[1].kind, 5U);
  EXPECT_EQ(releases[1].messages, kClients);
  EXPECT_EQ(releases[1].count, (SampleCount{20 * kClients, 80 * kClients}));
  ASSERT_EQ(releases[1].contributions.size(), kClients);
  for (std::uint64_t k = 0; k < kClients; ++k) {
    const MaskNonce nonce = {static_cast<std::uint8_t>(k + 100), 3};
    EXPECT_EQ(releases[0].contributions[k], (Contribution{k, 0, 7, {20, 80}, 80, nonce}));
    EXPECT_EQ(releases[1].contributions[k], (Contribution{k, 0, 7, {20, 80}, 0, nonce}));
  }
  server->Open();
  EXPECT_THAT(server->releases(), IsEmpty());
  EXPECT_EQ(server->broadcast().releases, 2U);
}

TEST_F(GramServers, OpenTheSameSumsAfterAStop) {
  const auto whole = NewGramServer(grid_, rule_);
  Step(*whole, Answers({0}));
  std::vector<Updates> updates = Answers({1, 5});
  for (Updates& each : updates) each.nonces = {{1, static_cast<std::uint8_t>(each.clients[0])}};
  for (Updates& each : updates) each.nonces[0][15] = 0xFF;
  Commit(*whole, updates, 1);
  const auto stopped = NewGramServer(grid_, rule_);
  stopped->Load(2, whole->Save());
  ASSERT_EQ(stopped->releases().size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(stopped->releases()[i].number, 1 + i);
    EXPECT_EQ(stopped->releases()[i].sums, whole->releases()[i].sums);
    EXPECT_EQ(stopped->releases()[i].contributions, whole->releases()[i].contributions);
  }
  EXPECT_EQ(stopped->Save(), whole->Save());
  for (const auto& server : {whole.get(), stopped.get()}) server->Open();
  EXPECT_EQ(stopped->Save(), whole->Save());
  EXPECT_EQ(stopped->broadcast().turn, whole->broadcast().turn);
}

TEST_F(GramServers, BeginAnEpochWithTheModelAlone) {
  rule_.schedule.disclosure = 0.5;
  const auto server = NewGramServer(grid_, rule_);
  Step(*server, Answers({0}));
  std::vector<Updates> few = Answers({3});
  few.resize(1);
  Step(*server, few);  // held: too few samples
  const std::vector<float> before = server->broadcast().model;
  EXPECT_EQ(server->broadcast().releases, 1U);
  server->BeginEpoch();
  EXPECT_EQ(server->broadcast().releases, 0U);
  EXPECT_EQ(server->broadcast().model, before);
  const auto stopped = NewGramServer(grid_, rule_);
  stopped->Load(server->broadcast().step, server->Save());
  EXPECT_EQ(stopped->Save(), server->Save());
  EXPECT_THAT(server->broadcast().turn, IsEmpty()) << "nothing is learnt that can pay for it";
  std::vector<Updates> others = Answers({3});
  others.erase(others.begin());
  Commit(*server, others, 1);
  ASSERT_EQ(server->releases().size(), 1U);
  EXPECT_EQ(server->releases()[0].number, 0U);
  EXPECT_EQ(server->releases()[0].count.samples, 80U) << "of the first one's nothing was left";
}

TEST_F(GramServers, RefuseStatesOfOtherSettings) {
  const auto server = NewGramServer(grid_, rule_);
  const GramGrid other(2, 10);
  EXPECT_THAT([&] { server->Load(1, NewGramServer(other, rule_)->Save()); },
              testing::ThrowsMessage<Error>(HasSubstr("other settings")));
}
}  // namespace
}  // namespace polykern
