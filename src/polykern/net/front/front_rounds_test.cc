// Rounds of several front ends with a real database behind them, without a network.
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/net/front/front_testing.h"
#include "polykern/net/front/step_ender.h"
#include "polykern/net/rounds/client_notes.h"
#include "polykern/net/rounds/rounds.h"
#include "polykern/net/rounds/rounds_testing.h"
#include "polykern/net/store_kinds/open_store.h"

namespace polykern {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

class RoundsOfFronts : public FrontsInADatabase {
 protected:
  /// A front end: its place among the others, its rounds and its turn at ending steps.
  struct Place {
    std::unique_ptr<Front> front;
    std::unique_ptr<Rounds> rounds;
    std::unique_ptr<StepEnder> ender;
  };
  struct Client {
    std::shared_ptr<CountingPeer> peer = std::make_shared<CountingPeer>();
    std::size_t place = 0;
    SessionId session = 0;
  };

  RoundsOfFronts() {
    configuration_.options.kernels = 4;
    configuration_.options.features = 2;
    configuration_.options.kernels_per_upload = 2;
    configuration_.problem = {3, 100, 1};
    algorithm_ = MakeAlgorithm(configuration_);
    options_.quorum = Quorum::All();
  }
  void TearDown() override { places_.clear(); }

  void Begin(std::size_t count) {
    for (std::size_t n = 0; n < count; ++n) {
      Place place;
      place.front = Join(n + 1);
      RoundsOptions options = options_;
      options.front = place.front.get();
      place.rounds = std::make_unique<Rounds>(*algorithm_, *place.front, options);
      place.rounds->SetAddress("front:" + std::to_string(n));
      place.ender = std::make_unique<StepEnder>(StepEnderOptions{.place = place_, .front = n + 1},
                                                *algorithm_, options_);
      places_.push_back(std::move(place));
    }
  }

  Rounds& At(std::size_t place) { return *places_[place].rounds; }

  /// What the front ends' own threads do, until it is so; time passes slowly.
  bool Until(const std::function<bool()>& so) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < end) {
      now_ += milliseconds(2);
      for (const Place& place : places_) place.rounds->Commit(now_);
      if (so()) return true;
      std::this_thread::sleep_for(milliseconds(2));
    }
    return false;
  }

  Client Come(std::size_t place, const std::string& name) {
    Client client{.place = place};
    client.session = At(place).Join(name, {}, client.peer, now_);
    return client;
  }
  std::optional<Welcome> WelcomeOf(const Client& client) {
    std::optional<Welcome> welcome;
    EXPECT_TRUE(Until([&] {
      const Outgoing out = At(client.place).Take(client.session);
      if (out.message == nullptr) return out.ending.has_value();
      const ServerMessage message = DecodeServerMessage(*out.message);
      if (const auto* got = std::get_if<Welcome>(&message)) welcome = *got;
      return welcome.has_value();
    }));
    return welcome;
  }
  Client Welcomed(std::size_t place, const std::string& name) {
    const Client client = Come(place, name);
    EXPECT_TRUE(WelcomeOf(client));
    return client;
  }
  void Answer(const Client& client, std::uint64_t step, float value = 1) {
    Updates updates;
    updates.step = step;
    updates.clients = {99};
    updates.first = {0, 1};
    updates.blocks = {0};
    updates.values.assign(4, value);
    At(client.place).Receive(client.session, std::move(updates), now_);
  }
  bool Reach(std::uint64_t step) {
    return Until([&] {
      return std::ranges::all_of(
          places_, [&](const Place& place) { return place.rounds->status().step >= step; });
    });
  }
  /// It does not, while the front ends have said all that they had to say.
  bool Stays(std::uint64_t step) {
    const auto end = std::chrono::steady_clock::now() + milliseconds(300);
    Until([&] { return std::chrono::steady_clock::now() > end; });
    return Number("SELECT step FROM polykern_open") == static_cast<std::int64_t>(step);
  }
  std::optional<Ending> EndingOf(const Client& client) {
    std::optional<Ending> ending;
    EXPECT_TRUE(Until([&] {
      const Outgoing out = At(client.place).Take(client.session);
      ending = out.ending;
      return ending.has_value();
    }));
    return ending;
  }

  std::unique_ptr<Algorithm> algorithm_;
  RoundsOptions options_;
  std::vector<Place> places_;
  Rounds::Time now_{std::chrono::seconds(1000)};
};

TEST_F(RoundsOfFronts, EndStepsOfTheClientsOfAll) {
  Begin(2);
  const Client a = Welcomed(0, "a");
  const Client b = Welcomed(1, "b");
  for (std::uint64_t step = 0; step < 3; ++step) {
    Answer(a, step);
    ASSERT_TRUE(Stays(step));
    Answer(b, step);
    ASSERT_TRUE(Reach(step + 1));
  }
  for (const StoredClient& client : ReadStore(url()).clients) {
    EXPECT_EQ(client.accepted, 3U);
    EXPECT_EQ(client.next_step, 3U);
  }
  EXPECT_EQ(Number("SELECT min(participants) FROM polykern_step"), 2);
  EXPECT_EQ(At(0).status().accepted, 3U);
}

TEST_F(RoundsOfFronts, GiveTheModelThatOneServerGives) {
  Begin(2);
  const Client a = Welcomed(0, "a");
  const Client b = Welcomed(1, "b");
  for (std::uint64_t step = 0; step < 4; ++step) {
    Answer(a, step, 0.25F);
    Answer(b, step, -3);
    ASSERT_TRUE(Reach(step + 1));
  }
  Coordinator coordinator(*algorithm_, 2);
  for (std::uint64_t step = 0; step < 4; ++step) {
    for (const auto& [client, value] : {std::pair(0U, 0.25F), std::pair(1U, -3.0F)}) {
      Updates updates;
      updates.step = step;
      updates.clients = {client};
      updates.first = {0, 1};
      updates.blocks = {0};
      updates.values.assign(4, value);
      coordinator.Receive(updates);
    }
    coordinator.Commit();
  }
  EXPECT_EQ(ReadStore(url()).newest->state, coordinator.Save());
}

TEST_F(RoundsOfFronts, CountAnUpdateOnceWhoseClientGoesToAnother) {
  Begin(2);
  const Client a = Welcomed(0, "a");
  const Client b = Welcomed(1, "b");
  Answer(a, 0);
  const Client moved = Come(1, "a");  // before the step ends
  const auto welcome = WelcomeOf(moved);
  ASSERT_TRUE(welcome);
  EXPECT_EQ(welcome->client, 0U);
  EXPECT_EQ(EndingOf(a)->kind, Ending::Kind::kReplaced);
  Answer(moved, 0);  // again, as a client does that does not know whether it arrived
  EXPECT_EQ(At(1).status().duplicates, 1U);
  Answer(b, 0);
  ASSERT_TRUE(Reach(1));
  EXPECT_EQ(ReadStore(url()).clients[0].accepted, 1U);
}

TEST_F(RoundsOfFronts, KnowWhoLeft) {
  Begin(2);
  const Client a = Welcomed(0, "a");
  const Client b = Welcomed(1, "b");
  const auto connected = [&](std::size_t client) {
    return ReadStore(url()).clients[client].connected;
  };
  EXPECT_TRUE(connected(0) && connected(1));
  At(0).Leave(a.session, now_);
  now_ += std::chrono::seconds(1);
  EXPECT_TRUE(Until([&] { return !connected(0); }));
  EXPECT_TRUE(connected(1));
  Welcomed(1, "a");  // nobody has to be asked for it
  EXPECT_TRUE(connected(0));
}

TEST_F(RoundsOfFronts, DoNotWaitForForgottenClients) {
  Begin(2);
  const Client a = Welcomed(0, "a");
  const Client b = Welcomed(1, "b");
  const Client c = Welcomed(1, "c");
  for (const Client& each : {a, b, c}) Answer(each, 0);
  ASSERT_TRUE(Reach(1));
  At(1).Leave(c.session, now_);
  now_ += std::chrono::seconds(1);
  Answer(a, 1);
  Answer(b, 1);
  EXPECT_TRUE(Stays(1));  // the quorum is all
  ForgetClient(*OpenToNote(url()), "c");
  ASSERT_TRUE(Reach(2));
  EXPECT_TRUE(Until([&] { return At(0).status().gone == 1; }));
}

TEST_F(RoundsOfFronts, WaitADeadlineForWhoFallsSilentAndNotAgain) {
  options_.quorum = {.share = 0.6};
  options_.deadline = std::chrono::seconds(100);
  Begin(2);
  const Client a = Welcomed(0, "a");
  const Client b = Welcomed(0, "b");
  const Client c = Welcomed(1, "c");
  Answer(a, 0);
  Answer(b, 0);
  EXPECT_TRUE(Stays(0));
  Run("UPDATE polykern_partial SET began = began - interval '100 s'");  // by the database's clock
  ASSERT_TRUE(Reach(1));
  Answer(a, 1);
  Answer(b, 1);
  ASSERT_TRUE(Reach(2));
  Answer(c, 0);  // too late to count, but it is there
  EXPECT_TRUE(Until([&] { return At(1).status().late == 1; }));
  Answer(a, 2);
  Answer(b, 2);
  EXPECT_TRUE(Stays(2));
}

TEST_F(RoundsOfFronts, WaitTwoDeadlinesWhereTheOthersAreNotTheShare) {
  options_.quorum = {.share = 0.9};
  options_.deadline = std::chrono::seconds(100);
  Begin(2);
  const Client a = Welcomed(0, "a");
  const Client b = Welcomed(0, "b");
  Welcomed(1, "c");
  Answer(a, 0);
  Answer(b, 0);
  EXPECT_TRUE(Stays(0));
  Run("UPDATE polykern_partial SET began = began - interval '100 s'");
  EXPECT_TRUE(Stays(0));  // two of three are no 90 %
  Run("UPDATE polykern_partial SET began = began - interval '100 s'");
  EXPECT_TRUE(Reach(1));
}

TEST_F(RoundsOfFronts, EndNoStepWithFewerThanTheLeast) {
  options_.quorum = {.share = 0.5};
  options_.least_clients = 2;
  Begin(2);
  Answer(Welcomed(0, "a"), 0);
  EXPECT_TRUE(Stays(0));
  Answer(Welcomed(1, "b"), 0);
  EXPECT_TRUE(Reach(1));
}

TEST_F(RoundsOfFronts, TakeOverAChangedQuorum) {
  options_.quorum = {.count = 3};
  Begin(2);
  Answer(Welcomed(0, "a"), 0);
  Answer(Welcomed(1, "b"), 0);
  EXPECT_TRUE(Stays(0));
  options_.quorum = {.count = 2};
  for (const Place& place : places_) {
    place.rounds->Change(options_, now_);
    place.ender->Change(options_);
  }
  EXPECT_TRUE(Reach(1));
}

TEST_F(RoundsOfFronts, ContinueWhenTheDatabaseCutsThemOff) {
  Begin(2);
  const Client a = Welcomed(0, "a");
  const Client b = Welcomed(1, "b");
  Answer(a, 0);
  EXPECT_TRUE(Stays(0));
  Run("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND pid <> "
      "pg_backend_pid() AND objsubid = 2");
  EXPECT_TRUE(Until([&] { return !At(0).status().trouble.empty(); }));
  EXPECT_TRUE(Until([&] { return At(0).status().trouble.empty(); }));
  Answer(b, 0);
  ASSERT_TRUE(Reach(1));
  EXPECT_EQ(ReadStore(url()).clients[0].accepted, 1U);
}

TEST_F(RoundsOfFronts, MayNeedMoreClientsThanOneOfThemHolds) {
  options_.most_connected = 1;
  options_.quorum = {.count = 2};
  Begin(2);
  Answer(Welcomed(0, "a"), 0);
  EXPECT_EQ(EndingOf(Come(0, "b"))->reason, "the server is full");
  Answer(Welcomed(1, "b"), 0);
  EXPECT_TRUE(Reach(1));
}

TEST_F(RoundsOfFronts, SayWhenThereIsNoRoom) {
  options_.most_clients = 1;
  options_.quorum = {.count = 1};
  Begin(2);
  Welcomed(0, "a");
  const Client b = Come(1, "b");
  EXPECT_FALSE(WelcomeOf(b));
  EXPECT_EQ(Number("SELECT count(*) FROM polykern_client"), 1);
}

TEST_F(RoundsOfFronts, LetInOnlyWhoIsNamed) {
  options_.roster = {"b", "a"};
  Begin(1);
  const auto welcome = WelcomeOf(Come(0, "a"));
  ASSERT_TRUE(welcome);
  EXPECT_EQ(welcome->client, 1U);
  const auto ending = EndingOf(Come(0, "c"));
  EXPECT_EQ(ending->kind, Ending::Kind::kRefused);
  EXPECT_THAT(ending->reason, HasSubstr("'c' is not a client of this federation"));
}

TEST_F(RoundsOfFronts, NoteCertificatesAndLeaveLabelsAsTheyAre) {
  Begin(1);
  const Client a = Welcomed(0, "a");
  LabelClient(*OpenToNote(url()), "a", "roof");
  At(0).NoteCertificate(a.session, "0A", 99);
  now_ += std::chrono::seconds(1);
  EXPECT_TRUE(Until([&] { return ReadStore(url()).clients[0].note.serial == "0A"; }));
  EXPECT_EQ(ReadStore(url()).clients[0].note, (ClientNote{"roof", false, "0A", 99}));
}

TEST_F(RoundsOfFronts, ShowEachOther) {
  Begin(2);
  Welcomed(0, "a");
  Welcomed(1, "b");
  now_ += std::chrono::seconds(1);
  EXPECT_TRUE(Until([&] {
    const auto fronts = At(1).status().fronts;
    return fronts && fronts->fronts.size() == 2 && fronts->fronts[0].report.connected == 1 &&
           fronts->fronts[1].report.connected == 1;
  }));
  const RoundsStatus status = At(0).status();
  EXPECT_EQ(status.enrolled, 2U);
  EXPECT_EQ(status.needed, 2U);
  EXPECT_EQ(status.connected, 1U);
}

}  // namespace
}  // namespace polykern
