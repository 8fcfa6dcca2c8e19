// Rounds of several front ends, without a database.
#include "polykern/net/rounds/shared_rounds.h"

#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/random.h"
#include "polykern/net/rounds/shared_rounds_testing.h"

namespace polykern {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(RoundsThatShare, GiveTheBitsOfOneServerHoweverClientsAreDivided) {
  Random random(1, Purpose::kTest);
  Begin(3);
  options_.roster = {"0", "1", "2", "3", "4"};
  Start();  // the one server, which knows all of them
  std::vector<TestClient> clients;
  std::vector<TestClient> twins;
  std::vector<std::size_t> places;
  for (const std::string& name : options_.roster) {
    places.push_back(random.Below(3));
    clients.push_back(Welcomed(places.back(), name));
    twins.push_back(Join(name));
  }
  for (std::uint64_t step = 0; step < 12; ++step) {
    for (const std::size_t k : {4U, 1U, 3U, 0U, 2U}) {
      const float value = static_cast<float>(random.Below(1000)) / 700 - 1;
      AnswerAt(places[k], clients[k], step, value);
      rounds_->Receive(twins[k].session, UpdateOf(step, value), now_);
      if (random.Below(2) == 0) Talk();  // in one part, or in several
    }
    Talk();
    all_->EndStep();
    Talk();
    EXPECT_EQ(all_->step(), step + 1);
    EXPECT_EQ(rounds_->status().step, step + 1);
  }
  EXPECT_EQ(all_->state, store_->Contents().newest->state);
  for (std::size_t n = 0; n < 3; ++n) EXPECT_EQ(StatusAt(n).step, 12U);
}

TEST_F(RoundsThatShare, WelcomeAClientOnceAllKnowThatItIsHere) {
  Begin(2);
  const TestClient a = Come(0, "a");
  EXPECT_FALSE(WelcomeOf(0, a));
  AnswerAt(0, a, 0);
  EXPECT_EQ(StatusAt(0).rejected, 1U) << "it cannot have a model to answer";
  Talk();
  const Outgoing refused = places_[0]->Take(a.session);
  EXPECT_FALSE(std::get<Verdict>(DecodeServerMessage(*refused.message)).accepted);
  EXPECT_TRUE(WelcomeOf(0, a));
  EXPECT_EQ(all_->clients.at(0).front, 1U);
}

TEST_F(RoundsThatShare, HandAClientOnToWhereItComesNext) {
  Begin(2);
  const TestClient first = Welcomed(0, "a");
  AnswerAt(0, first, 0);
  const TestClient second = Come(1, "a");
  Talk();
  EXPECT_EQ(EndingAt(0, first).kind, Ending::Kind::kReplaced);
  const auto welcome = WelcomeOf(1, second);
  ASSERT_TRUE(welcome);
  EXPECT_EQ(welcome->client, 0U) << "the same number";
  EXPECT_EQ(all_->clients.at(0).next_step, 1U) << "what it sent to the first one counts";
  AnswerAt(1, second, 0);
  EXPECT_EQ(StatusAt(1).duplicates, 1U);
}

TEST_F(RoundsThatShare, DropWhatComesWhenItsStepIsOver) {
  Begin(2);
  const TestClient a = Welcomed(0, "a");
  const TestClient b = Welcomed(1, "b");
  AnswerAt(0, a, 0);
  Talk();
  AnswerAt(1, b, 0);
  all_->EndStep();  // without b
  Talk();
  EXPECT_EQ(StatusAt(1).late, 1U);
  EXPECT_EQ(StatusAt(1).accepted, 0U);
  EXPECT_EQ(all_->clients.at(1).next_step, 0U);
  AnswerAt(1, b, 1);
  Talk();
  EXPECT_EQ(StatusAt(1).accepted, 1U);
  EXPECT_EQ(all_->clients.at(1).next_step, 2U);
}

TEST_F(RoundsThatShare, CountWhatComesLateInTheNextStepWhereItMay) {
  configuration_ = {.algorithm = "pof-gram", .problem = {3, 100, 1}};
  algorithm_ = MakeAlgorithm(configuration_);
  options_.use_late = true;
  Begin(2);
  const TestClient a = Welcomed(0, "a");
  const TestClient b = Welcomed(1, "b");
  Updates without_sums;
  without_sums.clients = {99};
  without_sums.first = {0, 0};
  without_sums.fresh = {{20, 80}};
  places_[0]->Receive(a.session, without_sums, now_);
  Talk();
  places_[1]->Receive(b.session, without_sums, now_);
  all_->EndStep();
  EXPECT_EQ(all_->clients.at(1).next_step, 0U);
  Talk(milliseconds(20'000));
  EXPECT_EQ(StatusAt(1).late, 0U);
  EXPECT_EQ(StatusAt(1).accepted, 1U);
  EXPECT_EQ(all_->clients.at(1).next_step, 1U) << "handed in with the second step";
  EXPECT_EQ(fronts_[1]->last.step, 1U);
}

TEST_F(RoundsThatShare, HandInWhatThereIsWhenTheyAreAsked) {
  Begin(1);
  const TestClient a = Welcomed(0, "a");
  const TestClient b = Welcomed(0, "b");
  AnswerAt(0, a, 0);
  Hush(0);
  places_[0]->Commit(now_);
  EXPECT_EQ(all_->clients.at(0).next_step, 0U) << "b may answer";
  all_->asked = true;
  Talk();
  EXPECT_EQ(all_->clients.at(0).next_step, 1U);
  EXPECT_TRUE(fronts_[0]->last.report.asked);
  EXPECT_EQ(fronts_[0]->last.report.waiting, 1U);
}

TEST_F(RoundsThatShare, TellEverythingAgainWhenTheDatabaseWasAwayAndCountItOnce) {
  for (const auto failure : {FrontsInMemory::Failure::kBefore, FrontsInMemory::Failure::kAfter}) {
    places_.clear();
    fronts_.clear();
    Begin(1);
    const TestClient a = Welcomed(0, "a");
    AnswerAt(0, a, 0, 2);
    all_->failure = failure;
    Hush(0);
    places_[0]->Commit(now_);
    EXPECT_EQ(StatusAt(0).trouble, "the database is away");
    all_->failure = FrontsInMemory::Failure::kNone;
    Talk();
    EXPECT_EQ(StatusAt(0).trouble, "");
    EXPECT_EQ(StatusAt(0).accepted, 1U);
    EXPECT_EQ(all_->clients.at(0).next_step, 1U);
    const std::vector<double> before = all_->coordinator.Save();
    all_->EndStep();
    Talk();
    EXPECT_EQ(StatusAt(0).step, 1U);
    EXPECT_NE(all_->state, before);
  }
}

TEST_F(RoundsThatShare, SendTheirClientsElsewhereWhenTheDatabaseStaysAway) {
  Begin(1);
  const TestClient a = Welcomed(0, "a");
  all_->failure = FrontsInMemory::Failure::kBefore;
  Talk();
  EXPECT_EQ(EndingAt(0, a).reason, "it has not ended") << "it may come back at once";
  EXPECT_EQ(EndingAt(0, Come(0, "b")).kind, Ending::Kind::kStopping) << "no new one comes in";
  Talk(milliseconds(3000));
  EXPECT_EQ(EndingAt(0, a).kind, Ending::Kind::kStopping);
  EXPECT_THAT(EndingAt(0, a).reason, HasSubstr("has lost its database"));
  all_->failure = FrontsInMemory::Failure::kNone;
  Talk();
  EXPECT_TRUE(WelcomeOf(0, Welcomed(0, "c")) || StatusAt(0).connected == 1);
}

TEST_F(RoundsThatShare, GiveUpClientsThatOthersTookMeanwhile) {
  Begin(1);
  const TestClient a = Welcomed(0, "a");
  const TestClient b = Welcomed(0, "b");
  AnswerAt(0, a, 0);
  all_->failure = FrontsInMemory::Failure::kBefore;
  Talk();
  all_->clients.at(0).front = 7;  // whose server saw this one as gone
  all_->failure = FrontsInMemory::Failure::kNone;
  Talk();
  EXPECT_EQ(EndingAt(0, a).kind, Ending::Kind::kReplaced);
  EXPECT_EQ(all_->clients.at(0).next_step, 0U) << "its sender sends it again, elsewhere";
  EXPECT_EQ(StatusAt(0).accepted, 0U);
  EXPECT_EQ(EndingAt(0, b).reason, "it has not ended");
}

TEST_F(RoundsThatShare, TurnClientsAwayForWhomTheFederationHasNoRoom) {
  Begin(1);
  all_->most_clients = 1;
  Welcomed(0, "a");
  const TestClient b = Come(0, "b");
  Talk();
  const Ending ending = EndingAt(0, b);
  EXPECT_EQ(ending.kind, Ending::Kind::kBusy);
  EXPECT_THAT(ending.reason, HasSubstr("no room for another client"));
}

TEST_F(RoundsThatShare, LetOthersHaveAClientThatLeft) {
  Begin(2);
  const TestClient a = Welcomed(0, "a");
  places_[0]->Leave(a.session, now_);
  Talk(milliseconds(1000));
  EXPECT_EQ(all_->clients.at(0).front, 0U);
  Welcomed(1, "a");
  EXPECT_EQ(all_->clients.at(0).front, 2U);
}

TEST_F(RoundsThatShare, SayWhatTheyKnowOfCertificatesAndWriteTheirLog) {
  Begin(2);
  const TestClient a = Welcomed(0, "a");
  places_[0]->NoteCertificate(a.session, "0A", 99);
  Talk(milliseconds(1000));
  EXPECT_EQ(all_->clients.at(0).note.serial, "0A");
  EXPECT_EQ(all_->clients.at(0).note.expires, 99);
  Talk(milliseconds(1000));
  EXPECT_THAT(fronts_[0]->last.certificates, IsEmpty()) << "once";
  EXPECT_THAT(fronts_[0]->events, testing::Contains("joined"));
}

TEST_F(RoundsThatShare, AskWhoMayStillComeInWhereStepsAreEnded) {
  Begin(2);
  Talk(milliseconds(1000));
  for (const auto& place : places_) {
    place->Recheck([](const ClientNote&) { return true; }, now_);
  }
  now_ += milliseconds(1500);
  for (const auto& place : places_) place->Commit(now_);
  EXPECT_TRUE(fronts_[0]->last.may_come_in) << "it leads";
  EXPECT_FALSE(fronts_[1]->last.may_come_in);
}

TEST_F(RoundsThatShare, ShowTheWholeFederationInTheirStatus) {
  Begin(2);
  places_[0]->SetAddress("here:1");
  Welcomed(0, "a");
  Welcomed(1, "b");
  Talk(milliseconds(1000));
  const RoundsStatus status = StatusAt(0);
  ASSERT_TRUE(status.fronts);
  EXPECT_EQ(status.fronts->fronts.at(0).report.address, "here:1");
  EXPECT_EQ(status.enrolled, 2U) << "of all";
  EXPECT_EQ(status.connected, 1U) << "to this one";
}

TEST_F(RoundsThatShare, WakeTheirWriterWhenOthersSpeakUntilTheyEnd) {
  Begin(1);
  Talk();
  ASSERT_TRUE(fronts_[0]->on_news);
  fronts_[0]->on_news();
  EXPECT_TRUE(places_[0]->WaitForWork({}, std::chrono::milliseconds(60'000))) << "at once";
  places_.clear();
  EXPECT_FALSE(fronts_[0]->on_news);
}

}  // namespace
}  // namespace polykern
