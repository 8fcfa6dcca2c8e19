// What every store does, whatever it keeps its records in.
#include "polykern/net/store/store.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <unistd.h>

#include "polykern/io/folder_testing.h"
#include "polykern/net/store/store_testing.h"
#include "polykern/net/store_kinds/open_store.h"

namespace polykern {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

struct StoreCase {
  const char* name;
  const char* scheme;
  bool durable;
};

/// PostgreSQL is among them where POLYKERN_POSTGRESQL is the URL of a database that tests may fill
/// (tests/e2e/postgresql_test.py starts one).
std::vector<StoreCase> DurableCases() {
  std::vector<StoreCase> cases = {{"File", "", true}, {"Sqlite", "sqlite:", true}};
  if (std::getenv("POLYKERN_POSTGRESQL") != nullptr) {
    cases.push_back({"Postgresql", "postgresql:", true});
  }
  return cases;
}

std::vector<StoreCase> AllCases() {
  std::vector<StoreCase> cases = DurableCases();
  cases.push_back({"Memory", "memory:", false});
  return cases;
}

/// A place that no other test uses.
std::string PlaceFor(const StoreCase& store, const TestFolder& folder) {
  if (!store.durable) return store.scheme;
  if (store.scheme != std::string("postgresql:")) return store.scheme + folder.At("store.db");
  const std::string url = std::getenv("POLYKERN_POSTGRESQL");
  const std::string schema = "s" + std::to_string(getpid()) + "_" +
                             testing::UnitTest::GetInstance()->current_test_info()->name();
  PGconn* const connection = PQconnectdb(url.c_str());
  const std::string make = "CREATE SCHEMA \"" + schema.substr(0, schema.find('/')) + "\"";
  PGresult* const made = PQexec(connection, make.c_str());
  EXPECT_EQ(PQresultStatus(made), PGRES_COMMAND_OK) << PQerrorMessage(connection);
  PQclear(made);
  PQfinish(connection);
  return url + "&options=-csearch_path%3D%22" + schema.substr(0, schema.find('/')) + "%22";
}

class EveryStore : public testing::TestWithParam<StoreCase> {
 protected:
  EveryStore() { Open(); }

  void Open(const StoreConfiguration& configuration = kTestConfiguration) {
    store_.reset();
    store_ = OpenStore(url_, configuration);
  }
  /// What a store that is not durable cannot do.
  void Reopen() {
    if (GetParam().durable) Open();
  }

  TestFolder folder_;
  const std::string url_ = PlaceFor(GetParam(), folder_);
  std::unique_ptr<Store> store_;
};

INSTANTIATE_TEST_SUITE_P(Stores, EveryStore, testing::ValuesIn(AllCases()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(EveryStore, IsEmptyWhenNew) {
  const StoreContents contents = store_->Contents();
  EXPECT_GE(contents.version, 1);
  EXPECT_EQ(contents.configuration, kTestConfiguration);
  EXPECT_FALSE(contents.newest);
  EXPECT_THAT(contents.clients, IsEmpty());
  EXPECT_EQ(contents.step_records + contents.events + contents.participants, 0U);
}

TEST_P(EveryStore, TakesOverAnotherOne) {
  StoreContents other{.configuration = {},
                      .newest = ResumePoint{.steps = 7, .state = StateOf(7)},
                      .participants = 2,
                      .committed = 1'700'000'000};
  other.clients = {{"b", 5, 9, 6, 1, 7}, {"a", 6, 8, 5, 0, 5, {"roof", true, "0A", 99}}};
  store_->Fill(other);
  Reopen();
  CommitTo(*store_, 8, {1});
  EnrolIn(*store_, {"c"});
  const StoreContents contents = store_->Contents();
  EXPECT_EQ(contents.step_records, 2U);
  EXPECT_EQ(contents.newest->state, StateOf(8));
  ASSERT_EQ(contents.clients.size(), 3U);
  EXPECT_EQ(contents.clients[0].name, "b");
  EXPECT_EQ(contents.clients[0].first_seen, 5);
  EXPECT_EQ(contents.clients[0].last_seen, 9);
  EXPECT_EQ(contents.clients[0].accepted, 6U);
  EXPECT_EQ(contents.clients[0].rejected, 1U);
  EXPECT_EQ(contents.clients[0].next_step, 7U);
  EXPECT_EQ(contents.clients[1].accepted, 6U);
  EXPECT_EQ(contents.clients[1].next_step, 8U);
  EXPECT_EQ(contents.clients[0].note, ClientNote{});
  EXPECT_EQ(contents.clients[1].note, other.clients[1].note);
}

TEST_P(EveryStore, TakesOverWhenAStepWasCommittedAndByHowMany) {
  store_->Fill({.configuration = {},
                .newest = ResumePoint{.steps = 7, .state = StateOf(7)},
                .participants = 2,
                .committed = 1'700'000'000});
  EXPECT_EQ(store_->Contents().participants, 2U);
  EXPECT_EQ(store_->Contents().committed, 1'700'000'000);
}

TEST_P(EveryStore, GivesBackTheNewestStep) {
  EnrolIn(*store_, {"b", "a"});
  for (std::uint64_t steps = 1; steps <= 5; ++steps) CommitTo(*store_, steps, {steps % 2});
  const std::array rejected = {Rejections{.client = 1, .count = 3}};
  const auto state = StateOf(6);
  store_->Write(
      {.step = StepCommit{.steps = 6, .state = state, .counted = {}, .rejected = rejected}});
  Reopen();
  EnrolIn(*store_, {"c"});
  const StoreContents contents = store_->Contents();
  ASSERT_TRUE(contents.newest);
  EXPECT_EQ(contents.newest->steps, 6U);
  EXPECT_EQ(contents.newest->state, StateOf(6));
  EXPECT_EQ(contents.step_records, 6U);
  EXPECT_EQ(contents.participants, 0U);
  EXPECT_GT(contents.committed, 0);
  const auto& clients = contents.clients;
  ASSERT_EQ(clients.size(), 3U);
  EXPECT_EQ(clients[0].name, "b");
  EXPECT_EQ(clients[0].accepted, 2U);  // steps 2 and 4
  EXPECT_EQ(clients[0].next_step, 4U);
  EXPECT_EQ(clients[1].accepted, 3U);  // steps 1, 3 and 5
  EXPECT_EQ(clients[1].next_step, 5U);
  EXPECT_EQ(clients[1].rejected, 3U);
  EXPECT_EQ(clients[2].name, "c");
  EXPECT_EQ(clients[2].next_step, 0U);
  EXPECT_GT(clients[2].first_seen, 0);
}

TEST_P(EveryStore, TakesAnotherStateForItsNewestStep) {
  EnrolIn(*store_, {"a"});
  CommitTo(*store_, 1, {0});
  CommitTo(*store_, 2, {0});
  const auto opened = StateOf(7);
  store_->Write({.step = StepCommit{.steps = 2, .state = opened, .counted = {}}});
  Reopen();
  StoreContents contents = store_->Contents();
  EXPECT_EQ(contents.newest->steps, 2U);
  EXPECT_EQ(contents.newest->state, opened);
  EXPECT_EQ(contents.step_records, 2U);
  EXPECT_EQ(contents.participants, 1U);
  EXPECT_EQ(contents.clients[0].accepted, 2U);
  CommitTo(*store_, 3, {0});
  contents = store_->Contents();
  EXPECT_EQ(contents.newest->steps, 3U);
  EXPECT_EQ(contents.step_records, 3U);
}

TEST_P(EveryStore, WritesClientsAStepAndEventsAtOnce) {
  const std::vector<std::string> names = {"a", "b"};
  const auto state = StateOf(1);
  const std::array counted = {CountedUpdate{.client = 1, .step = 0}};
  const std::array events = {StoredEvent{1, "a", "joined", ""}, StoredEvent{2, "b", "joined", ""}};
  store_->Write({.clients = names,
                 .step = StepCommit{.steps = 1, .state = state, .counted = counted},
                 .events = events});
  Reopen();
  const StoreContents contents = store_->Contents();
  EXPECT_EQ(contents.newest->steps, 1U);
  EXPECT_EQ(contents.participants, 1U);
  EXPECT_EQ(contents.clients.at(1).accepted, 1U);  // of a client that is new with the step
  EXPECT_EQ(contents.events, 2U);
}

TEST_P(EveryStore, KeepsWhatIsNotedOfClients) {
  const std::vector<std::string> names = {"a", "b", "c"};
  const std::array notes = {NotedClient{2, {"roof", true, "0A", 99}},
                            NotedClient{1, {.serial = "0B", .expires = 7}}};
  store_->Write({.clients = names, .notes = notes});
  Reopen();
  const std::array later = {NotedClient{1, {.label = "yard's \"old\" one"}}};
  store_->Write({.notes = later});
  const std::vector<StoredClient> clients = store_->Contents().clients;
  EXPECT_EQ(clients.at(0).note, ClientNote{});
  EXPECT_EQ(clients.at(1).note, later[0].note);
  EXPECT_EQ(clients.at(2).note, notes[0].note);
}

TEST_P(EveryStore, WritesNothingWhenThereIsNothing) {
  store_->Write({});
  EXPECT_FALSE(store_->Contents().newest);
}

TEST_P(EveryStore, KeepsEveryBitOfAState) {
  const std::vector<double> odd{-0.0, 5e-324, 1.7976931348623157e308, 0.1, -1.0 / 3};
  store_->Write({.step = StepCommit{.steps = 1, .state = odd, .counted = {}}});
  Reopen();
  const auto state = store_->Contents().newest->state;
  ASSERT_EQ(state.size(), odd.size());
  EXPECT_EQ(std::memcmp(state.data(), odd.data(), odd.size() * sizeof(double)), 0);
}

TEST_P(EveryStore, TakesAStateWithoutNumbers) {
  store_->Write({.step = StepCommit{.steps = 1, .state = {}, .counted = {}}});
  Reopen();
  EXPECT_EQ(store_->Contents().newest->steps, 1U);
  EXPECT_THAT(store_->Contents().newest->state, IsEmpty());
}

TEST_P(EveryStore, CountsTwoUpdatesOfOneClientInOneStep) {
  EnrolIn(*store_, {"a"});
  const std::array counted = {CountedUpdate{0, 2}, CountedUpdate{0, 5}};
  store_->Write({.step = StepCommit{.steps = 7, .state = {}, .counted = counted}});
  const StoreContents contents = store_->Contents();
  EXPECT_EQ(contents.clients[0].accepted, 2U);
  EXPECT_EQ(contents.clients[0].next_step, 6U);
  EXPECT_EQ(contents.participants, 2U);
}

TEST_P(EveryStore, ForgetsWhatIsPruned) {
  EnrolIn(*store_, {"a"});
  for (std::uint64_t steps = 1; steps <= 50; ++steps) CommitTo(*store_, steps, {0});
  const std::int64_t now = std::time(nullptr);
  const std::array events = {StoredEvent{now - 9000, "a", "joined", ""},
                             StoredEvent{now, "a", "left", ""}};
  store_->Write({.events = events});
  EXPECT_EQ(store_->Prune({.keep_steps = 10}).steps, 40U);
  const Pruned old = store_->Prune({.keep_seconds = 3600});
  EXPECT_EQ(old.steps, 0U);
  EXPECT_EQ(old.events, 1U);
  store_->Compact();
  StoreContents contents = store_->Contents();
  EXPECT_EQ(contents.step_records, 10U);
  EXPECT_EQ(contents.events, 1U);
  EXPECT_EQ(contents.newest->state, StateOf(50));
  EXPECT_EQ(contents.clients[0].accepted, 50U);
  store_->Prune({.keep_steps = 0});
  EXPECT_EQ(store_->Contents().step_records, 1U);  // the newest state's
  CommitTo(*store_, 51);
  EXPECT_EQ(store_->Contents().newest->steps, 51U);
  EXPECT_EQ(store_->Contents().step_records, 2U);
}

TEST_P(EveryStore, HasRoomForALargeModel) {
  EXPECT_NO_THROW(store_->CheckRoom(100'000'000));
}

TEST_P(EveryStore, IsThereOnceItIsMadeIfItIsDurable) {
  EXPECT_EQ(HasStore(url_), GetParam().durable);
  if (!GetParam().durable) {
    EXPECT_THAT(MessageOf([&] { ReadStore(url_); }), HasSubstr("there is no store here"));
    EXPECT_THAT(MessageOf([&] { OpenStore(url_); }), HasSubstr("there is no store here"));
    return;
  }
  CommitTo(*store_, 3);
  EXPECT_EQ(ReadStore(url_).newest->steps, 3U);  // readers may look while it is open
  store_.reset();
  EXPECT_EQ(OpenStore(url_)->Contents().newest->steps, 3U);
}

class DurableStores : public EveryStore {};

INSTANTIATE_TEST_SUITE_P(Stores, DurableStores, testing::ValuesIn(DurableCases()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(DurableStores, SayHowAnotherConfigurationDiffers) {
  EnrolIn(*store_, {"a"});
  EXPECT_THAT(MessageOf([&] {
                Open({{"algorithm", "pof-mkl"}, {"features", "40"}, {"mode", "async"}});
              }),
              HasSubstr("(features: 20 -> 40, mode: (not set) -> async, seed: 7 -> (not set))"));
  Open();  // nothing was changed
}

TEST_P(DurableStores, ThatAreUnusedTakeAnotherConfiguration) {
  StoreConfiguration other = kTestConfiguration;
  other["seed"] = "8";
  Open(other);
  EXPECT_EQ(ReadStore(url_).configuration, other);
  EnrolIn(*store_, {"a"});
  EXPECT_THROW(Open(), Error);
  EXPECT_EQ(ReadStore(url_).configuration, other);
}

TEST_P(DurableStores, AreUsedByOneAtATime) {
  EXPECT_THAT(MessageOf([&] { OpenStore(url_, kTestConfiguration); }), HasSubstr("stop it first"));
  CommitTo(*store_, 1);
  EXPECT_EQ(ReadStore(url_).newest->steps, 1U);  // readers may look
  CommitTo(*store_, 2);
  EXPECT_EQ(ReadStore(url_).newest->steps, 2U);
}

TEST_P(EveryStore, TakesAnotherConfigurationWithItsBatch) {
  EnrolIn(*store_, {"a"});
  StoreConfiguration other = kTestConfiguration;
  other["seed"] = "9";
  other.erase("features");
  store_->Write({.configuration = &other});
  if (GetParam().durable) Open(other);
  EXPECT_EQ(store_->Contents().configuration, other);
  EXPECT_EQ(store_->Contents().clients.size(), 1U);
}

}  // namespace
}  // namespace polykern
