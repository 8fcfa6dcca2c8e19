// Tables of a store: of an older polykern, cut, shared and damaged.
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/io/folder_testing.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/front/postgresql_front.h"
#include "polykern/net/postgresql/database_testing.h"
#include "polykern/net/postgresql/postgresql_tables_internal.h"
#include "polykern/net/store/store_testing.h"
#include "polykern/net/store_kinds/open_store.h"

namespace polykern {
namespace {

using testing::HasSubstr;

class TablesOfVersion1 : public InADatabase {
 protected:
  void SetUp() override {
    InADatabase::SetUp();
    if (IsSkipped()) return;
    Run(R"(
      CREATE TABLE polykern_format(version bigint NOT NULL);
      INSERT INTO polykern_format VALUES(1);
      CREATE TABLE polykern_configuration(key text PRIMARY KEY, value text NOT NULL);
      CREATE TABLE polykern_step(steps bigint PRIMARY KEY, participants bigint NOT NULL,
                                 time bigint NOT NULL);
      CREATE TABLE polykern_state(steps bigint PRIMARY KEY, sum bytea NOT NULL,
                                  numbers bytea NOT NULL);
      CREATE TABLE polykern_client(number bigint PRIMARY KEY, name text NOT NULL UNIQUE,
                                   first_seen bigint NOT NULL, last_seen bigint NOT NULL,
                                   accepted bigint NOT NULL DEFAULT 0,
                                   rejected bigint NOT NULL DEFAULT 0,
                                   next_step bigint NOT NULL DEFAULT 0);
      CREATE TABLE polykern_event(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                                  time bigint NOT NULL, client text NOT NULL, event text NOT NULL,
                                  detail text NOT NULL);
      INSERT INTO polykern_client VALUES(0, 'a', 5, 6, 2, 1, 2), (1, 'b', 5, 6, 1, 0, 1);
      INSERT INTO polykern_step VALUES(2, 1, 7);
      INSERT INTO polykern_state VALUES(2, sha256('\x000000000000f03f'), '\x000000000000f03f');
    )");
    for (const auto& [key, value] : ToTexts(configuration_)) {
      Connection(place_).Run("INSERT INTO polykern_configuration VALUES($1, $2)", {key, value});
    }
  }

  void Note() {
    Run(R"(
      CREATE TABLE polykern_client_note(number bigint PRIMARY KEY, label text NOT NULL,
                                        forgotten bigint NOT NULL, serial text NOT NULL,
                                        expires bigint NOT NULL);
      INSERT INTO polykern_client_note VALUES(1, 'roof', 1, '0A', 99);
    )");
  }

  /// What was in them is there, whatever has become of the tables.
  void Check(bool notes) {
    const StoreContents contents = ReadStore(url());
    EXPECT_EQ(contents.newest->steps, 2U);
    EXPECT_EQ(contents.newest->state, std::vector<double>{1});
    EXPECT_EQ(contents.participants, 1U);
    ASSERT_EQ(contents.clients.size(), 2U);
    EXPECT_EQ(contents.clients[0].accepted, 2U);
    EXPECT_EQ(contents.clients[1].next_step, 1U);
    EXPECT_EQ(contents.clients[1].note,
              notes ? (ClientNote{"roof", true, "0A", 99}) : ClientNote{});
  }
};

TEST_F(TablesOfVersion1, AreReadAsTheyAre) {
  Check(false);
  Note();
  Check(true);
  EXPECT_EQ(Number("SELECT version FROM polykern_format"), 1);
}

TEST_F(TablesOfVersion1, AreBroughtUpToDateByAServerThatIsAlone) {
  {
    const auto store = OpenStore(url(), ToTexts(configuration_));
    EXPECT_EQ(Number("SELECT version FROM polykern_format"), 2);
    EXPECT_EQ(Number("SELECT step FROM polykern_open"), 2);
    Check(false);
    CommitTo(*store, 3, {0, 1});
  }
  const StoreContents contents = ReadStore(url());
  EXPECT_EQ(contents.newest->steps, 3U);
  EXPECT_EQ(contents.clients[0].accepted, 3U);
}

TEST_F(TablesOfVersion1, AreBroughtUpToDateByAFrontEndWithWhoWasForgotten) {
  Note();
  const auto front = JoinFronts({.place = place_, .number = 1}, ToTexts(configuration_));
  Check(true);
  EXPECT_TRUE(ReadStore(url()).clients[1].gone);
  EXPECT_FALSE(ReadStore(url()).clients[0].gone);
  const FrontNews news = front->Exchange({.step = 2, .claims = {{"b", ""}}});
  ASSERT_EQ(news.claimed.size(), 1U);
  EXPECT_EQ(news.claimed[0].next_step, 1U);
  EXPECT_FALSE(ReadStore(url()).clients[1].gone);
}

TEST_F(TablesOfVersion1, AreLeftAloneByAnotherFederation) {
  StoreConfiguration other = ToTexts(configuration_);
  other["seed"] = "8";
  try {
    OpenStore(url(), other);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("another configuration (seed"));
  }
  EXPECT_EQ(Number("SELECT version FROM polykern_format"), 1);
}

TEST_F(TablesOfVersion1, AreNotReadIfTheirStateIsDamaged) {
  Run("UPDATE polykern_state SET numbers = '\\x0000000000000040'");
  try {
    ReadStore(url());
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("the state after step 2 is damaged"));
  }
}

class TablesOfAStore : public InADatabase {
 protected:
  std::unique_ptr<Store> Open() { return OpenStore(url(), ToTexts(configuration_)); }
  static std::string WhyNot(const std::function<void()>& act) { return MessageOf(act); }
  /// Ends the connections of all others, as an operator would.
  void CutAll() {
    Run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
        "AND datname = current_database() AND backend_type = 'client backend'");
  }
};

TEST_F(TablesOfAStore, AreUsedByOneAloneOrByManyTogether) {
  Connection one(place_);
  Connection other(place_);
  Occupy(one, TableUse::kTogether);
  EXPECT_NO_THROW(Occupy(other, TableUse::kTogether));
  {
    Connection third(place_);
    EXPECT_THROW(Occupy(third, TableUse::kAlone), StoreInUse);
  }
  EXPECT_THAT(WhyNot([&] { Open(); }), HasSubstr("another process is using the store"));
  EXPECT_EQ(Number("SELECT (to_regclass('polykern_format') IS NULL)::int::bigint"), 1)
      << "who is refused makes no tables";
}

TEST_F(TablesOfAStore, AreFreeAgainWhenTheirUserIsGone) {
  {
    Connection first(place_);
    Occupy(first, TableUse::kAlone);
  }
  EXPECT_NO_THROW(Open());
}

TEST_F(TablesOfAStore, AreOfAnotherSchemaWhereTheUrlSaysSo) {
  const auto store = Open();
  const std::string elsewhere = place_.substr(0, place_.rfind("&options="));
  Connection(elsewhere).Run("CREATE SCHEMA IF NOT EXISTS next_door");
  const std::string place = elsewhere + "&options=-csearch_path%3Dnext_door";
  const auto other = OpenStore("postgresql:" + place, ToTexts(configuration_));
  CommitTo(*store, 5);
  EXPECT_FALSE(ReadStore("postgresql:" + place).newest);
  EXPECT_EQ(ReadStore(url()).newest->steps, 5U);
}

TEST_F(TablesOfAStore, KeepWhatWasCommittedWhenTheirWriterIsCut) {
  auto store = Open();
  EnrolIn(*store, {"a"});
  CommitTo(*store, 1, {0});
  CutAll();
  EXPECT_THROW(CommitTo(*store, 2, {0}), DatabaseAway);
  EXPECT_THROW(CommitTo(*store, 2, {0}), DatabaseAway) << "a store does not come back by itself";
  EXPECT_EQ(ReadStore(url()).newest->steps, 1U);
  store.reset();
  store = Open();
  CommitTo(*store, 2, {0});
  EXPECT_EQ(store->Contents().clients.at(0).accepted, 2U);
}

TEST_F(TablesOfAStore, KeepNothingOfABatchThatFails) {
  const auto store = Open();
  EnrolIn(*store, {"a", "b"});
  CommitTo(*store, 1, {0, 1});
  const std::vector<std::string> names = {"c", "a"};  // one is known
  const std::vector<double> state = StateOf(2);
  const std::vector<StoredEvent> events = {{1, "c", "joined", ""}};
  EXPECT_THROW(store->Write({.clients = names,
                             .step = StepCommit{.steps = 2, .state = state, .counted = {}},
                             .events = events}),
               Error);
  const StoreContents contents = store->Contents();
  EXPECT_EQ(contents.clients.size(), 2U);
  EXPECT_EQ(contents.newest->steps, 1U);
  EXPECT_EQ(contents.events, 0U);
  CommitTo(*store, 2, {1});
  EXPECT_EQ(store->Contents().clients[1].accepted, 2U);
}

TEST_F(TablesOfAStore, AreReadAsOfOneMomentWhileAnotherWrites) {
  const auto store = Open();
  EnrolIn(*store, {"a"});
  CommitTo(*store, 1, {0});
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (std::uint64_t steps = 2; !stop; ++steps) CommitTo(*store, steps, {0}, 50);
  });
  std::uint64_t last = 0;
  for (int n = 0; n < 30; ++n) {
    const StoreContents contents = ReadStore(url());
    EXPECT_GE(contents.newest->steps, last);
    last = contents.newest->steps;
    EXPECT_EQ(contents.newest->state, StateOf(last, last == 1 ? 100 : 50));
    EXPECT_EQ(contents.clients.at(0).accepted, last);
    EXPECT_EQ(contents.step_records, last);
  }
  stop = true;
  writer.join();
}

TEST_F(TablesOfAStore, AreRefusedIfTheirStateIsCutShort) {
  CommitTo(*Open(), 1);
  Run("UPDATE polykern_state SET numbers = substr(numbers, 1, 17), "
      "sum = sha256(substr(numbers, 1, 17))");
  EXPECT_THAT(WhyNot([&] { ReadStore(url()); }), HasSubstr("the state after step 1 is damaged"));
  EXPECT_THAT(WhyNot([&] { Open()->Contents(); }), HasSubstr("the state after step 1 is damaged"));
}

TEST_F(TablesOfAStore, OfNoVersionOrANewerOneAreLeftAlone) {
  { CommitTo(*Open(), 1); }
  for (const char* const version : {"3", "0", "-1"}) {
    Run((std::string("UPDATE polykern_format SET version = ") + version).c_str());
    const std::string says = std::string("the store has version ") + version + ", this polykern ";
    EXPECT_THAT(WhyNot([&] { Open(); }), HasSubstr(says));
    EXPECT_THAT(WhyNot([&] { ReadStore(url()); }), HasSubstr(says));
  }
}

TEST_F(TablesOfAStore, ThatVanishAreAnErrorOfOneLine) {
  const auto store = Open();
  Run("DROP TABLE polykern_state");
  const std::string text = WhyNot([&] { CommitTo(*store, 1); });
  EXPECT_THAT(text, HasSubstr("the store failed (relation \"polykern_state\" does not exist"));
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_EQ(Number("SELECT count(*) FROM polykern_step"), 0);
}

TEST_F(TablesOfAStore, KnowWhichFrontEndsAreThere) {
  Connection watcher(place_);
  EXPECT_TRUE(LivingFronts(watcher).empty());
  {
    const auto one = JoinFronts({.place = place_, .number = 9}, ToTexts(configuration_));
    const auto other = JoinFronts({.place = place_, .number = 2}, ToTexts(configuration_));
    EXPECT_EQ(LivingFronts(watcher), (std::vector<std::uint64_t>{2, 9}));
  }
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!LivingFronts(watcher).empty() && std::chrono::steady_clock::now() < patience) {
    std::this_thread::yield();  // the database notices a moment later
  }
  EXPECT_TRUE(LivingFronts(watcher).empty());
}

}  // namespace
}  // namespace polykern
