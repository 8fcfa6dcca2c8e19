// Tables of a store that an older polykern made.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/net/front/front_testing.h"
#include "polykern/net/store/open_store.h"
#include "polykern/net/store/store_testing.h"

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
  const auto front = Join(1);
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

}  // namespace
}  // namespace polykern
